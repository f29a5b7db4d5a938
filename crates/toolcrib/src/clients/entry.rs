//! The form that most clients share: `command`, `args` and `env`, or `url` and `headers`, below a server's name.

use upstream::Transport;

use super::fields::Fields;
use super::server::{Oauth, Registration, Server};

/// Reads an entry.
///
/// # Errors
/// Why it cannot be taken over.
pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Server, String> {
    let command = fields.word("command");
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|key| fields.word(key));
    let transport = transport(fields, command.is_some())?;
    let is_off = fields.switch("disabled") == Some(true);
    let is_on = fields.switch("enabled") != Some(false);
    let mut server = Server {
        args: fields.words("args"),
        env: fields.values("env"),
        cwd: fields.word("cwd"),
        headers: fields.values("headers"),
        timeout_ms: fields.milliseconds("timeout", 1),
        disabled: is_off || !is_on,
        transport,
        oauth: oauth(fields),
        ..Server::default()
    };
    if let Some(path) = fields.word("envFile") {
        fields.findings.missing(format!("the variables of {path} in `env`"));
    }
    if fields.raw("headersHelper").is_some() {
        fields.findings.missing("the headers that `headersHelper` made".to_owned());
    }
    match (command, url) {
        (Some(command), _) => server.command = Some(command),
        (None, Some(url))
            if url.starts_with("http://") || url.starts_with("https://") || url.starts_with("${") =>
        {
            server.url = Some(url);
        }
        (None, Some(url)) => {
            return Err(format!(
                "its address {} is not one of HTTP",
                crate::config::without_credentials_in(&url)
            ));
        }
        (None, None) => return Err("it has neither `command` nor `url`".to_owned()),
    }
    Ok(server)
}

fn transport(fields: &mut Fields<'_>, is_program: bool) -> Result<Transport, String> {
    let kind = fields.plain("type").or_else(|| fields.plain("transport"));
    match kind.as_deref() {
        None | Some("stdio" | "local" | "remote") => Ok(Transport::Auto),
        Some(_) if is_program => Ok(Transport::Auto),
        // Editors mean the older transport by it as well, and `auto` finds out.
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => Ok(Transport::Auto),
        Some("sse") => Ok(Transport::Sse),
        Some(other) => Err(format!("its transport {other:?} is not spoken here")),
    }
}

/// How to sign in, in the words of Claude Code, VS Code and Cursor.
fn oauth(fields: &mut Fields<'_>) -> Option<Oauth> {
    let mut oauth = fields.table("oauth").or_else(|| fields.table("auth"))?;
    let mut first = |keys: [&'static str; 2]| keys.into_iter().find_map(|key| oauth.value(key));
    let mut client = Registration {
        id: first(["clientId", "CLIENT_ID"]),
        secret: first(["clientSecret", "CLIENT_SECRET"]),
        ..Registration::default()
    };
    client.scope = match oauth.raw("scopes") {
        Some(serde_json::Value::Array(_)) => Some(oauth.words("scopes").join(" ")),
        Some(_) => oauth.word("scopes"),
        None => oauth.word("scope"),
    };
    client.redirect_uri = oauth.word("redirectUri");
    client.callback_port = oauth.raw("callbackPort").and_then(|port| u16::try_from(port.as_u64()?).ok());
    let found = oauth.finish("oauth.");
    fields.findings.absorb(found);
    (client != Registration::default()).then_some(Oauth::Client(client))
}
