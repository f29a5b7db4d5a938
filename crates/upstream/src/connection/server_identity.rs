//! `ServerIdentity`: what a server says of itself when it is met, in either era.

use wire::Revision;
use wire::initialize::{Peer, Welcome};
use wire::message::Text;
use wire::object::Object;

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerIdentity {
    /// The revision spoken with it.
    pub revision: Revision,
    /// Its `ServerCapabilities` object; nothing if it sent none.
    pub capabilities: Option<Text>,
    /// Who it says it is.
    pub server: Peer,
    /// What it tells models about its use.
    pub instructions: Option<String>,
}

impl From<Welcome> for ServerIdentity {
    fn from(welcome: Welcome) -> ServerIdentity {
        let Welcome { revision, capabilities, server, instructions } = welcome;
        ServerIdentity { revision, capabilities, server, instructions }
    }
}

impl ServerIdentity {
    /// What it declares under `name`, if that is an object.
    pub(crate) fn capability(&self, name: &str) -> Option<Object<'_>> {
        self.capabilities.as_ref().and_then(Text::object)?.object(name)
    }

    /// True if it declares `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.capability(name).is_some()
    }

    /// True if it declares the mark `mark` of `name`, such as `listChanged` of `tools`.
    pub(crate) fn has_mark(&self, name: &str, mark: &str) -> bool {
        self.capability(name).and_then(|declared| declared.get(mark)) == Some("true")
    }
}
