//! Reading one server's entry in a client's file, key by key: what is not asked for is reported in the end, never dropped
//! silently.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::origin::Origin;
use crate::variables::{self, Findings, Syntax, TextKind, translated};

/// An entry.
pub(crate) struct Fields<'a> {
    table: &'a Map<String, Value>,
    asked: BTreeSet<&'static str>,
    syntax: Syntax,
    /// The file that it stands in.
    pub origin: &'a Origin<'a>,
    /// What came up.
    pub findings: Findings,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(table: &'a Map<String, Value>, syntax: Syntax, origin: &'a Origin<'a>) -> Fields<'a> {
        Fields { table, asked: BTreeSet::new(), syntax, origin, findings: Findings::default() }
    }

    /// The value as it stands; `null` counts as nothing.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.insert(key);
        self.table.get(key).filter(|value| !value.is_null())
    }

    fn typed<T>(&mut self, key: &'static str, kind: &str, read: fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.raw(key)?;
        let typed = read(value);
        if typed.is_none() {
            self.remark(format!("`{key}` is left out: it is no {kind}"));
        }
        typed
    }

    /// A text as it stands.
    pub(crate) fn plain(&mut self, key: &'static str) -> Option<String> {
        self.typed(key, "text", Value::as_str).map(str::to_owned)
    }

    /// A word of a command line, a folder or an address.
    pub(crate) fn word(&mut self, key: &'static str) -> Option<String> {
        self.plain(key).map(|text| self.translated(&text, TextKind::Word))
    }

    /// A value that may be secret.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<String> {
        self.plain(key).map(|text| self.translated(&text, TextKind::Value))
    }

    /// A list of words; nothing if there is none.
    pub(crate) fn words(&mut self, key: &'static str) -> Vec<String> {
        let words = self.typed(key, "list of texts", texts).unwrap_or_default();
        words.into_iter().map(|word| self.translated(word, TextKind::Word)).collect()
    }

    /// A table of values that may be secret; nothing if there is none. A number or a switch counts as its text.
    pub(crate) fn values(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        for (name, value) in self.typed(key, "table", Value::as_object).into_iter().flatten() {
            let text = match value {
                Value::String(text) => self.translated(text, TextKind::Value),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    self.remark(format!("`{key}.{name}` is left out: it is no text"));
                    continue;
                }
            };
            values.insert(name.clone(), text);
        }
        values
    }

    /// A switch.
    pub(crate) fn switch(&mut self, key: &'static str) -> Option<bool> {
        self.typed(key, "switch", Value::as_bool)
    }

    /// A time in milliseconds, of a number in units of so many milliseconds.
    pub(crate) fn milliseconds(&mut self, key: &'static str, unit_ms: u32) -> Option<i64> {
        let number = self.typed(key, "number", Value::as_f64)?;
        let ms = (number * f64::from(unit_ms)).round();
        if ms < 1.0 {
            self.remark(format!("`{key}` is left out: it is no time"));
            return None;
        }
        // A cast saturates, and the configuration has a limit of its own.
        Some(ms as i64)
    }

    /// What is read of another entry in this one, such as `oauth`.
    pub(crate) fn within<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Fields<'a>) -> T,
    ) -> Option<T> {
        let table = self.typed(key, "table", Value::as_object)?;
        let mut inner = Fields::new(table, self.syntax, self.origin);
        let found = read(&mut inner);
        self.findings.absorb(inner.finish(&format!("{key}.")));
        Some(found)
    }

    /// A reference to an environment variable.
    pub(crate) fn variable(&mut self, name: &str) -> String {
        variables::environment(name, self.origin, &mut self.findings)
    }

    /// Says something about the entry.
    pub(crate) fn remark(&mut self, remark: String) {
        self.findings.remarks.push(remark);
    }

    /// What came up, with what nobody asked for; `path` goes before the names of its keys.
    pub(crate) fn finish(mut self, path: &str) -> Findings {
        let unasked = self.table.keys().filter(|key| !self.asked.contains(key.as_str()));
        let unasked: Vec<String> = unasked.map(|key| format!("`{path}{key}`")).collect();
        if !unasked.is_empty() {
            self.remark(format!("left out, since there is nothing like it here: {}", unasked.join(", ")));
        }
        self.findings
    }

    fn translated(&mut self, text: &str, kind: TextKind) -> String {
        translated(text, kind, self.syntax, self.origin, &mut self.findings)
    }
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}
