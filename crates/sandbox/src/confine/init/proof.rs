//! What an init looks at that `bwrap` has started: whether each layer stands that `bwrap` was to make. Nothing is believed of
//! `bwrap`: what is in its place may be another program, or an older one that passes over what it does not know.

pub(super) mod entries;
pub(super) mod mounts;

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, getpid, setsid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, capability_is_in_ambient_set, capability_is_in_bounding_set,
};

use super::given::Init;
use super::privileges::CAPABILITIES_MAX;
use crate::confine::plan::{Plan, namespaces};

/// All inside ends with us, and nothing outside can be named.
pub(super) fn is_first(init: &Init) -> io::Result<()> {
    if getpid() != Pid::INIT {
        return refuse("init is not the first process of its namespace");
    }
    is_apart(init, "pid")?;
    // A signal to a process group finds its members in whatever namespace they are.
    setsid()?;
    Ok(())
}

/// The namespace of this kind is another than the one outside.
pub(super) fn is_apart(init: &Init, kind: &str) -> io::Result<()> {
    let of = |all: &[(String, u64)]| all.iter().find(|(name, _)| name == kind).map(|(_, number)| *number);
    let (outside, inside) = (of(&plan(init)?.outside), of(&namespaces()?));
    match (outside, inside) {
        (Some(outside), Some(inside)) if outside != inside => Ok(()),
        _ => refuse("bwrap left init in the namespace outside"),
    }
}

/// By trying: it does not matter what forbids it.
pub(super) fn has_no_namespaces(_: &Init) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "rustix cannot know whether open files are shared, which this does not change"
    )]
    // SAFETY: open files are not unshared.
    let made = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) };
    match made {
        Err(Errno::PERM | Errno::ACCESS | Errno::NOSPC) => Ok(()),
        Err(errno) => Err(errno.into()),
        Ok(()) => refuse("a user namespace can be made inside"),
    }
}

/// None can be dropped by somebody who has none.
pub(super) fn has_no_capabilities(_: &Init) -> io::Result<()> {
    let ours = capabilities(None)?;
    let mut all = ours.effective | ours.permitted | ours.inheritable;
    for bit in 0..CAPABILITIES_MAX {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(one) {
            // This kernel knows no more.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno.into()),
            Ok(is_there) if is_there || capability_is_in_ambient_set(one)? => all |= one,
            Ok(_) => {}
        }
    }
    if all.is_empty() { Ok(()) } else { refuse(format!("bwrap left init the capabilities {:x}", all.bits())) }
}

fn plan(init: &Init) -> io::Result<&Plan> {
    init.plan.as_ref().ok_or(io::ErrorKind::NotFound.into())
}

fn refuse<T>(why: impl Into<String>) -> io::Result<T> {
    Err(io::Error::other(why.into()))
}
