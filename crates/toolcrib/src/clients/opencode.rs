//! OpenCode: its first form, `mcp.NAME` with `type`, and its second, `mcp.servers.NAME` with `disabled`.

use serde_json::Value;

use super::client::{Client, slot};
use super::fields::Fields;
use super::form::Word;
use super::form::{Form, Written};
use super::server::{Oauth, Registration, Server};
use super::variables::Syntax;

const FILES: [&str; 2] = ["opencode.jsonc", "opencode.json"];

pub(super) const CLIENT: Client = Client {
    id: "opencode",
    title: "OpenCode",
    files: &["opencode.json", "opencode.jsonc", "opencode/config.json"],
    places: |here| {
        let folder = here.config().map(|folder| folder.join("opencode"));
        // The first one is what a new file is called.
        let mut places = here.user(folder, &["opencode.json", "opencode.jsonc", "config.json"]);
        places.extend(here.variable("OPENCODE_CONFIG").into_iter().map(super::Place::named));
        places.extend(here.projects(&FILES));
        places.extend(here.projects(&[".opencode/opencode.jsonc", ".opencode/opencode.json"]));
        places
    },
    form: Form::Json,
    syntax: Syntax::Braces,
    knows: |root| root.get("mcp").is_some_and(Value::is_object),
    slots: |root, _| vec![if is_second(root) { slot(&["mcp", "servers"]) } else { slot(&["mcp"]) }],
    read,
    notes: |root, _| {
        let mut notes = Vec::new();
        if is_second(root) && root["mcp"].get("timeout").is_some() {
            notes.push("`mcp.timeout` is left out; set `timeout` for each server".to_owned());
        }
        let switched = root.get("tools").and_then(Value::as_object).into_iter().flatten();
        let off: Vec<&str> =
            switched.filter(|(_, on)| **on == false).map(|(glob, _)| glob.as_str()).collect();
        if !off.is_empty() {
            notes.push(format!(
                "tools switched off there: {}; `exclude` of a server does that here",
                off.join(", ")
            ));
        }
        notes
    },
    write,
    fresh: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
};

/// A server may be called `servers`; it then has a `type`.
fn is_second(root: &Value) -> bool {
    let servers = root.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_object);
    servers.is_some_and(|servers| !servers.get("type").is_some_and(Value::is_string))
}

fn read(fields: &mut Fields<'_>) -> Result<Server, String> {
    let kind = fields.plain("type");
    let mut command = fields.words("command").into_iter();
    let mut server = Server {
        command: command.next(),
        args: command.collect(),
        env: fields.values("environment"),
        cwd: fields.word("cwd"),
        headers: fields.values("headers"),
        disabled: fields.switch("enabled") == Some(false) || fields.switch("disabled") == Some(true),
        ..Server::default()
    };
    let url = fields.word("url");
    if fields.raw("timeout").is_some_and(Value::is_object) {
        let mut timeout = fields.table("timeout").expect("it is a table");
        server.start_timeout_ms = timeout.milliseconds("startup", 1);
        server.list_timeout_ms = timeout.milliseconds("catalog", 1);
        server.timeout_ms = timeout.milliseconds("execution", 1);
        let found = timeout.finish("timeout.");
        fields.findings.absorb(found);
    } else {
        server.timeout_ms = fields.milliseconds("timeout", 1);
    }
    server.oauth = oauth(fields);
    if fields.raw("env").is_some() {
        fields.remark("`env` is left out: OpenCode reads `environment` only".to_owned());
    }
    match (&server.command, url, kind.as_deref()) {
        (Some(_), None, _) => Ok(server),
        (None, Some(url), _) => Ok(Server { url: Some(url), ..server }),
        (Some(_), Some(_), Some("local")) => Ok(server),
        (Some(_), Some(url), _) => Ok(Server { command: None, args: Vec::new(), url: Some(url), ..server }),
        // Often a mere switch for a server of the organisation or of another file.
        (None, None, _) => Err("it has neither `command` nor `url`".to_owned()),
    }
}

fn oauth(fields: &mut Fields<'_>) -> Option<Oauth> {
    if let Some(Value::Bool(switch)) = fields.raw("oauth") {
        return Some(Oauth::Switch(*switch));
    }
    let mut oauth = fields.table("oauth")?;
    let mut first = |keys: [&'static str; 2]| keys.into_iter().find_map(|key| oauth.value(key));
    let mut client = Registration {
        id: first(["clientId", "client_id"]),
        secret: first(["clientSecret", "client_secret"]),
        scope: oauth.word("scope"),
        ..Registration::default()
    };
    client.redirect_uri = ["redirectUri", "redirect_uri"].into_iter().find_map(|key| oauth.word(key));
    let port = oauth.raw("callbackPort").or_else(|| oauth.raw("callback_port"));
    client.callback_port = port.and_then(|port| u16::try_from(port.as_u64()?).ok());
    let found = oauth.finish("oauth.");
    fields.findings.absorb(found);
    Some(if client == Registration::default() { Oauth::Switch(true) } else { Oauth::Client(client) })
}

fn write(root: &Value, server: &Server) -> Written {
    let command = server.command.iter().chain(&server.args).cloned().collect();
    let mut written = vec![("type", Word::Text("local".to_owned())), ("command", Word::List(command))];
    if !is_second(root) {
        written.push(("enabled", Word::Switch(true)));
    }
    written
}
