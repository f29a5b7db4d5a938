//! Secrets that a person has set and refers to by name, each a sealed record with the times of its first and its last
//! setting.
//!
//! Whether there may be any is told by a file beside the database, so that whoever has none pays for no database. It is
//! made before the first is kept and never removed.

use std::fmt;

use crate::cell::NAMED_PREFIX;
use crate::error::StoreError;
use crate::secrets::Secrets;
use crate::sentinel::Sentinel;

/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest value, in characters.
const VALUE_CHARS_MAX: usize = 4096;

/// How a record is laid out, as its first byte: then follow both times and the value.
const LAYOUT: u8 = 1;

/// Where the value begins in a record.
const VALUE_AT: usize = 1 + 2 * size_of::<i64>();

/// The name of a secret: capital letters, digits and `_`, a letter first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

/// A text is no name for a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret's name has capital letters A-Z, digits and `_`, begins with a letter and is at most 64 characters long, \
     such as GITHUB_TOKEN"
)]
pub struct BadName;

impl SecretName {
    /// Takes `text` for a name.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<SecretName, BadName> {
        let is_good = text.starts_with(|first: char| first.is_ascii_uppercase())
            && text.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
            && text.len() <= NAME_CHARS_MAX;
        if is_good { Ok(SecretName(text.to_owned())) } else { Err(BadName) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn record(&self) -> String {
        format!("{NAMED_PREFIX}{}", self.0)
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a secret says: 1 to 4096 characters, none of them NUL. Prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Box<str>);

/// A text is no value of a secret. Says nothing of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    /// There is none.
    #[error("the value is empty; `toolcrib secrets remove NAME` removes a secret")]
    Empty,
    /// It is a document.
    #[error(
        "the value is longer than 4096 characters; keep it in a file, and refer to that with {{ file = \"PATH\" }}"
    )]
    TooLong,
    /// No variable and no header can hold it.
    #[error("the value contains NUL, which no environment variable and no header can hold")]
    Nul,
}

impl SecretValue {
    /// Takes `text` for a value.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<SecretValue, BadValue> {
        if text.is_empty() {
            Err(BadValue::Empty)
        } else if text.chars().count() > VALUE_CHARS_MAX {
            Err(BadValue::TooLong)
        } else if text.contains('\0') {
            Err(BadValue::Nul)
        } else {
            Ok(SecretValue(text.into()))
        }
    }

    /// The text, for where it is needed and nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A secret that has been opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: SecretName,
    /// What it says.
    pub value: SecretValue,
    /// When it was first set, in milliseconds since 1970.
    pub set_at_ms: i64,
    /// When it was last set, in milliseconds since 1970.
    pub changed_at_ms: i64,
}

/// What setting a secret did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasSet {
    /// There was none of this name.
    Anew,
    /// It has taken another's place.
    Again,
}

impl Secrets {
    /// True if secrets may be kept here; if not, there is no need to open anything. Looks at one file.
    ///
    /// # Errors
    /// If that cannot be told.
    pub fn may_have_named(&self) -> Result<bool, StoreError> {
        Sentinel::Secrets.is_in(self.dir()).map_err(StoreError::folder(self.dir()))
    }

    /// The names of all of them, in order; nothing is opened.
    ///
    /// # Errors
    /// The store's.
    pub fn named_names(&self) -> Result<Vec<SecretName>, StoreError> {
        let names = self.names(NAMED_PREFIX)?;
        Ok(names.iter().filter_map(|name| SecretName::parse(name.strip_prefix(NAMED_PREFIX)?).ok()).collect())
    }

    /// The secret of this name.
    ///
    /// # Errors
    /// As [`Secrets::load`].
    pub fn named(&self, name: &SecretName) -> Result<Option<Named>, StoreError> {
        let Some(opened) = self.load(&name.record())? else { return Ok(None) };
        let unknown =
            || StoreError::Database(format!("the secret {name} was kept by a newer version").into());
        read(name, &opened.value).map(Some).ok_or_else(unknown)
    }

    /// All of them, in the order of their names.
    ///
    /// # Errors
    /// If one of them cannot be opened.
    pub fn all_named(&self) -> Result<Vec<Named>, StoreError> {
        let names = self.named_names()?;
        // One that has been removed meanwhile is not missed.
        names.iter().filter_map(|name| self.named(name).transpose()).collect()
    }

    /// Sets a secret, at `now_ms` in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Secrets::replace`].
    pub fn set_named(
        &self,
        name: &SecretName,
        value: &SecretValue,
        now_ms: i64,
    ) -> Result<WasSet, StoreError> {
        let record = name.record();
        loop {
            let version = self.sealed(&record)?.map(|found| found.version);
            // One that does not open any more may be set anew all the same.
            let before = version.and_then(|_| self.named(name).ok().flatten());
            let set_at_ms = before.map_or(now_ms, |before| before.set_at_ms);
            let kept = write(value, set_at_ms, now_ms);
            // Another process may have been faster; the last one wins.
            if self.replace(&record, version, Some(&kept))?.is_some() {
                return Ok(if version.is_some() { WasSet::Again } else { WasSet::Anew });
            }
        }
    }

    /// Removes a secret, without opening it. False if there is none of this name.
    ///
    /// # Errors
    /// The store's.
    pub fn remove_named(&self, name: &SecretName) -> Result<bool, StoreError> {
        self.remove(&name.record())
    }
}

fn write(value: &SecretValue, set_at_ms: i64, changed_at_ms: i64) -> Vec<u8> {
    let mut record = vec![LAYOUT];
    record.extend(set_at_ms.to_be_bytes());
    record.extend(changed_at_ms.to_be_bytes());
    record.extend(value.0.bytes());
    record
}

fn read(name: &SecretName, record: &[u8]) -> Option<Named> {
    let (head, value) = record.split_at_checked(VALUE_AT)?;
    let time = |at: usize| Some(i64::from_be_bytes(head.get(at..at + size_of::<i64>())?.try_into().ok()?));
    if head[0] != LAYOUT {
        return None;
    }
    let value = SecretValue::parse(std::str::from_utf8(value).ok()?).ok()?;
    Some(Named { name: name.clone(), value, set_at_ms: time(1)?, changed_at_ms: time(1 + size_of::<i64>())? })
}

#[cfg(test)]
mod tests;
