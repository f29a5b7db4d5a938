//! Having the disk begin with what was written, while the processor does something else.

use std::fs::File;
use std::os::fd::AsRawFd as _;

/// What is shorter is on the disk sooner than it is asked for, in bytes.
const BEGUN_BYTES_MIN: usize = 64 * 1024;

/// Has the disk begin with the first `bytes` of a file. Promises nothing: whoever must know that they are there syncs. A thread that
/// hashes meanwhile was measured: it gains no more, and less where the other processors have work.
pub(super) fn begin_writing(file: &File, bytes: usize) {
    let Ok(length) = libc::off64_t::try_from(bytes) else { return };
    if bytes >= BEGUN_BYTES_MIN {
        #[expect(unsafe_code, reason = "neither std nor rustix has `sync_file_range`")]
        // SAFETY: the descriptor is open for the call, which takes numbers alone.
        let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, length, libc::SYNC_FILE_RANGE_WRITE) };
    }
}
