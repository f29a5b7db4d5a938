//! Reading a server's entry in a client's file. Clients differ in few words, and no word means two things, so one reader
//! knows those of all of them.

use serde_json::Value;

use crate::fields::Fields;
use crate::server::{Oauth, Registration, Server};

/// Milliseconds of the seconds that Codex counts in.
const SECOND_MS: u32 = 1_000;

/// What a client calls what other clients call otherwise.
pub(crate) struct Spellings {
    pub env: &'static str,
    pub headers: &'static str,
}

/// Reads an entry.
///
/// # Errors
/// Why it cannot be taken over.
pub(crate) fn read(fields: &mut Fields<'_>, spellings: &Spellings) -> Result<Server, String> {
    let is_list = fields.raw("command").is_some_and(Value::is_array);
    let words = if is_list { fields.words("command") } else { Vec::from_iter(fields.word("command")) };
    let mut words = words.into_iter();
    let is_off = fields.switch("disabled") == Some(true);
    let mut server = Server {
        command: words.next(),
        args: words.chain(fields.words("args")).collect(),
        env: fields.values(spellings.env),
        inherit: fields.words("env_vars"),
        cwd: fields.word("cwd"),
        headers: headers(fields, spellings),
        enabled: (is_off || fields.switch("enabled") == Some(false)).then_some(false),
        include: fields.words("enabled_tools"),
        exclude: fields.words("disabled_tools"),
        oauth: oauth(fields),
        ..Server::default()
    };
    times(fields, &mut server);
    remarks(fields, spellings);
    endpoint(fields, server)
}

/// The server with its address, unless it is a program.
fn endpoint(fields: &mut Fields<'_>, mut server: Server) -> Result<Server, String> {
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|key| fields.word(key));
    let kind = fields.plain("type").or_else(|| fields.plain("transport"));
    let is_remote = kind.as_deref() == Some("remote");
    if server.command.is_some() && (url.is_none() || !is_remote) {
        return Ok(server);
    }
    server.transport = match kind.as_deref() {
        None | Some("stdio" | "local" | "remote") => None,
        // Editors mean the older transport by it as well, and `auto` finds out.
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => None,
        Some("sse") => Some("sse"),
        Some(other) => return Err(format!("its transport {other:?} is not spoken here")),
    };
    // Often a mere switch for a server of the organisation or of another file.
    let Some(url) = url else { return Err("it has neither `command` nor `url`".to_owned()) };
    if !["http://", "https://", "${"].iter().any(|start| url.starts_with(start)) {
        return Err(format!("its address {} is not one of HTTP", redact::without_credentials(&url)));
    }
    if server.command.take().is_some() {
        server.args.clear();
    }
    Ok(Server { url: Some(url), ..server })
}

fn headers(fields: &mut Fields<'_>, spellings: &Spellings) -> std::collections::BTreeMap<String, String> {
    let mut headers = fields.values(spellings.headers);
    for (header, variable) in fields.values("env_http_headers") {
        headers.insert(header, fields.variable(&variable));
    }
    if let Some(variable) = fields.plain("bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), format!("Bearer {}", fields.variable(&variable)));
    }
    headers
}

fn times(fields: &mut Fields<'_>, server: &mut Server) {
    if fields.raw("timeout").is_some_and(Value::is_object) {
        fields.within("timeout", |timeout| {
            server.start_timeout_ms = timeout.milliseconds("startup", 1);
            server.list_timeout_ms = timeout.milliseconds("catalog", 1);
            server.timeout_ms = timeout.milliseconds("execution", 1);
        });
        return;
    }
    let timeout_ms = fields.milliseconds("timeout", 1);
    server.timeout_ms = timeout_ms.or_else(|| fields.milliseconds("tool_timeout_sec", SECOND_MS));
    let start_timeout_ms = fields.milliseconds("startup_timeout_ms", 1);
    server.start_timeout_ms =
        start_timeout_ms.or_else(|| fields.milliseconds("startup_timeout_sec", SECOND_MS));
}

/// What is said of keys that have no place here.
fn remarks(fields: &mut Fields<'_>, spellings: &Spellings) {
    // What VS Code does with a server, not what the server is.
    for key in ["dev", "gallery", "version"] {
        fields.raw(key);
    }
    if spellings.env != "env" && fields.raw("env").is_some() {
        fields.remark(format!("`env` is left out: only `{}` is read there", spellings.env));
    }
    if let Some(path) = fields.word("envFile") {
        fields.findings.missing(format!("the variables of {path} in `env`"));
    }
    if fields.raw("headersHelper").is_some() {
        fields.findings.missing("the headers that `headersHelper` made".to_owned());
    }
}

/// How to sign in; nothing if the entry says no more than that one may.
fn oauth(fields: &mut Fields<'_>) -> Option<Oauth> {
    if let Some(Value::Bool(switch)) = fields.raw("oauth") {
        return Some(Oauth::Switch(*switch));
    }
    let key = if fields.raw("oauth").is_some() { "oauth" } else { "auth" };
    let client = fields.within(key, |oauth| {
        let scopes = match oauth.raw("scopes") {
            Some(Value::Array(_)) => Some(oauth.words("scopes").join(" ")),
            _ => oauth.word("scopes"),
        };
        let port = oauth.raw("callbackPort").or_else(|| oauth.raw("callback_port"));
        Registration {
            callback_port: port.and_then(|port| u16::try_from(port.as_u64()?).ok()),
            client_id: ["clientId", "client_id", "CLIENT_ID"].into_iter().find_map(|key| oauth.value(key)),
            client_secret: ["clientSecret", "client_secret", "CLIENT_SECRET"]
                .into_iter()
                .find_map(|key| oauth.value(key)),
            scope: scopes.or_else(|| oauth.word("scope")),
            redirect_uri: ["redirectUri", "redirect_uri"].into_iter().find_map(|key| oauth.word(key)),
        }
    })?;
    (client != Registration::default()).then_some(Oauth::Client(client))
}
