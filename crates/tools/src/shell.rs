//! Commands for bash: one that is waited for, and those that go on in the background.

pub(crate) mod background;
pub(crate) mod bash;
mod command;
pub(crate) mod kill;
pub(crate) mod list;
mod output;
pub(crate) mod overwritten;
mod ran;
pub(crate) mod read;
mod run;
mod teller;
