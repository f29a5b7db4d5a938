//! A child of a process that has one thread, and its end.

use std::ffi::{c_int, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// What a child may use of the stack until it is another program. Only what it touches is there.
const STACK_BYTES: usize = 512 * 1024;

/// Where a stack must begin.
const STACK_ALIGNMENT: usize = 16;

/// What a child does; its exit code, if it comes to that.
type Life<'l> = &'l dyn Fn() -> c_int;

/// Has a child do what makes it another program, and waits until it has become that or has ended. It works in our own memory,
/// since a copy of that takes as long as all the rest, and owns nothing of it: it gets a reference, and what it allocates stays.
pub(super) fn become_program(life: Life<'_>) -> io::Result<Pid> {
    let mut stack = vec![0_u8; STACK_BYTES];
    let mut life = life;
    let argument = (&raw mut life).cast::<c_void>();
    let top = stack.as_mut_ptr_range().end;
    #[expect(unsafe_code, reason = "neither std nor rustix makes a child in the same memory")]
    // SAFETY: with CLONE_VFORK this process stands still until the child has its own memory or is gone, so `life` and the
    // stack outlive its use of them, and nobody else uses what it changes. The stack is aligned and large enough.
    let child = unsafe {
        let top = top.sub(top.addr() % STACK_ALIGNMENT).cast::<c_void>();
        libc::clone(live, top, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, argument)
    };
    let child = if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child) };
    child.and_then(|child| Pid::from_raw(child).ok_or_else(|| io::ErrorKind::NotFound.into()))
}

extern "C" fn live(argument: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "what the system hands to a child is a pointer")]
    // SAFETY: `become_program` made it of a `Life` that is still there.
    let life = unsafe { *argument.cast::<Life<'_>>() };
    exit(catch_unwind(AssertUnwindSafe(life)).unwrap_or(1))
}

/// The child gets `None`. To be called in a process with one thread only.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "neither std nor rustix forks")]
    // SAFETY: the process has one thread, as callers promise, so the child's copy of its memory holds no lock of another.
    let child = unsafe { libc::fork() };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(child)) }
}

/// Ends a child. What a process does at its end, such as closing what it keeps, is for the original to do.
pub(super) fn exit(code: i32) -> ! {
    #[expect(unsafe_code, reason = "std only ends a process with all that it does at its end")]
    // SAFETY: it touches no memory, and does not come back.
    unsafe {
        libc::_exit(code)
    }
}
