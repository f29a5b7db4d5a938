//! `Rules`: by which a request is made.

use super::super::outgoing::Outgoing;

/// By which rules a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    Legacy,
    Modern,
    /// Modern, to find out whether the server is.
    Probe,
}

impl Rules {
    pub(super) fn of(outgoing: &Outgoing<'_>) -> Rules {
        match (outgoing.modern, outgoing.method) {
            (false, _) => Rules::Legacy,
            (true, "server/discover") => Rules::Probe,
            (true, _) => Rules::Modern,
        }
    }
}
