//! Calls that go on as tasks, where client and server are of different eras.
//!
//! Tasks of 2025-11-25 belong to the session in which they were begun, ask by requests of the server, and keep their
//! result for a request of its own; those of the modern extension are told in one answer all that there is to tell. A
//! client of the extension gets a task of 2025-11-25 in its own form (`bridged`). For every other client a task is followed
//! to its end within the call (`legacy`, `modern`), so that nobody else needs to know.

mod bridged;
mod following;
mod legacy;
mod modern;
mod shape;
mod status;

pub(crate) use bridged::{begin, unknown};
pub(crate) use legacy::{TaskSupport, can_be_given, declared, follow as follow_legacy};
pub(crate) use modern::{declaring, follow as follow_modern, is_demanded, resume};
