//! Pages of the web as a real browser shows them: Chromium in its profile of the sandbox, spoken to in the DevTools protocol
//! over two pipes. There is no port that others could use.
//!
//! One browser works for one call at a time, and only ever for calls of one caller with the same rules about hosts. Each call
//! has a browser context of its own, which is gone with it.

mod browsers;
mod connection;
mod error;
mod frame;
mod key;
mod message;
mod opening;
mod page;
mod program;
mod reading;
mod running;
mod seen;
mod tab;
mod turn;

pub use browsers::{Browsers, Wanted};
pub use error::BrowserError;
pub use key::Key;
pub use page::{Page, Visit};
pub use turn::destination;
