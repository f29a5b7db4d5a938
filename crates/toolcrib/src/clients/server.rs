//! One server in the words that all clients share: what `mcp import` finds, what `mcp add` is told and what
//! `mcp export` writes. It becomes a `[mcp.NAME]` table here; other clients' forms are their own files' affair.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value, value};
use upstream::{Reference, Transport};

use crate::config::{MASK, text_file};

/// From so many variables or headers on, they get a table of their own instead of a long line.
const ROWS_MIN: usize = 3;

/// A server. Texts are as they stand in our configuration, so they may hold references such as `${env:TOKEN}`.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Server {
    /// The program to start.
    pub(crate) command: Option<String>,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Its environment variables; may be secret.
    pub(crate) env: BTreeMap<String, String>,
    /// Its working folder.
    pub(crate) cwd: Option<String>,
    /// The address of a server over HTTP.
    pub(crate) url: Option<String>,
    /// The headers of every request; may be secret.
    pub(crate) headers: BTreeMap<String, String>,
    /// How it is talked to.
    pub(crate) transport: Transport,
    /// Whether the table is kept and the server left alone.
    pub(crate) disabled: bool,
    /// How long a call may take, in milliseconds.
    pub(crate) timeout_ms: Option<u64>,
    /// How long its start may take, in milliseconds.
    pub(crate) start_timeout_ms: Option<u64>,
    /// Environment variables that it inherits besides the usual ones, as globs.
    pub(crate) inherit: Vec<String>,
    /// How long listing what it has may take, in milliseconds.
    pub(crate) list_timeout_ms: Option<u64>,
    /// The tools that are offered, as globs; all if there is none.
    pub(crate) include: Vec<String>,
    /// The tools that are not.
    pub(crate) exclude: Vec<String>,
    /// How to sign in; if it is not said, when the server asks for it.
    pub(crate) oauth: Option<Oauth>,
}

/// How to sign in to a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Oauth {
    /// With the browser, or never.
    Switch(bool),
    /// As a client that was registered by hand.
    Client(Registration),
}

/// A client that was registered by hand.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Registration {
    /// What it is known as.
    pub(crate) id: Option<String>,
    /// Its secret.
    pub(crate) secret: Option<String>,
    /// The scopes to ask for.
    pub(crate) scope: Option<String>,
    /// Where the browser comes back to.
    pub(crate) redirect_uri: Option<String>,
    /// The port that the browser comes back to.
    pub(crate) callback_port: Option<u16>,
}

impl Server {
    /// Has it start in `folder` if its command line names something there and it says nothing else. True if so.
    pub(crate) fn place_in(&mut self, folder: &Path) -> bool {
        let Some(command) = self.command.as_deref().filter(|_| self.cwd.is_none()) else { return false };
        let is_here =
            upstream::relative_words(command, &self.args).any(|word| text_file::exists(&folder.join(word)));
        if is_here {
            self.cwd = Some(folder.display().to_string());
        }
        is_here
    }

    /// The program with its arguments, or the address.
    pub(crate) fn endpoint(&self) -> Vec<&str> {
        let address = self.url.as_deref().filter(|_| self.command.is_none());
        self.command
            .as_deref()
            .into_iter()
            .chain(self.args.iter().map(String::as_str))
            .chain(address)
            .collect()
    }

    /// The table `[mcp.NAME]` without its header.
    pub(crate) fn to_table(&self) -> Table {
        let mut table = Table::new();
        let mut put = |key: &str, item: Option<Item>| {
            if let Some(item) = item {
                table.insert(key, item);
            }
        };
        put("command", self.command.as_deref().map(text_item));
        put("args", list(&self.args));
        put("cwd", self.cwd.as_deref().map(text_item));
        put("url", self.url.as_deref().map(text_item));
        put("transport", transport(self.transport).map(value));
        put("enabled", self.disabled.then(|| value(false)));
        put("timeout", self.timeout_ms.map(milliseconds));
        put("start_timeout", self.start_timeout_ms.map(milliseconds));
        put("list_timeout", self.list_timeout_ms.map(milliseconds));
        put("inherit", list(&self.inherit));
        put("include", list(&self.include));
        put("exclude", list(&self.exclude));
        put("oauth", self.oauth.as_ref().map(Oauth::to_item));
        put("env", map(&self.env));
        put("headers", map(&self.headers));
        table
    }

    /// The same as a text.
    pub(crate) fn to_toml(&self) -> String {
        // A table alone prints none of those within it.
        DocumentMut::from(self.to_table()).to_string()
    }

