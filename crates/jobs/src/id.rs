//! `JobId`: the name of a job, which nobody guesses.

use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

/// Random bytes of an id.
const BYTES: usize = 16;

/// The name of a job: 128 random bits in hexadecimal digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct JobId(Arc<str>);

impl JobId {
    /// A new one.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new() -> Result<JobId, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(JobId(HEXLOWER.encode(&bytes).into()))
    }

    /// The id that is spelt so, if it can be one.
    pub fn parse(text: &str) -> Option<JobId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 2 * BYTES && text.bytes().all(is_digit)).then(|| JobId(text.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its text, shared.
    pub fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_new_makes_and_nothing_else() {
        let id = JobId::new().expect("randomness");
        assert_eq!(JobId::parse(id.as_str()), Some(id.clone()));
        assert_ne!(JobId::new().expect("randomness"), id);
        for wrong in
            ["", "a", &id.as_str()[1..], &id.as_str().to_uppercase().replace('0', "A"), &format!("{id}0")]
        {
            assert_eq!(JobId::parse(wrong), None, "{wrong}");
        }
    }
}
