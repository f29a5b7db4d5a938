//! What init and program lose for good.

use std::io;

use rustix::io::Errno;
use rustix::system::sethostname;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::given::{Empty, Init};
use crate::confine::mount::about;

const HOST_NAME: &[u8] = b"sandbox";

/// Bits of capabilities that a kernel may know.
pub(super) const CAPABILITIES_MAX: u32 = 64;

pub(super) fn name_host(_: &Empty) -> io::Result<()> {
    Ok(sethostname(HOST_NAME)?)
}

/// The limit holds for this user namespace and those below it. The new root is the working folder still.
pub(super) fn forbid_namespaces(_: &Empty) -> io::Result<()> {
    let path = "proc/sys/user/max_user_namespaces";
    std::fs::write(path, "0").map_err(about(path))
}

/// What is executed gets none. Init keeps its own until all is set up.
pub(super) fn bound(_: &Empty) -> io::Result<()> {
    for bit in 0..CAPABILITIES_MAX {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Ok(()) => {}
            // This kernel knows no more.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(clear_ambient_capability_set()?)
}

pub(super) fn drop_capabilities(_: &Init) -> io::Result<()> {
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

pub(super) fn forbid_new<T>(_: &T) -> io::Result<()> {
    Ok(set_no_new_privs(true)?)
}
