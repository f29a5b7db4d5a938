//! What a command says of an audit log that cannot be read.

use terminal::Trouble;

pub(super) fn unreadable(error: impl std::fmt::Display) -> Trouble {
    Trouble::Failed(format!("the audit log cannot be read: {error}"))
}
