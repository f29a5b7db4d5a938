//! Registers us as a client, where a server lets clients register themselves (RFC 7591).

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::error::{AuthError, Failure, Reason};
use crate::fetch::Fetch;
use crate::metadata::ServerMetadata;
use crate::record::{Client, Registration};
use crate::{clean_text, location};

/// The name that people read when they are asked for their consent.
const CLIENT_NAME: &str = "Toolcrib";

/// Longer ids and secrets are nobody's.
const CREDENTIAL_BYTES_MAX: usize = 8 * 1024;

/// The ways to prove ourselves that we can register for, the best first: a program on the user's machine can keep no
/// secret from whoever has the machine, so none is what it should be without.
const AUTH_METHODS: [&str; 3] = ["none", "client_secret_basic", "client_secret_post"];

/// Registers us for the authorisation code grant with refresh tokens.
///
/// # Errors
/// [`AuthError::NeedsRegistration`] if the server registers nobody, or not us; [`AuthError::Failed`] if it could
/// not be asked, or what it says is not sound.
pub(crate) async fn register(
    fetch: &Fetch,
    server: &ServerMetadata,
    redirect_uri: &str,
    scope: Option<&str>,
) -> Result<Registration, AuthError> {
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(by_hand(&format!("{} does not register clients by itself", server.issuer)));
    };
    let answer = fetch.post_json(endpoint, &request(server, redirect_uri, scope)?).await?;
    let shown = location::shown(endpoint);
    let object = answer.object();
    if answer.status.is_success() {
        let object = object.map_err(|instead| instead.within(|what| format!("{shown} {what}")))?;
        let (client, expires_at) = parse(&object)
            .map_err(|why| AuthError::failed(Reason::Other, format!("the registration at {shown} {why}")))?;
        return Ok(Registration {
            issuer: server.issuer.clone(),
            client,
            redirect_uri: redirect_uri.to_owned(),
            scope: scope.map(str::to_owned),
            expires_at,
        });
    }
    let Failure { reason, said } = refusal(answer.status, object);
    if !answer.status.is_client_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
        return Err(AuthError::failed(reason, format!("the registration at {shown} failed: {said}")));
    }
    Err(if server.is_assumed {
        AuthError::NeedsRegistration(format!(
            "{} has no metadata that says where to sign in, and {shown} registers no clients: {said}; if it wants a \
             key instead, set it under [mcp.NAME.headers]",
            server.issuer
        ))
    } else {
        by_hand(&format!("{shown} does not register us: {said}"))
    })
}

pub(crate) fn by_hand(why: &str) -> AuthError {
    AuthError::NeedsRegistration(format!(
        "{why}; register a client there by hand and set its client_id (and client_secret, if it has one) under \
         [mcp.NAME.oauth]"
    ))
}

fn request(server: &ServerMetadata, redirect_uri: &str, scope: Option<&str>) -> Result<Value, AuthError> {
    let knows = |known: &[String], what: &str| known.is_empty() || known.iter().any(|one| one == what);
    let Some(method) = AUTH_METHODS.into_iter().find(|method| knows(&server.token_auth_methods, method))
    else {
        return Err(by_hand(&format!(
            "{} takes no client that registers itself without a key of its own (token_endpoint_auth_methods_supported: \
             {})",
            server.issuer,
            clean_text::cleaned(&server.token_auth_methods.join(", "))
        )));
    };
    let mut grants = vec!["authorization_code"];
    if knows(&server.grant_types, "refresh_token") {
        grants.push("refresh_token");
    }
    let mut request = json!({
        "client_name": CLIENT_NAME,
        // OpenID Connect forbids https redirects to native clients.
        "application_type": if redirect_uri.starts_with("https:") { "web" } else { "native" },
        "redirect_uris": [redirect_uri],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    });
    if let Some(scope) = scope {
        request["scope"] = scope.into();
    }
    Ok(request)
}

/// What a server says against us, as far as it is fit to be shown.
fn refusal(status: StatusCode, object: Result<Map<String, Value>, Failure>) -> Failure {
    let object = match object {
        Ok(object) => object,
        Err(instead) => return instead.within(|what| format!("it {what}")),
    };
    let said = |key| object.get(key).and_then(Value::as_str).map(clean_text::cleaned);
    let said = match (said("error_description"), said("error")) {
        (Some(words), _) | (None, Some(words)) if !words.is_empty() => words,
        _ => format!("it answered {}", status.as_u16()),
    };
    Failure::new(Reason::Other, said)
}

/// The client, and when its secret ends.
fn parse(object: &Map<String, Value>) -> Result<(Client, Option<u64>), String> {
    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() > CREDENTIAL_BYTES_MAX || text.contains(char::is_control) => {
            Err(format!("gave a {key} that cannot be used"))
        }
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("gave a {key} that is not a text")),
    };
    let Some(id) = text("client_id")? else {
        return Err("gave no client_id".to_owned());
    };
    let expires_at = match object.get("client_secret_expires_at") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let seconds = value.as_f64().ok_or("gave a client_secret_expires_at that is not a time")?;
            // Zero means never (RFC 7591, 3.2.1).
            Some(seconds as u64).filter(|&seconds| seconds > 0)
        }
    };
    let client = Client { id, secret: text("client_secret")?, method: text("token_endpoint_auth_method")? };
    Ok((client, expires_at))
}

#[cfg(test)]
mod tests;
