//! A child of a process that has one thread, and its end.

use std::ffi::{c_int, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rustix::process::{Pid, WaitOptions, waitpid};

/// What a child may use of the stack. Only what it touches is there.
const STACK_BYTES: usize = 512 * 1024;

/// What a child does; its exit code, if it comes to that.
type Life<'l> = &'l mut dyn FnMut() -> c_int;

/// Has a child do what makes it another program, and waits until it has become that or has ended. It works in our own memory,
/// since a copy of that takes as long as all the rest, and owns nothing of it: it gets a reference, and what it allocates stays.
pub(super) fn become_program(life: Life<'_>) -> io::Result<Pid> {
    in_our_memory(0, life)
}

/// Has a child with these namespaces of its own do something in the same way, and waits until it has ended: what it enters and
/// becomes is not ours, but what it opens is.
pub(super) fn apart(namespaces: c_int, work: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut outcome = None;
    let child = in_our_memory(namespaces | libc::CLONE_FILES, &mut || {
        outcome = Some(work());
        0
    })?;
    waitpid(Some(child), WaitOptions::empty())?;
    outcome.unwrap_or_else(|| Err(io::Error::other("a helper was ended")))
}

fn in_our_memory(flags: c_int, life: Life<'_>) -> io::Result<Pid> {
    let stack = Stack::new()?;
    let mut life = life;
    let argument = (&raw mut life).cast::<c_void>();
    #[expect(unsafe_code, reason = "neither std nor rustix makes a child in the same memory")]
    // SAFETY: with CLONE_VFORK this process stands still until the child has its own memory or is gone, so `life` and the
    // stack outlive its use of them, and nobody else uses what it changes. The stack is aligned and large enough.
    let child = unsafe {
        let flags = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(live, stack.top(), flags, argument)
    };
    let child = if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child) };
    child.and_then(|child| Pid::from_raw(child).ok_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Pages of its own, above one that nobody may touch: whoever needs more ends there. Not of the heap, which would fill them
/// with zeros, and there they would be.
struct Stack {
    lowest: *mut c_void,
    bytes: usize,
}

impl Stack {
    fn new() -> io::Result<Stack> {
        let page = rustix::param::page_size();
        let bytes = STACK_BYTES + page;
        let (rights, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK);
        #[expect(unsafe_code, reason = "neither std nor rustix, as it is built here, has `mmap`")]
        // SAFETY: it is put where nothing is.
        let lowest = unsafe { libc::mmap(ptr::null_mut(), bytes, rights, kind, -1, 0) };
        if lowest == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Stack { lowest, bytes };
        #[expect(unsafe_code, reason = "neither std nor rustix, as it is built here, has `mprotect`")]
        // SAFETY: these pages are ours, and nobody has used them yet.
        let result = unsafe { libc::mprotect(lowest, page, libc::PROT_NONE) };
        if result == 0 { Ok(stack) } else { Err(io::Error::last_os_error()) }
    }

    /// Where it begins; it is a page's end, and so aligned.
    fn top(&self) -> *mut c_void {
        self.lowest.wrapping_byte_add(self.bytes)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "neither std nor rustix, as it is built here, has `munmap`")]
        // SAFETY: it was made by `new`, and whoever worked on it has other memory now or is gone.
        let _ = unsafe { libc::munmap(self.lowest, self.bytes) };
    }
}

extern "C" fn live(argument: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "what the system hands to a child is a pointer")]
    // SAFETY: `in_our_memory` made it of a `Life` that is still there, and stands still meanwhile.
    let life = unsafe { &mut *argument.cast::<Life<'_>>() };
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
