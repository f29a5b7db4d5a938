//! Reading one of an upstream's lists, page by page, whatever it lists.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use pins::{Conceal, Hash, HeldBack, Judge, Why, subject};
use wire::message::Text;
use wire::paging::Page;
use wire::string::literal;
use wire::{prompts, resources, tools};

use crate::answer;
use crate::connection::{Answer, Connection, Request};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::kind::Kind;
use crate::settings::Mask;

/// More pages than this is a server that counts wrongly.
pub const PAGES_MAX: usize = 1_000;

/// Most entries of one list: more tools than this no agent can choose from.
pub const ENTRIES_MAX: usize = 10_000;

/// All entries of one list together, in bytes.
pub const LIST_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest cursor, in bytes; all cursors of a list are kept to see one come twice.
const CURSOR_BYTES_MAX: usize = 4 * 1024;

/// How often a list is begun anew whose server does not know its own cursor any more, most likely since the list has changed.
const RESTARTS_MAX: usize = 3;

/// An entry with everything that it needs.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// What the server knows it by: a name, a URI, a URI template.
    pub(crate) key: String,
    /// The whole object as it came.
    pub(crate) text: Text,
    /// Of its canonical form, once somebody has asked.
    hash: OnceLock<Hash>,
}

impl Entry {
    /// What the server knows as `key`, and the whole object as it came.
    pub(crate) fn new(key: String, text: Text) -> Entry {
        Entry { key, text, hash: OnceLock::new() }
    }

    /// The hash of its canonical form, by which it is pinned.
    pub(crate) fn hash(&self, kind: Kind) -> &Hash {
        self.hash.get_or_init(|| Hash::of(&subject(kind.item(), self.text.as_str())))
    }

    /// Why it is held back as one of `kind`; nothing if it may be offered.
    pub(crate) fn objection(&self, kind: Kind, judge: &Judge) -> Option<Why> {
        judge.objection(kind.item(), &self.key, || self.hash(kind))
    }

    /// The same as something that is held back, fit to be shown.
    pub(crate) fn held(&self, kind: Kind, why: Why, mask: &Mask) -> HeldBack {
        HeldBack { what: kind.item(), name: mask.shown_name(&self.key), why }
    }
}

/// One list of a server.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) kind: Kind,
    pub(crate) entries: Vec<Entry>,
    /// How many more are not sound.
    pub(crate) unusable: usize,
    /// The names of those that hold a secret, without it.
    pub(crate) concealed: Vec<String>,
    /// How long it stays good, in milliseconds, by the shortest word of any page; 0 in legacy revisions.
    pub(crate) ttl_ms: u64,
    bytes: usize,
}

/// Asks for every page.
pub(crate) async fn fetch(connection: &Arc<Connection>, kind: Kind) -> Result<Listed, ConnectError> {
    let mut listed = Listed::new(kind);
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut restarts = 0;
    for _ in 0..PAGES_MAX {
        let cursor_member = |cursor: &String| format!("\"cursor\":{}", literal(cursor));
        let params = format!("{{{}}}", cursor.as_ref().map_or_else(String::new, cursor_member)).into_bytes();
        let method = kind.method();
        let request = Request { method, params, ..Request::default() };
        let result = match connection.request(None, None, request).await {
            Ok(Answer::Result(result)) => result,
            Ok(Answer::Error(_)) if cursor.is_some() && restarts < RESTARTS_MAX => {
                restarts += 1;
                (listed, cursor) = (Listed::new(kind), None);
                cursors.clear();
                continue;
            }
            Ok(Answer::Error(error)) => return Err(answer::refused(method, &error)),
            Ok(Answer::Asked { .. }) => return Err(broken("it asks back when its lists are asked for")),
            Err(fault) => return Err(ConnectError::Request(fault)),
        };
        cursor = listed.add(&result)?;
        match &cursor {
            None => return Ok(listed),
            Some(next) if !cursors.insert(next.clone()) => {
                let noun = kind.noun();
                return Err(broken(&format!(
                    "its list of {noun} goes round in circles: a cursor came twice"
                )));
            }
            Some(_) => {}
        }
    }
    Err(broken(&format!("its list of {} has more than {PAGES_MAX} pages", kind.noun())))
}

fn broken(why: &str) -> ConnectError {
    ConnectError::Request(Fault::Broken(why.to_owned()))
}

/// Reads a page; nothing if it is no list of this kind.
fn read_page(kind: Kind, result: &Text) -> Option<Page> {
    match kind {
        Kind::Tools => tools::read_list_result(result),
        Kind::Prompts => prompts::read_list_result(result),
        Kind::Resources => resources::read_list_result(result),
        Kind::Templates => resources::read_templates_result(result),
    }
}

impl Listed {
    /// Nothing of this kind.
    pub(crate) fn new(kind: Kind) -> Listed {
        let (entries, concealed) = (Vec::new(), Vec::new());
        Listed { kind, entries, unusable: 0, concealed, ttl_ms: u64::MAX, bytes: 0 }
    }

