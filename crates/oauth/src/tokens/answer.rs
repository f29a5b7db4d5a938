//! What a token endpoint answers (RFC 6749, 5): a token or a refusal, with the liberties that servers take.

use http::Uri;
use serde_json::{Map, Value};

use crate::clean_text;
use crate::error::{Failure, Reason};
use crate::fetch::Answer;
use crate::location;
use crate::secret::Secret;

/// Longer than this, a lifetime is a mistake: a thousand years, in seconds.
const LIFETIME_SECONDS_MAX: u64 = 1000 * 365 * 24 * 3600;

/// Headers longer than this are refused by common servers anyway.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A token to be sent to the protected server.
    Bearer,
    /// A signed assertion to be shown to an authorisation server (`token_type` is then "N_A").
    Assertion,
}

/// What was issued.
pub(crate) struct Granted {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// In seconds from now; nothing if the server did not say.
    pub(crate) expires_in: Option<u64>,
    /// The scopes that were given, if they are not those that were asked for.
    pub(crate) scope: Option<String>,
}

/// What was issued, or why nothing was.
pub(super) fn judged<'a>(
    answer: &Answer,
    uri: &Uri,
    kind: Kind,
    secrets: impl Iterator<Item = &'a Secret>,
) -> Result<Granted, Failure> {
    let object = answer.object().map_err(|instead| {
        let is_redirect = instead.reason == Reason::Redirects;
        let end = if is_redirect { "" } else { ", not with a token" };
        instead.within(|what| format!("{} {what}{end}", location::shown(uri)))
    })?;
    // Some servers report errors with status 200.
    if let Some(error) = object.get("error").and_then(Value::as_str) {
        return Err(refused(error, text(&object, "error_description"), uri, secrets));
    }
    let failed = |what: &str| Failure::new(Reason::Other, format!("{} {what}", location::shown(uri)));
    if !answer.status.is_success() {
        return Err(failed(&format!("answered {}, not with a token", answer.status.as_u16())));
    }
    granted(&object, kind).map_err(failed)
}

fn granted(object: &Map<String, Value>, kind: Kind) -> Result<Granted, &'static str> {
    let access = text(object, "access_token").ok_or("answered without a token (\"access_token\")")?;
    match (kind, text(object, "token_type")) {
        (Kind::Bearer, None) => return Err("does not say of what kind its token is (\"token_type\")"),
        (Kind::Bearer, Some(name)) if !name.eq_ignore_ascii_case("bearer") => {
            return Err(
                "issued a token that is not a bearer token (\"token_type\"), which is all we can use",
            );
        }
        (Kind::Bearer, Some(_)) | (Kind::Assertion, _) => {}
    }
    let expires_in = lifetime(object.get("expires_in"))?;
    if access.len() > TOKEN_BYTES_MAX || !access.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("issued a token that cannot be sent in a header");
    }
    Ok(Granted {
        access: Secret::new(access),
        refresh: text(object, "refresh_token").map(Secret::new),
        expires_in,
        scope: text(object, "scope").map(str::to_owned),
    })
}

/// A lifetime in seconds: a number, or a text that is one, as some servers write it.
fn lifetime(value: Option<&Value>) -> Result<Option<u64>, &'static str> {
    let seconds = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
        Some(_) => None,
    };
    match seconds {
        Some(seconds) if seconds < 0.0 => Err("issued a token that is good for less than no time"),
        #[expect(clippy::cast_precision_loss, reason = "an exact bound is of no use here")]
        Some(seconds) if seconds > LIFETIME_SECONDS_MAX as f64 => {
            Err("issued a token that is good for more than a thousand years")
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "both bounds are checked"
        )]
        Some(seconds) if seconds.is_finite() => Ok(Some(seconds as u64)),
        _ => Err("does not say in numbers for how long its token is good (\"expires_in\")"),
    }
}

/// A text that is not empty.
fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The server's refusal as a sentence, in which none of `secrets` appears even if the server repeats it.
fn refused<'a>(
    error: &str,
    description: Option<&str>,
    uri: &Uri,
    secrets: impl Iterator<Item = &'a Secret>,
) -> Failure {
    let words = description.map_or_else(|| error.to_owned(), |words| format!("{error}: {words}"));
    let words = secrets.fold(words, |words, secret| words.replace(secret.expose(), "***"));
    let sentence =
        format!("{} refuses to issue a token ({})", location::shown(uri), clean_text::cleaned(&words));
    Failure::new(Reason::of(error), sentence)
}
