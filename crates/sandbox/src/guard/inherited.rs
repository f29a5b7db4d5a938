//! The file descriptors a guard was born with: one is kept, the rest must not reach the command.

#![expect(clippy::disallowed_methods, reason = "lists the process's own descriptors and opens /dev/null")]

use std::fs::{File, read_dir};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// Closes every descriptor above 2 but `kept`, which is returned and will not pass an exec.
pub(super) fn keep_only(kept: RawFd) -> io::Result<OwnedFd> {
    // The list is complete, and its own descriptor closed, before the first is touched.
    let numbers: Vec<RawFd> = read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        if number > 2 && number != kept {
            drop(adopt(number));
        }
    }
    let kept = adopt(kept).ok_or(io::Error::other("the lifeline is not open"))?;
    fcntl_setfd(&kept, FdFlags::CLOEXEC)?;
    Ok(kept)
}

/// Lets go of the command's input and output, so that their ends are seen when the command closes
/// them. `/dev/null` takes the places, or the next file opened would; stderr stays for last words.
pub(super) fn release_input_and_output() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// Takes an inherited descriptor, if it is open.
#[expect(unsafe_code, reason = "an inherited descriptor is only known by its number")]
fn adopt(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: the borrow ends within this statement, and asking about a closed number is an error.
    fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).ok()?;
    // SAFETY: it is open, and nothing in this process owns it: a guard calls this once for each
    // number, first of all, when it has opened nothing itself.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}
