//! The code that only a person knows. Once there is one, nothing is allowed without it, wherever the answer comes from.
//!
//! It is kept as Argon2id. Wrong tries are counted in the store, before the code is looked at, so that neither another
//! process nor one that is killed in between has more of them.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use serde::{Deserialize, Serialize};
use store::{Change, Kind, StoreError, replace, wait};

use super::Approvals;
use super::approval_store::{RACES_MAX, no_randomness};
use super::record::time;

/// Under which key the code is kept.
const KEY: &str = "code";

/// How long the salt is, in bytes.
const SALT_BYTES: usize = 16;

/// The shortest code, in characters.
pub const CODE_CHARS_MIN: usize = 4;

/// The longest one, in bytes.
pub const CODE_BYTES_MAX: usize = 256;

/// How many wrong tries cost no time.
const TRIES_FREE: u32 = 5;

/// The wait after those, in milliseconds; each further wrong try doubles it.
const WAIT_FIRST_MS: i64 = 30_000;

/// The longest wait, in milliseconds.
const WAIT_MAX_MS: i64 = 60 * 60 * 1000;

/// A code as somebody gives it. Shows nothing of itself.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Code(String);

impl Code {
    /// What was typed.
    pub fn new(text: impl Into<String>) -> Code {
        Code(text.into())
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(***)")
    }
}

/// Why a code is not taken.
#[derive(Debug, thiserror::Error)]
pub enum CodeFault {
    /// There is one, and none was given.
    #[error("to allow anything here takes the code that was set for approvals")]
    Needed,
    /// It is another one.
    #[error("the code is wrong")]
    Wrong,
    /// There were too many wrong ones.
    #[error("too many wrong codes were given; the next one is looked at after {}", time(*.until_ms))]
    Wait {
        /// When, in milliseconds since 1970.
        until_ms: i64,
    },
    /// It cannot be a code.
    #[error("a code has at least {CODE_CHARS_MIN} characters, and at most {CODE_BYTES_MAX} bytes")]
    Length,
    /// What is kept of it cannot be used.
    #[error("what is kept of the code for approvals cannot be read, so nothing is allowed by it")]
    Unreadable,
    /// The store does not do its work.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The code's hash with its parameters, in the PHC format.
    phc: String,
    /// How many wrong tries there were since the last good one.
    wrong: u32,
    /// Before when no code is looked at, in milliseconds since 1970.
    wait_until_ms: i64,
}

impl Approvals {
    /// Whether there is a code. Blocks on the disk.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_code(&self) -> Result<bool, StoreError> {
        Ok(wait(self.store.store.cell(Kind::ApprovalCode, KEY))?.is_some())
    }

    /// Passes whoever gives the code; everybody, if there is none. Blocks on the disk and takes its time.
    ///
    /// # Errors
    /// It is not the code, or cannot be looked at.
    pub fn check_code(&self, given: Option<&Code>) -> Result<(), CodeFault> {
        self.checked(given).map(drop)
    }

    /// The same, with the version of the record by then.
    fn checked(&self, given: Option<&Code>) -> Result<Option<u64>, CodeFault> {
        let store = &*self.store.store;
        let put = |version, kept: &Kept| {
            wait(replace(store, Change::put(Kind::ApprovalCode, KEY, Some(version), text(kept))))
        };
        for _ in 0..RACES_MAX {
            let Some(stored) = wait(store.cell(Kind::ApprovalCode, KEY))? else { return Ok(None) };
            let kept: Kept = serde_json::from_slice(&stored.value).map_err(|_| CodeFault::Unreadable)?;
            let given = given.ok_or(CodeFault::Needed)?;
            let now_ms = self.now_ms();
            if now_ms < kept.wait_until_ms {
                return Err(CodeFault::Wait { until_ms: kept.wait_until_ms });
            }
            let wrong = kept.wrong.saturating_add(1);
            let wait_until_ms = now_ms.saturating_add(wait_ms(wrong));
            let counted = Kept { wrong, wait_until_ms, phc: kept.phc.clone() };
            let Some(version) = put(stored.version, &counted)? else { continue };
            if !is_code(&kept.phc, given)? {
                return Err(CodeFault::Wrong);
            }
            let good = Kept { wrong: 0, wait_until_ms: 0, ..kept };
            // Whoever tries at the same time has counted theirs, and takes it back if it is good.
            return Ok(put(version, &good)?.or(Some(version)));
        }
        Err(StoreError::Busy.into())
    }

    /// Puts another code in place of the one there is, or none. Blocks on the disk and takes its time.
    ///
    /// # Errors
    /// `old` is not the code there is, or `new` cannot be one.
    pub fn set_code(&self, old: Option<&Code>, new: Option<&Code>) -> Result<(), CodeFault> {
        let phc = new.map(hashed).transpose()?;
        let version = self.checked(old)?;
        let record = phc.map(|phc| text(&Kept { phc, wrong: 0, wait_until_ms: 0 }));
        if version.is_none() && record.is_none() {
            return Ok(());
        }
        let change = Change {
            kind: Kind::ApprovalCode,
            key: KEY.to_owned(),
            expected: version,
            content: record.map(Into::into),
        };
        match wait(replace(&*self.store.store, change))? {
            Some(_) => Ok(()),
            None => Err(StoreError::Busy.into()),
        }
    }
}

/// How long nothing is looked at after so many wrong tries.
fn wait_ms(wrong: u32) -> i64 {
    match wrong.checked_sub(TRIES_FREE) {
        None => 0,
        Some(more) => WAIT_FIRST_MS.saturating_mul(1 << more.min(30)).min(WAIT_MAX_MS),
    }
}

fn hashed(Code(code): &Code) -> Result<String, CodeFault> {
    if code.chars().count() < CODE_CHARS_MIN || code.len() > CODE_BYTES_MAX {
        return Err(CodeFault::Length);
    }
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|_| no_randomness())?;
    // Its defaults are 19 MiB and two passes on one lane, the least that OWASP names for Argon2id.
    let hash = Argon2::default().hash_password_with_salt(code.as_bytes(), &salt);
    // Length, salt and parameters are within its bounds; what is left is memory.
    hash.map(|hash| hash.to_string()).map_err(|error| CodeFault::Store(StoreError::Database(Box::new(error))))
}

/// Whether a code is the one that was hashed, by the parameters that stand beside the hash.
fn is_code(phc: &str, Code(given): &Code) -> Result<bool, CodeFault> {
    let hash = PasswordHash::new(phc).map_err(|_| CodeFault::Unreadable)?;
    // Nobody's code is longer, and hashing it would cost.
    Ok(given.len() <= CODE_BYTES_MAX && Argon2::default().verify_password(given.as_bytes(), &hash).is_ok())
}

fn text(kept: &Kept) -> String {
    serde_json::to_string(kept).expect("plain text and numbers")
}
