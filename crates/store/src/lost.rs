//! What was in the state folder once and is not any more.

use std::fmt;

/// What was in the state folder once and is not any more. As text it says what follows, and what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The database itself is gone or empty. If not, it was begun anew since.
    pub database: bool,
    /// API keys: whoever was let in by one is not, and nobody is let in without one.
    pub keys: bool,
    /// Kept secrets: what refers to one fails, and none is struck out of anything.
    pub secrets: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.database, "the state database toolcrib.db is gone or empty, and with it "),
            (
                !self.database,
                "the state database toolcrib.db was begun anew, and what was in the old one is gone: ",
            ),
            (self.keys, "the API keys, "),
            (self.secrets, "the kept secrets, "),
            (
                true,
                "the sign-ins to servers, approvals and grants, and what the tools of servers were when they were \
                 accepted; if you have a copy, stop every toolcrib and put it back",
            ),
            (
                self.keys,
                "; until there is a key again (`toolcrib keys create NAME`) nobody is let in over HTTP, unless \
                 server.open_on_loopback = true",
            ),
            (
                self.secrets,
                "; what the secrets said is no longer struck out of anything until it is set again \
                 (`toolcrib secrets set NAME`)",
            ),
            (
                self.database,
                "; what servers offer now counts as seen for the first time (`toolcrib mcp trust` shows it)",
            ),
        ];
        parts.iter().filter(|(holds, _)| *holds).try_for_each(|(_, part)| out.write_str(part))
    }
}
