//! `Children`: wakes init when one of its children has ended, without a handler that would have to run first.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// Readable when a child has ended since it was last read.
pub(super) struct Children(OwnedFd);

impl Children {
    /// From here on no handler in this process hears of it. To be made after what is to hear of its own children was
    /// started.
    pub(super) fn watch() -> io::Result<Children> {
        #[expect(unsafe_code, reason = "neither std nor rustix has `signalfd`")]
        // SAFETY: the set is made before it is used and outlives the calls; the new file belongs to nobody else.
        unsafe {
            let mut signals = std::mem::zeroed();
            libc::sigemptyset(&raw mut signals);
            libc::sigaddset(&raw mut signals, libc::SIGCHLD);
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let file = libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if file < 0 { Err(io::Error::last_os_error()) } else { Ok(Children(OwnedFd::from_raw_fd(file))) }
        }
    }

    /// Forgets who has ended: what comes later wakes again.
    pub(super) fn read(&self) -> io::Result<()> {
        match rustix::io::read(&self.0, &mut [0; size_of::<libc::signalfd_siginfo>()]) {
            // Many ends are one signal.
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Children {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
