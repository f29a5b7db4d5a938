//! One server in the words that all clients share: what `mcp import` finds, what `mcp add` is told and what
//! `mcp export` writes. It becomes a `[mcp.NAME]` table here; other clients' forms are their own files' affair.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use redact::MASK;
use sandbox::text_file;
use serde::Serialize;
use serde_json::Value;
use toml_edit::visit_mut::VisitMut;
use toml_edit::{Array, DocumentMut, Formatted, Item, Table};
use upstream::Reference;

/// From so many variables or headers on, they get a table of their own instead of a long line.
const ROWS_MIN: usize = 3;

/// A server. Texts are as they stand in our configuration, so they may hold references such as `${env:TOKEN}`. Written
/// out, it is a table `[mcp.NAME]`, in the order of these fields.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// The program, unless it has an address.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder that it starts in.
    pub cwd: Option<String>,
    /// Its address, unless it is a program.
    pub url: Option<String>,
    /// Said only if it is not to be found out.
    pub transport: Option<&'static str>,
    /// Said only if the table is kept and the server left alone.
    pub enabled: Option<bool>,
    /// How long a call may take.
    #[serde(rename = "timeout")]
    pub timeout_ms: Option<i64>,
    /// How long it may take to start.
    #[serde(rename = "start_timeout")]
    pub start_timeout_ms: Option<i64>,
    /// How long it may take to say what it offers.
    #[serde(rename = "list_timeout")]
    pub list_timeout_ms: Option<i64>,
    /// Environment variables that it inherits besides the usual ones, as globs.
    pub inherit: Vec<String>,
    /// The tools that are offered, as globs; all if there is none.
    pub include: Vec<String>,
    /// The tools that are not offered, as globs.
    pub exclude: Vec<String>,
    /// How calls of tools that it marks as destructive are treated: `ask`, `session` or `allow`.
    pub destructive: Option<&'static str>,
    /// How to sign in; if it is not said, when the server asks for it.
    pub oauth: Option<Oauth>,
    /// May be secret.
    pub env: BTreeMap<String, String>,
    /// May be secret.
    pub headers: BTreeMap<String, String>,
}

/// How to sign in to a server.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Oauth {
    /// With the browser, or never.
    Switch(bool),
    /// As a client that was registered by hand.
    Client(Registration),
}

/// A client that was registered by hand.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
pub struct Registration {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scope: Option<String>,
    pub redirect_uri: Option<String>,
    pub callback_port: Option<u16>,
}

impl Server {
    /// Has it start in `folder` if its command line names something there and it says nothing else. True if so.
    pub fn place_in(&mut self, folder: &Path) -> bool {
        let Some(command) = self.command.as_deref().filter(|_| self.cwd.is_none()) else { return false };
        let is_here =
            upstream::relative_words(command, &self.args).any(|word| text_file::exists(&folder.join(word)));
        if is_here {
            self.cwd = Some(folder.display().to_string());
        }
        is_here
    }

    /// The program with its arguments, or the address.
    pub fn endpoint(&self) -> Vec<&str> {
        let address = self.url.iter().filter(|_| self.command.is_none());
        self.command.iter().chain(&self.args).chain(address).map(String::as_str).collect()
    }

    /// The table `[mcp.NAME]` without its header.
    pub fn to_table(&self) -> Table {
        let document =
            toml_edit::ser::to_document(self).expect("it is made of texts, lists and tables of them");
        let mut table = document.into_table();
        table.retain(|_, item| {
            let is_empty_list = item.as_array().is_some_and(Array::is_empty);
            !is_empty_list && item.as_inline_table().is_none_or(|table| !table.is_empty())
        });
        OnOneLine.visit_table_mut(&mut table);
        for key in ["env", "headers"] {
            let long = table
                .get_mut(key)
                .filter(|item| item.as_inline_table().is_some_and(|rows| rows.len() >= ROWS_MIN));
            if let Some(item) = long {
                *item = std::mem::take(item).into_table().map_or_else(|item| item, Item::Table);
            }
        }
        table
    }

    /// The same as a text.
    pub fn to_toml(&self) -> String {
        // A table alone prints none of those within it.
        DocumentMut::from(self.to_table()).to_string()
    }

    /// The references that would be followed, in whichever text they stand.
    pub fn references(&self) -> BTreeSet<String> {
        let written = |reference| match reference {
            Reference::Env(name) => format!("${{env:{name}}}"),
            Reference::File(path) => format!("${{file:{path}}}"),
            Reference::Store(name) => format!("${{store:{name}}}"),
        };
        let mut references = BTreeSet::new();
        let mut values = vec![serde_json::json!(self)];
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) => {
                    references.extend(upstream::references(&text).into_iter().map(written))
                }
                Value::Array(items) => values.extend(items),
                Value::Object(members) => values.extend(members.into_iter().map(|(_, member)| member)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        references
    }

    /// The texts that may be secret, with the tables and the names that they stand under.
    pub fn secret_texts(&mut self) -> impl Iterator<Item = (&'static str, &str, &mut String)> {
        let secret = match &mut self.oauth {
            Some(Oauth::Client(registration)) => registration.client_secret.as_mut(),
            Some(Oauth::Switch(_)) | None => None,
        };
        let env = self.env.iter_mut().map(|(name, text)| ("env", name.as_str(), text));
        let headers = self.headers.iter_mut().map(|(name, text)| ("headers", name.as_str(), text));
        env.chain(headers).chain(secret.map(|text| ("oauth", "client_secret", text)))
    }

    /// The same without what may be secret: for showing, never for writing. References stay, since they tell
    /// only where a secret is.
    pub fn masked(&self) -> Server {
        let mut shown = self.clone();
        shown.env.values_mut().chain(shown.headers.values_mut()).for_each(mask);
        shown.url = shown.url.map(|url| redact::without_credentials(&url));
        if let Some(Oauth::Client(Registration { client_secret: Some(secret), .. })) = &mut shown.oauth {
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

fn mask(text: &mut String) {
    let is_reference = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    if !is_reference || upstream::references(text).is_empty() {
        MASK.clone_into(text);
    }
}

/// Puts each text on one line, whatever is in it: line ends of the file must not become part of it.
struct OnOneLine;

impl VisitMut for OnOneLine {
    fn visit_string_mut(&mut self, text: &mut Formatted<String>) {
        // What JSON does not escape of what TOML forbids.
        let json = Value::from(text.value().as_str()).to_string().replace('\u{7f}', "\\u007f");
        if text.value().chars().any(char::is_control)
            && let Ok(toml_edit::Value::String(escaped)) = json.parse()
        {
            *text = escaped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_where_its_words_were_meant() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        text_file::replace(&path.join("server.py"), "").expect("written");
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
