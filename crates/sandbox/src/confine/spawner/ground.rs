//! `Ground`: where templates are made. It is a user namespace of its own, as root too, so that whoever makes one has no more rights
//! on the machine than any init: what the kernel refuses those it refuses here, such as a `/proc` where the machine's is
//! covered, and any of this in a changed root.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{DumpableBehavior, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::clone::user_namespace;
use crate::confine::fork::apart;

/// Everybody, as they are outside.
const ALL: &str = "0 0 4294967295";

pub(super) struct Ground {
    user: OwnedFd,
    /// The machine's mounts, for an ordinary user, who can take what an order shows only here. Root does that outside.
    machine: Option<OwnedFd>,
}

impl Ground {
    pub(super) fn make() -> io::Result<Ground> {
        let (uid, gid) = (getuid(), getgid());
        if uid.is_root() {
            return Ok(Ground { user: user_namespace(ALL, ALL)?, machine: None });
        }
        // Who has been in another user namespace does not own its files in /proc any more, nor does its child.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        let itself = |id: u32| format!("{id} {id} 1");
        let user = user_namespace(&itself(uid.as_raw()), &itself(gid.as_raw()))?;
        let mut machine = None;
        apart(0, &mut || {
            enter(&user, LinkNameSpaceType::User)?;
            apart(libc::CLONE_NEWNS, &mut || {
                machine = Some(own_mounts()?);
                Ok(())
            })
        })?;
        Ok(Ground { user, machine })
    }

    /// Goes there. There is no way back, so this is for a process that does nothing else.
    pub(super) fn enter(&self) -> io::Result<()> {
        enter(&self.user, LinkNameSpaceType::User)
    }

    /// The same, where an ordinary user may take mounts. Whether it is one.
    pub(super) fn enter_machine(&self) -> io::Result<bool> {
        self.enter()?;
        self.machine.as_ref().map_or(Ok(false), |machine| enter_mounts(machine).map(|()| true))
    }
}

pub(super) fn enter_mounts(namespace: &OwnedFd) -> io::Result<()> {
    enter(namespace, LinkNameSpaceType::Mount)
}

fn enter(namespace: &OwnedFd, kind: LinkNameSpaceType) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(kind))?)
}

/// The mount namespace that this process is in.
pub(super) fn own_mounts() -> io::Result<OwnedFd> {
    Ok(std::fs::File::open("/proc/self/ns/mnt")?.into())
}
