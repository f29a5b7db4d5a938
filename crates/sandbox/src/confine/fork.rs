//! A copy of a process that has one thread, and its end.

use std::io;

use rustix::process::Pid;

/// The child gets `None`. To be called in a process with one thread only.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "neither std nor rustix forks")]
    // SAFETY: the process has one thread, as callers promise, so the child's copy of its memory holds no lock of another.
    let child = unsafe { libc::fork() };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(child)) }
}

/// Ends a copy. What a process does at its end, such as closing what it keeps, is for the original to do.
pub(super) fn exit(code: i32) -> ! {
    #[expect(unsafe_code, reason = "std only ends a process with all that it does at its end")]
    // SAFETY: it touches no memory, and does not come back.
    unsafe {
        libc::_exit(code)
    }
}
