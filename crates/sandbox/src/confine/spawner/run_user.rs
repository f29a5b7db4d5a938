//! `RunUsers`: as root, a user number for each run that nobody else has. A program that ran as root would own root's
//! files, and the kernel does not count root's processes.

use std::io;

use rustix::io::Errno;
use rustix::process::Uid;

use crate::confine::mount::about;

/// The first of the numbers that no system gives to anybody: systemd keeps them free, containers begin elsewhere.
const FIRST: u32 = 0x7000_0000;

/// Process numbers are below this.
const PROCESSES_MAX: u32 = 1 << 22;

/// Programs at once. With as many for each process number below 2²², the numbers end exactly where those above 2³¹ begin,
/// which some programs take for negative.
const AT_ONCE_MAX: u32 = 64;

#[derive(Debug)]
pub(super) struct RunUsers {
    free: Vec<u32>,
    /// Why we may be nobody else, if so: root of a container may not be everybody.
    barred: Option<Errno>,
}

impl RunUsers {
    /// No other process has the same numbers as long as this one lives.
    pub(super) fn new() -> RunUsers {
        // What root's groups may do is no business of a confined program.
        let barred = rustix::thread::set_thread_groups(&[]).err();
        let first = FIRST + std::process::id() % PROCESSES_MAX * AT_ONCE_MAX;
        RunUsers { free: (first..first + AT_ONCE_MAX).rev().collect(), barred }
    }

    pub(super) fn take(&mut self) -> io::Result<u32> {
        if let Some(errno) = self.barred {
            return Err(errno.into());
        }
        let busy = format!("{AT_ONCE_MAX} confined programs run already");
        self.free.pop().ok_or_else(|| io::Error::other(busy))
    }

    pub(super) fn give_back(&mut self, user: u32) {
        self.free.push(user);
    }
}

/// Does `work` as `user`, who also owns the namespaces that are made meanwhile; root stays the real user, so that we
/// come back.
pub(super) fn as_user<T>(user: u32, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    become_user(user).map_err(about(format!("becoming user {user}")))?;
    let done = work();
    // A child comes here too; whoever it is, it stays as it is.
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        become_user(Uid::ROOT.as_raw())?;
    }
    done
}

fn become_user(user: u32) -> io::Result<()> {
    use rustix::process::Gid;
    let (root, group) = (Uid::ROOT, Gid::from_raw(user));
    if user == root.as_raw() {
        rustix::thread::set_thread_res_uid(root, root, root)?;
        return Ok(rustix::thread::set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?);
    }
    rustix::thread::set_thread_res_gid(Gid::ROOT, group, Gid::ROOT)?;
    Ok(rustix::thread::set_thread_res_uid(root, Uid::from_raw(user), root)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once_and_again_when_it_is_free() {
        let mut users = RunUsers { free: vec![FIRST + 1, FIRST], barred: None };
        assert_eq!((users.take().ok(), users.take().ok()), (Some(FIRST), Some(FIRST + 1)));
        assert!(users.take().is_err());
        users.give_back(FIRST + 1);
        assert_eq!(users.take().ok(), Some(FIRST + 1));
        users.barred = Some(Errno::PERM);
        users.give_back(FIRST);
        assert!(users.take().is_err());
    }
}
