//! `Streams`: what a program reads from and prints to. A terminal is a pair that is made outside: the program has its own end,
//! under its name and as `/dev/tty`, and no way to any other terminal or to make one.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;

use rustix::fs::{FileType, stat};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize, ttyname};

use super::order::OrderedMount;

/// The size of a terminal. It stays so: nobody looks at it.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// The terminal that controls whoever opens it, for prompts that do not trust the streams.
const CONTROLLING: &str = "/dev/tty";

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

/// What a program is shown so that its end has a name: that name, and the one of the terminal that controls it. Where the machine
/// shows us neither, as without `/dev/pts`, it has none.
pub(super) fn names(theirs: impl AsFd) -> Vec<OrderedMount> {
    // It is looked up, so it is this terminal's and no other's.
    let named = ttyname(theirs, Vec::new()).ok().map(|name| OsString::from_vec(name.into_bytes()));
    let is_device = |at: &&str| {
        stat(*at).is_ok_and(|there| FileType::from_raw_mode(there.st_mode) == FileType::CharacterDevice)
    };
    let named = named.map(|at| OrderedMount { is_owned: true, ..OrderedMount::device(at) });
    let controlling = Some(CONTROLLING).filter(is_device).map(|at| OrderedMount::device(at.into()));
    named.into_iter().chain(controlling).collect()
}
