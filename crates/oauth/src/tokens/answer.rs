//! What a token endpoint answers, judged before the library reads it: servers take liberties that it does not
//! forgive, and its errors show what they could not read.

use http::{Response, Uri};
use oauth2::basic::{BasicErrorResponse, BasicErrorResponseType, BasicTokenResponse};
use oauth2::{HttpResponse, TokenResponse};
use serde_json::{Map, Value, json};

use super::refused::Refused;
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

impl Granted {
    pub(super) fn of(response: &BasicTokenResponse, uri: &Uri) -> Result<Granted, Refused> {
        let access = response.access_token().secret();
        if access.len() > TOKEN_BYTES_MAX || !access.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(failed(uri, "issued a token that cannot be sent in a header"));
        }
        let scope = response
            .scopes()
            .map(|scopes| scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" "));
        Ok(Granted {
            access: Secret::new(access.as_str()),
            refresh: response.refresh_token().map(|token| Secret::new(token.secret().as_str())),
            expires_in: response.expires_in().map(|time| time.as_secs()),
            scope: scope.filter(|scope| !scope.is_empty()),
        })
    }
}

/// The answer as the library wants it: status 200 with a sound token, or 400 with an error.
pub(super) fn tidied(answer: Answer, uri: &Uri, kind: Kind) -> Result<HttpResponse, Refused> {
    let status = answer.status;
    let object = match answer.object() {
        Ok(object) => object,
        Err(instead) => {
            let shown = location::shown(uri);
            return Err(instead.within(|what| format!("{shown} {what}, not with a token")).into());
        }
    };
    // Some servers report errors with status 200.
    let (status, body) = if let Some(error) = object.get("error").and_then(Value::as_str) {
        (400, json!({ "error": error, "error_description": text(&object, "error_description") }))
    } else if status.is_success() {
        (200, token(&object, kind).map_err(|why| failed(uri, why))?)
    } else {
        return Err(failed(uri, &format!("answered {}, not with a token", status.as_u16())));
    };
    let response = Response::builder().status(status).body(body.to_string().into_bytes());
    Ok(response.expect("made of sound parts"))
}

/// What matters of a token, each part of the type that it should have.
fn token(object: &Map<String, Value>, kind: Kind) -> Result<Value, &'static str> {
    let Some(access) = text(object, "access_token") else {
        return Err("answered without a token (\"access_token\")");
    };
    let token_type = text(object, "token_type");
    match (kind, token_type) {
        (Kind::Bearer, None) => return Err("does not say of what kind its token is (\"token_type\")"),
        (Kind::Bearer, Some(name)) if !name.eq_ignore_ascii_case("bearer") => {
            return Err(
                "issued a token that is not a bearer token (\"token_type\"), which is all we can use",
            );
        }
        (Kind::Bearer, Some(_)) | (Kind::Assertion, _) => {}
    }
    Ok(json!({
        "access_token": access,
        "token_type": "bearer",
        "expires_in": lifetime(object.get("expires_in"))?,
        "refresh_token": text(object, "refresh_token"),
        "scope": text(object, "scope"),
    }))
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
pub(super) fn refused<'a>(
    error: &BasicErrorResponse,
    uri: &Uri,
    secrets: impl Iterator<Item = &'a Secret>,
) -> Refused {
    let mut said = error.error().to_string();
    if let Some(description) = error.error_description() {
        said = format!("{said}: {description}");
    }
    for secret in secrets {
        said = said.replace(secret.expose(), "***");
    }
    let sentence =
        format!("{} refuses to issue a token ({})", location::shown(uri), clean_text::cleaned(&said));
    match error.error() {
        BasicErrorResponseType::InvalidGrant => Refused::Grant(sentence),
        BasicErrorResponseType::InvalidClient | BasicErrorResponseType::UnauthorizedClient => {
            Refused::Client(sentence)
        }
        BasicErrorResponseType::InvalidRequest
        | BasicErrorResponseType::InvalidScope
        | BasicErrorResponseType::UnsupportedGrantType
        | BasicErrorResponseType::Extension(_) => {
            Failure::new(Reason::of(error.error().as_ref()), sentence).into()
        }
    }
}

fn failed(uri: &Uri, what: &str) -> Refused {
    Failure::new(Reason::Other, format!("{} {what}", location::shown(uri))).into()
}