    /// The references that would be followed, in whichever text they stand.
    pub(crate) fn references(&self) -> BTreeSet<String> {
        let Server { command, args, env, cwd, url, headers, oauth, .. } = self;
        let signing_in = match oauth {
            Some(Oauth::Client(Registration { id, secret, scope, redirect_uri, callback_port: _ })) => {
                [id, secret, scope, redirect_uri].map(Option::as_deref)
            }
            Some(Oauth::Switch(_)) | None => [None; 4],
        };
        let alone = [command, cwd, url].map(Option::as_deref);
        let texts = alone.into_iter().chain(signing_in).flatten();
        let texts = texts.chain(args.iter().chain(env.values()).chain(headers.values()).map(String::as_str));
        let written = |reference| match reference {
            Reference::Env(name) => format!("${{env:{name}}}"),
            Reference::File(path) => format!("${{file:{path}}}"),
            Reference::Store(name) => format!("${{store:{name}}}"),
        };
        texts.flat_map(upstream::references).map(written).collect()
    }

    /// The same without what may be secret: for showing, never for writing. References stay, since they tell
    /// only where a secret is.
    pub(crate) fn masked(&self) -> Server {
        let mut shown = self.clone();
        shown.env.values_mut().chain(shown.headers.values_mut()).for_each(mask);
        shown.url = shown.url.map(|url| crate::config::without_credentials_in(&url));
        if let Some(Oauth::Client(Registration { secret: Some(secret), .. })) = &mut shown.oauth {
            mask(secret);
        }
        shown
    }
}

/// Shows no secret.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.masked().to_toml().trim_end())
    }
}

impl Oauth {
    fn to_item(&self) -> Item {
        let client = match self {
            Oauth::Switch(switch) => return value(*switch),
            Oauth::Client(client) => client,
        };
        let mut table = InlineTable::new();
        let mut put = |key: &str, text: &Option<String>| {
            if let Some(written) = text.as_deref().map(text_value) {
                table.insert(key, written);
            }
        };
        put("client_id", &client.id);
        put("client_secret", &client.secret);
        put("scope", &client.scope);
        put("redirect_uri", &client.redirect_uri);
        if let Some(port) = client.callback_port {
            table.insert("callback_port", i64::from(port).into());
        }
        value(table)
    }
}

fn mask(text: &mut String) {
    let is_reference = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    if !is_reference || upstream::references(text).is_empty() {
        MASK.clone_into(text);
    }
}

fn transport(transport: Transport) -> Option<&'static str> {
    match transport {
        Transport::Auto => None,
        Transport::Stdio => Some("stdio"),
        Transport::Http => Some("http"),
        Transport::Sse => Some("sse"),
    }
}

fn milliseconds(ms: u64) -> Item {
    value(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// A text on one line, whatever is in it: line ends of the file must not become part of it.
fn text_value(text: &str) -> Value {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    let literal = format!("\"{}\"", text.chars().map(escaped).collect::<String>());
    literal.parse().expect("quotes, backslashes and control characters are escaped")
}

fn text_item(text: &str) -> Item {
    Item::Value(text_value(text))
}

fn list(texts: &[String]) -> Option<Item> {
    let values = || texts.iter().map(|text| text_value(text));
    (!texts.is_empty()).then(|| value(values().collect::<Array>()))
}

fn map(texts: &BTreeMap<String, String>) -> Option<Item> {
    let rows = || texts.iter().map(|(name, text)| (name, text_value(text)));
    match texts.len() {
        0 => None,
        few if few < ROWS_MIN => Some(value(rows().collect::<InlineTable>())),
        _ => Some(Item::Table(rows().collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_where_its_words_were_meant() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        crate::config_edit::hold(&path.join("server.py")).and_then(|held| held.write("")).expect("written");
        for (words, expected) in [
            ("python3 server.py", true),
            ("npx -y some-server .", true),
            ("npx --import=./server.py x", true),
            ("./server.py", true),
            ("python3 other.py", false),
            ("server.py", false),
            ("npx -y some-server", false),
            ("python3 /server.py", false),
        ] {
            let mut all = words.split(' ').map(str::to_owned);
            let mut server = Server { command: all.next(), args: all.collect(), ..Server::default() };
            assert_eq!(server.place_in(path), expected, "{words}");
            assert_eq!(server.cwd, expected.then(|| path.display().to_string()), "{words}");
            server.cwd = Some("/elsewhere".to_owned());
            assert!(!server.place_in(path), "{words}: it says so itself");
        }
        let mut address = Server { url: Some("https://a.example/.".to_owned()), ..Server::default() };
        assert!(!address.place_in(path));
    }
}
