//! That memory which was needed once goes back to the system. The GNU library raises, with each large buffer that is
//! freed, the size from which on a buffer gets pages of its own, up to 32 MiB: a few large messages at the same time
//! then leave a heap full of holes, and what it holds stays for as long as the program runs. A stack is never given back.

use std::ffi::c_void;

use rustix::mm::{Advice, madvise};
use rustix::process::getpid;
use rustix::thread::gettid;

/// Buffers from this size on get pages of their own, which go back when the buffer does, in bytes. What is kept between
/// messages is smaller, so no page is given back and asked for again with each of them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_PAGES_BYTES_MIN: core::ffi::c_int = 2 * 1024 * 1024;

/// How much may be free at the end of the heap before it goes back, in bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const FREE_AT_END_BYTES_MAX: core::ffi::c_int = 4 * 1024 * 1024;

/// Has large buffers given back to the system when they are freed. To be called before there are any; with another C
/// library there is nothing to do.
pub fn give_back_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// `M_TRIM_THRESHOLD` and `M_MMAP_THRESHOLD` of `malloc.h`.
        const SETTINGS: [(core::ffi::c_int, core::ffi::c_int); 2] =
            [(-1, FREE_AT_END_BYTES_MAX), (-3, OWN_PAGES_BYTES_MIN)];
        #[expect(unsafe_code, reason = "the allocator of the C library is set up by a function of it")]
        // SAFETY: this is how `malloc.h` declares it.
        unsafe extern "C" {
            safe fn mallopt(setting: core::ffi::c_int, value: core::ffi::c_int) -> core::ffi::c_int;
        }
        for (setting, value) in SETTINGS {
            // It refuses what it does not know, and then all stays as it was.
            let _ = mallopt(setting, value);
        }
    }
}

/// How far below the caller the stack is given back, in bytes: nothing that starts the program goes deeper.
const STACK_BYTES_MAX: usize = 512 * 1024;

/// How much of the stack below the caller stays, in bytes: what this function and the next ones need.
const STACK_LEFT_BYTES: usize = 16 * 1024;

/// No page is larger, in bytes; what is no multiple of a page is refused.
const PAGE_BYTES_MAX: usize = if cfg!(target_arch = "x86_64") { 4 * 1024 } else { 64 * 1024 };

/// Gives back what deeper calls have left of the main thread's stack; another thread's stays as it is.
pub fn give_back_stack() {
    // Below a thread's stack may lie another's. Below the main thread's is what it may still grow into.
    if gettid() != getpid() {
        return;
    }
    let here = 0u8;
    let high = (&raw const here).addr().saturating_sub(STACK_LEFT_BYTES) & !(PAGE_BYTES_MAX - 1);
    let low = high.saturating_sub(STACK_BYTES_MAX);
    let bottom = (&raw const here).with_addr(low).cast_mut().cast::<c_void>();
    #[expect(unsafe_code, reason = "memory is given back by its address")]
    // SAFETY: all of it is below this frame, where nothing lives; a later call finds zeros instead of what was left.
    // Where the stack is shorter, the system says so after it has given back what there is.
    let _ = unsafe { madvise(bottom, high - low, Advice::LinuxDontNeed) };
}
