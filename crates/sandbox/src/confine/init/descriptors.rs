//! Open files: the program gets its three streams and nothing else.

use std::io;

use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::given::Init;

/// Everything else closes when the program begins; until then a failing step can still be said.
pub(super) fn keep_streams(init: &Init) -> io::Result<()> {
    let [stdin, stdout, stderr] = &init.streams;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    #[expect(unsafe_code, reason = "neither std nor rustix has `close_range`")]
    // SAFETY: it closes nothing now and touches no memory.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
