//! Who is asking. How a caller proved to be who they are is the server's affair; here they are known.

use std::sync::Arc;

use crate::scope::Scopes;

/// One known caller. Cloning copies no text.
#[derive(Debug, Clone)]
pub struct Caller {
    id: Arc<str>,
    kind: CallerKind,
    scopes: Scopes,
    via: Via,
}

/// What sort of caller it is; the default permissions differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallerKind {
    /// The person who started the program, or an agent working for them on the same machine.
    LocalUser,
}

/// The door a caller came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// MCP over standard input and output.
    Stdio,
    /// MCP over a Unix socket.
    Socket,
    /// MCP over HTTP.
    Http,
    /// The program's own command line.
    CommandLine,
}

impl Caller {
    /// The local user: holds every scope; what they may do without asking is the policy's decision.
    pub fn local_user(via: Via) -> Self {
        Self { id: Arc::from("local"), kind: CallerKind::LocalUser, scopes: Scopes::all(), via }
    }

    /// The same caller, holding these scopes only.
    #[must_use]
    pub fn with_scopes(self, scopes: Scopes) -> Self {
        Self { scopes, ..self }
    }

    /// The name the audit book knows this caller by.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// What sort of caller this is.
    pub fn kind(&self) -> CallerKind {
        self.kind
    }

    /// What this caller was granted.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The door this caller came through.
    pub fn via(&self) -> Via {
        self.via
    }
}

impl Via {
    /// The word for logs and the audit book.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Socket => "socket",
            Self::Http => "http",
            Self::CommandLine => "command_line",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_user_holds_every_scope_until_narrowed() {
        let caller = Caller::local_user(Via::Stdio);
        assert!(caller.scopes().contains("network"));
        let narrowed =
            caller.clone().with_scopes([crate::Scope::parse("network").unwrap()].into_iter().collect());
        assert!(narrowed.scopes().contains("network"));
        assert!(!narrowed.scopes().contains("run_tests"));
        assert!(Arc::ptr_eq(caller.id(), narrowed.id()), "a clone shares the name");
        assert_eq!((narrowed.via(), narrowed.kind()), (Via::Stdio, CallerKind::LocalUser));
    }
}
