//! The API keys that say who calls over HTTP: their text, and what is kept of them. Who may come in by one is for the
//! transport to say.

pub mod key;
mod record;

pub use key::Key;
pub use record::{
    CALLER_PREFIX, KEYS_MAX, KeyEntry, KeyError, KeyRequest, USE_NOTED_MS, all, create, is_held, revoke,
    was_any,
};
