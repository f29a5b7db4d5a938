//! Other MCP clients: where each keeps its servers, and in which form, to take them over from there and to write a server
//! in. The list of clients is `known.rs`.

mod client;
mod client_files;
mod entry;
mod fields;
mod form;
mod known;
mod origin;
mod scorpiox;
mod server;
mod variables;
mod without;

pub use client::{Client, FileChange, FoundServer};
pub use client_files::{client, client_of, read};
pub use form::{ClientEntry, Form, line_end, not_toml, to_json};
pub use known::CLIENTS;
pub use origin::{ClientFile, Origin, Surroundings, home};
pub use scorpiox::{ScorpioxSetting, ScorpioxSettings};
pub use server::{Oauth, Server};
pub use variables::Findings;
pub use without::{Comment, without_toml};
