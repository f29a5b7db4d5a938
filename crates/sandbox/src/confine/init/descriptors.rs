//! Open files: the program gets its three streams, the one that it tells more on if it has been promised that, and nothing else.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use rustix::io::FdFlags;
use rustix::process::ioctl_tiocsctty;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::given::Init;

/// Where a program tells more.
pub(super) const TOLD: RawFd = 3;

/// Everything else closes when the program begins; until then a failing step can still be said.
pub(super) fn keep_streams(init: &Init) -> io::Result<()> {
    let [stdin, stdout, stderr, told] = &init.streams;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    #[expect(unsafe_code, reason = "neither std nor rustix has `close_range`")]
    // SAFETY: it closes nothing now and touches no memory.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if init.order.has_terminal {
        // Its session has none yet. Without one nobody could interrupt it, and shells would manage no jobs.
        ioctl_tiocsctty(stdin)?;
    }
    if init.order.tells { open_as_told(told) } else { Ok(()) }
}

/// Makes `told` the descriptor 3 of the program. What is at 3 by now is a file that only init needs.
fn open_as_told(told: &OwnedFd) -> io::Result<()> {
    if told.as_raw_fd() == TOLD {
        return Ok(rustix::io::fcntl_setfd(told, FdFlags::empty())?);
    }
    #[expect(unsafe_code, reason = "rustix puts a file only in the place of one that it owns")]
    // SAFETY: it touches no memory; nobody in this process, which becomes the program, uses what is at 3.
    let result = unsafe { libc::dup3(told.as_raw_fd(), TOLD, 0) };
    if result == TOLD { Ok(()) } else { Err(io::Error::last_os_error()) }
}
