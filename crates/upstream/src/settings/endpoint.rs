//! `Endpoint`: where an upstream is.

use std::fmt;
use std::path::PathBuf;

use http::{HeaderMap, Uri};
use sandbox::Program;

use crate::config::shown_url;

/// Where an upstream is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A program to start.
    Program(Program),
    /// A server that listens at a Unix socket.
    Socket(PathBuf),
    /// A server that runs already, and the headers it wants.
    Address {
        url: Uri,
        headers: HeaderMap,
        dialect: Dialect,
        /// How to sign in when it asks for that; nothing if we never do.
        sign_in: Option<Box<oauth::Settings>>,
    },
}

/// What is spoken at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Whatever the server understands: Streamable HTTP is tried first.
    Any,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, as before 2025-03-26.
    Sse,
}

impl Endpoint {
    /// How it is reached, as far as that is known before it is.
    pub(crate) fn transport_name(&self) -> &'static str {
        match self {
            Endpoint::Program(_) => "stdio",
            Endpoint::Socket(_) => "socket",
            Endpoint::Address { dialect: Dialect::Any | Dialect::Streamable, .. } => "http",
            Endpoint::Address { dialect: Dialect::Sse, .. } => "sse",
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Program(program) => f
                .debug_struct("Program")
                .field("command", &program.command)
                .field("args", &program.args)
                .field("env", &program.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
                .field("cwd", &program.cwd)
                .finish(),
            Endpoint::Socket(path) => f.debug_tuple("Socket").field(path).finish(),
            Endpoint::Address { url, headers, dialect, sign_in } => f
                .debug_struct("Address")
                .field("url", &shown_url(&url.to_string()))
                .field("dialect", dialect)
                .field("sign_in", sign_in)
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}
