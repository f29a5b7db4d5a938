//! A child in namespaces of its own.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::process::{Pid, WaitOptions, getgid, getuid, waitpid};

use crate::confine::fork::exit;
use crate::confine::init::{root, user};
use crate::confine::layer::Layer;
use crate::confine::order::Order;

/// The namespaces of an init, in the order in which one that is missing is looked for.
const NAMESPACES: [(Layer, i32); 7] = [
    (Layer::UserNamespace, libc::CLONE_NEWUSER),
    (Layer::PidNamespace, libc::CLONE_NEWPID),
    (Layer::MountNamespace, libc::CLONE_NEWNS),
    (Layer::NetworkNamespace, libc::CLONE_NEWNET),
    (Layer::IpcNamespace, libc::CLONE_NEWIPC),
    (Layer::UtsNamespace, libc::CLONE_NEWUTS),
    (Layer::CgroupNamespace, libc::CLONE_NEWCGROUP),
];

/// On which side of a clone we are.
pub(super) enum Side {
    Child,
    Parent { child: Pid, handle: OwnedFd },
}

/// Whose child one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Us,
    /// As we are.
    Ours,
}

/// The child has all namespaces but those in `without`.
pub(super) fn init(without: &[Layer], parent: Parent) -> io::Result<Side> {
    let wanted = NAMESPACES.iter().filter(|(layer, _)| !without.contains(layer));
    clone(wanted.fold(0, |flags, (_, flag)| flags | flag), parent)
}

/// A user namespace with these maps of users and groups.
pub(super) fn user_namespace(users: &str, groups: &str) -> io::Result<OwnedFd> {
    let (mut wait, go) = io::pipe()?;
    match clone(libc::CLONE_NEWUSER, Parent::Us)? {
        Side::Child => {
            drop(go);
            // The end of the pipe is all that it waits for.
            let _ = wait.read(&mut [0]);
            exit(0)
        }
        Side::Parent { child, .. } => {
            let of_child = |file: &str| format!("/proc/{}/{file}", child.as_raw_pid());
            let made = fs::write(of_child("setgroups"), "deny")
                .and_then(|()| fs::write(of_child("uid_map"), users))
                .and_then(|()| fs::write(of_child("gid_map"), groups))
                .and_then(|()| fs::File::open(of_child("ns/user")));
            drop(go);
            waitpid(Some(child), WaitOptions::empty())?;
            Ok(made?.into())
        }
    }
}

/// Which namespace cannot be made, after all together could not: each is tried with those before it.
pub(super) fn missing(order: &Order) -> Result<Vec<Layer>, (Layer, io::Error)> {
    let (mut flags, mut without) = (0, Vec::new());
    for (layer, flag) in NAMESPACES {
        match try_out(flags | flag) {
            Ok(()) => flags |= flag,
            Err(_) if order.does_without(layer) => without.push(layer),
            Err(error) => return Err((layer, error)),
        }
    }
    Ok(without)
}

fn try_out(flags: i32) -> io::Result<()> {
    in_child(flags, || Ok(())).map(drop)
}

/// Whether a user namespace can be made in which we have rights: some systems let everybody make one, and have it give none.
pub(super) fn gives_rights() -> bool {
    let ourselves = (getuid().as_raw(), getgid().as_raw());
    let made = in_child(libc::CLONE_NEWUSER | libc::CLONE_NEWNS, || {
        user::map(ourselves)?;
        root::part_from_others()
    });
    made.is_ok_and(|code| code == Some(0))
}

/// How `work` ended in a child with these namespaces.
fn in_child(flags: i32, work: impl FnOnce() -> io::Result<()>) -> io::Result<Option<i32>> {
    match clone(flags, Parent::Us)? {
        Side::Child => exit(i32::from(work().is_err())),
        Side::Parent { child, .. } => {
            let ended = waitpid(Some(child), WaitOptions::empty())?;
            Ok(ended.and_then(|(_, status)| status.exit_status()))
        }
    }
}

fn clone(flags: i32, parent: Parent) -> io::Result<Side> {
    let mut handle: RawFd = -1;
    let (of_parent, exit_signal) = match parent {
        Parent::Us => (0, libc::SIGCHLD as u64),
        // Its end is told as ours will be.
        Parent::Ours => (libc::CLONE_PARENT, 0),
    };
    let arguments = libc::clone_args {
        flags: u64::from((flags | of_parent | libc::CLONE_PIDFD).unsigned_abs()),
        pidfd: (&raw mut handle).expose_provenance() as u64,
        child_tid: 0,
        parent_tid: 0,
        exit_signal,
        stack: 0,
        stack_size: 0,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: 0,
    };
    #[expect(unsafe_code, reason = "neither std nor rustix has `clone3`")]
    // SAFETY: the structure is of the size that is said and outlives the call, `handle` too. Without CLONE_VM this is
    // `fork`: the child has a copy of all memory, and this process has one thread, so no lock is held by another.
    let child =
        unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    if child == 0 {
        return Ok(Side::Child);
    }
    let number = i32::try_from(child).ok().filter(|number| *number > 0);
    let Some(child) = number.and_then(Pid::from_raw) else { return Err(io::Error::last_os_error()) };
    #[expect(unsafe_code, reason = "the kernel hands the new handle over as a number")]
    // SAFETY: the call succeeded, so this is an open file that nobody else owns.
    let handle = unsafe { OwnedFd::from_raw_fd(handle) };
    Ok(Side::Parent { child, handle })
}
