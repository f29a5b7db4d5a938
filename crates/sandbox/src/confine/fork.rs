//! A copy of a process that has one thread.

use std::io;

use rustix::process::Pid;

/// The child gets `None`. To be called in a process with one thread only.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "neither std nor rustix forks")]
    // SAFETY: the process has one thread, as callers promise, so the child's copy of its memory holds no lock of another.
    let child = unsafe { libc::fork() };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(child)) }
}
