//! `ServerIdentity`: what a server says of itself when it is met, in either era.

use wire::message::Text;
use wire::object::Object;

pub(crate) use wire::initialize::Welcome as ServerIdentity;

/// What it declares under `name`, if that is an object.
pub(super) fn capability<'i>(identity: &'i ServerIdentity, name: &str) -> Option<Object<'i>> {
    identity.capabilities.as_ref().and_then(Text::object)?.object(name)
}
