//! Names for other people's tasks: what a caller gets in place of a source's own id.
//!
//! A token says whose task it is, which source runs it and which tool began it, under a keyed hash that nobody else can make. It
//! is the same each time, so that a client recognises its task in notifications, and good for its caller
//! only. The key lives as long as the process, as do the connections that the tasks were made over.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

/// Longest token that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// Length of the hash in a token, in bytes.
const TAG_BYTES: usize = 32;

/// Whose task it is, and what it goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Who runs it.
    pub source: Arc<str>,
    /// Its source's own id for it.
    pub id: Arc<str>,
    /// The tool whose call it is, by which rules know it.
    pub tool: Arc<str>,
}

/// Makes and opens tokens.
pub struct Tokens {
    key: hmac::Key,
}

impl Tokens {
    /// With a key that nobody knows.
    pub fn new(random: &[u8; 32]) -> Tokens {
        Tokens { key: hmac::Key::new(hmac::HMAC_SHA256, random) }
    }

    /// The token for a task.
    pub fn seal(&self, caller: &str, task: &Task) -> String {
        let said = [&lengthened(&task.source), &lengthened(&task.tool), task.id.as_bytes()].concat();
        let mut body = self.sign(caller, &said).as_ref().to_vec();
        body.extend_from_slice(&said);
        URL_SAFE_NO_PAD.encode(body)
    }

    /// The task, if the token was made for this caller.
    pub fn open(&self, caller: &str, token: &str) -> Option<Task> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let body = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (tag, said) = body.split_at_checked(TAG_BYTES)?;
        hmac::verify(&self.key, &signed(caller, said), tag).ok()?;
        let (source, rest) = first(said)?;
        let (tool, id) = first(rest)?;
        Some(Task { source: source.into(), id: std::str::from_utf8(id).ok()?.into(), tool: tool.into() })
    }

    fn sign(&self, caller: &str, said: &[u8]) -> hmac::Tag {
        hmac::sign(&self.key, &signed(caller, said))
    }
}

/// The parts, each so that it cannot run into the next.
fn signed(caller: &str, said: &[u8]) -> Vec<u8> {
    [&lengthened(caller), said].concat()
}

/// The text behind the length that `said` begins with, and the rest.
fn first(said: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = said.split_at_checked(size_of::<u16>())?;
    let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// A text behind its length. Names of callers, sources and tools are short.
fn lengthened(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_for_its_caller_only_and_cannot_be_made_elsewhere() {
        let tokens = Tokens::new(&[1; 32]);
        let task = Task { source: "files".into(), id: "task-1".into(), tool: "files_pack".into() };
        let token = tokens.seal("ann", &task);
        assert_eq!(token, tokens.seal("ann", &task), "the same each time");
        assert_eq!(tokens.open("ann", &token), Some(task));
        assert_eq!(tokens.open("bob", &token), None);
        assert_eq!(Tokens::new(&[2; 32]).open("ann", &token), None, "another process");
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            // The last character may hold bits that mean nothing; a decoder that accepts them gives the same bytes.
            if URL_SAFE_NO_PAD.decode(&changed).ok() != URL_SAFE_NO_PAD.decode(&token).ok() {
                assert_eq!(tokens.open("ann", &changed), None, "byte {at}");
            }
        }
        for bad in ["", "x", "task-1", &"A".repeat(TOKEN_BYTES_MAX + 1)] {
            assert_eq!(tokens.open("ann", bad), None);
        }
    }
}
