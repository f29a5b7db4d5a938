//! Floors: programs that do the least that is possible, so that a ratio to them says what a server adds.
//!
//! The programs are in `bin/`; here is what they share. No async runtime and no JSON library.

#![forbid(unsafe_code)]

pub mod argument;
pub mod gateway_loop;
pub mod http_loop;
pub mod json_members;
pub mod mcp_answers;
pub mod stdio_loop;