    /// Adds one page and returns the cursor of the next.
    fn add(&mut self, result: &Text) -> Result<Option<String>, ConnectError> {
        let (method, noun) = (self.kind.method(), self.kind.noun());
        let page = read_page(self.kind, result)
            .ok_or_else(|| broken(&format!("its answer to `{method}` is no list of {noun}")))?;
        self.unusable += page.unusable;
        self.ttl_ms = self.ttl_ms.min(page.cache.ttl_ms);
        // The whole page, since every entry is a slice that keeps it.
        self.bytes += result.as_str().len();
        if page.next_cursor.as_ref().is_some_and(|cursor| cursor.len() > CURSOR_BYTES_MAX) {
            return Err(broken(&format!("a cursor of its list of {noun} is over {CURSOR_BYTES_MAX} bytes")));
        }
        self.entries.extend(page.entries.into_iter().map(|entry| Entry::new(entry.key, entry.text)));
        if self.entries.len() + self.unusable > ENTRIES_MAX {
            return Err(broken(&format!("it lists more than {ENTRIES_MAX} {noun}")));
        }
        if self.bytes > LIST_BYTES_MAX {
            return Err(broken(&format!("its {noun} are over {LIST_BYTES_MAX} bytes together")));
        }
        Ok(page.next_cursor)
    }

    /// The same without those whose name holds a secret: it would stand wherever names do, and with the secret struck out
    /// nobody could use it.
    pub(crate) fn concealed(mut self, conceal: &Conceal) -> Listed {
        let concealed = &mut self.concealed;
        self.entries.retain(|entry| match conceal(&entry.key) {
            Some(name) => {
                concealed.push(name);
                false
            }
            None => true,
        });
        self
    }

    /// Reads the entries that `remembered`, an object of several lists, holds of this kind. None if it holds
    /// none, nothing if they cannot be used.
    pub(crate) fn remembered(kind: Kind, remembered: &Text) -> Option<Listed> {
        let mut listed = Listed::new(kind);
        if remembered.object()?.get(kind.member()).is_some() {
            listed.add(remembered).ok()?;
        }
        Some(listed)
    }

    /// Appends the entries as a JSON array, to be remembered.
    pub(crate) fn write(&self, out: &mut String) {
        let entries: Vec<&str> = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        out.push_str(&format!("[{}]", entries.join(",")));
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    fn keys(listed: &Listed) -> Vec<&str> {
        listed.entries.iter().map(|entry| entry.key.as_str()).collect()
    }

    #[test]
    fn pages_are_added_up_and_written_byte_for_byte() {
        let mut listed = Listed::new(Kind::Tools);
        let first =
            r#"{"tools":[{"name":"a", "inputSchema":{ },"x":1.0},{"name":"b"}],"nextCursor":"","ttlMs":5}"#;
        assert_eq!(listed.add(&text(first)), Ok(Some(String::new())));
        assert_eq!(listed.add(&text(r#"{"tools":[{"inputSchema":{},"name":"c"}],"ttlMs":9}"#)), Ok(None));
        assert_eq!((keys(&listed), listed.unusable, listed.ttl_ms), (vec!["a", "c"], 1, 5));
        let mut written = String::new();
        listed.write(&mut written);
        assert_eq!(written, r#"[{"name":"a", "inputSchema":{ },"x":1.0},{"inputSchema":{},"name":"c"}]"#);
    }

    #[test]
    fn every_kind_is_read_and_remembered() {
        let all = text(
            r#"{"tools":[{"name":"t","inputSchema":{}}],"prompts":[{"name":"p"},{"title":"no name"}],
                "resources":[{"uri":"a:b"},{"uri":""}],"resourceTemplates":[{"uriTemplate":"a:{b}"},5]}"#,
        );
        let read = Kind::ALL.map(|kind| {
            let listed = Listed::remembered(kind, &all).expect("a list");
            (keys(&listed).join(" "), listed.unusable)
        });
        assert_eq!(read, [("t", 0), ("p", 1), ("a:b", 1), ("a:{b}", 1)].map(|(key, n)| (key.to_owned(), n)));
        let none = Listed::remembered(Kind::Prompts, &text("{}")).expect("no list is no fault");
        assert!(none.entries.is_empty());
        assert!(Listed::remembered(Kind::Prompts, &text(r#"{"prompts":5}"#)).is_none());
        assert!(Listed::remembered(Kind::Prompts, &text("[]")).is_none());
    }

    #[track_caller]
    fn check_refused(kind: Kind, page: &str, expected: &str) {
        let error = Listed::new(kind).add(&text(page)).expect_err("no list");
        assert_eq!(error.to_string(), format!("it does not speak MCP as expected: {expected}"));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        check_refused(Kind::Tools, "{\"tools\":{}}", "its answer to `tools/list` is no list of tools");
        check_refused(
            Kind::Templates,
            "{\"resources\":[]}",
            "its answer to `resources/templates/list` is no list of resource templates",
        );
        let long = format!(r#"{{"prompts":[],"nextCursor":"{}"}}"#, "c".repeat(CURSOR_BYTES_MAX + 1));
        check_refused(Kind::Prompts, &long, "a cursor of its list of prompts is over 4096 bytes");
    }

    #[test]
    fn ten_thousand_are_carried_and_one_more_is_refused() {
        let page = |count: usize| {
            let many = vec!["{\"name\":\"a\",\"inputSchema\":{}}"; count].join(",");
            format!("{{\"tools\":[{many}]}}")
        };
        let mut listed = Listed::new(Kind::Tools);
        assert_eq!(listed.add(&text(&page(ENTRIES_MAX))), Ok(None));
        assert_eq!(listed.entries.len(), 10_000);
        check_refused(Kind::Tools, &page(ENTRIES_MAX + 1), "it lists more than 10000 tools");
    }
}
