//! `Streams`: what a program reads from and prints to. A terminal is a pair that is made outside: the program has its own end,
//! and no way to any other terminal or to make one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The size of a terminal. It stays so: nobody looks at it.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// What a program has as stdin, stdout and stderr.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// A pipe each.
    #[default]
    Apart,
    /// The same, but what it prints on stderr comes on stdout, in the order in which it prints.
    Merged,
    /// A pseudo-terminal of 80 columns and 24 rows, which is the one that controls it. What it prints comes on stdout.
    Terminal,
}

/// Our end of a new terminal, and the program's.
pub(super) fn terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    // Whoever has none would get it as their own.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    tcsetwinsize(&ours, Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })?;
    Ok((ours, theirs))
}
