//! Less to copy: a clone copies the page tables of all memory that its process has written. Of our 3 MB most are addresses that
//! the loader has filled in and nobody writes again (the linker's `GNU_RELRO`). In a file without a name they are as any code
//! is: a copy finds there what it needs, and nothing is copied.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::ptr;
use std::slice;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// Where memory begins, and how many bytes it has.
type Pages = (usize, usize);

/// Puts what the loader has filled in and then closed for writing into a file. Where that cannot be, copies take longer. To be
/// called in a process with one thread.
pub(super) fn share() -> io::Result<()> {
    let Some((start, bytes)) = filled_in() else { return Ok(()) };
    let mut file = File::from(memfd_create("constants", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    let start = ptr::with_exposed_provenance_mut::<c_void>(start);
    #[expect(unsafe_code, reason = "what the loader has filled in is known by its address alone")]
    // SAFETY: the program's own headers say that these whole pages are its own; they are there as long as it, and nobody
    // writes them since the loader has closed them.
    let content = unsafe { slice::from_raw_parts(start.cast::<u8>().cast_const(), bytes) };
    file.write_all(content)?;
    // Whoever might have opened it meanwhile, by our number, cannot write it any more.
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    #[expect(unsafe_code, reason = "neither std nor rustix, as it is built here, has `mmap`")]
    // SAFETY: what is put there is what was there, byte for byte, and can be written no more than before. Nobody can write the
    // file any more. A copy that is written would be the writer's own.
    let put = unsafe {
        let (rights, kind) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_FIXED);
        libc::mmap(start, bytes, rights, kind, file.as_raw_fd(), 0)
    };
    if put == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The pages of this program that its loader fills in and then closes for writing.
fn filled_in() -> Option<Pages> {
    let mut found = None;
    #[expect(unsafe_code, reason = "neither std nor rustix tells of a program's own headers")]
    // SAFETY: `look` takes what `found` is, which outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast::<c_void>())
    };
    found
}

/// Looks at the first object alone, which is the program.
extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "what the system hands over is pointers")]
    // SAFETY: both are what `dl_iterate_phdr` promises and was given; its headers are as many as it says.
    let (object, headers, found) = unsafe {
        let object = &*object;
        let headers = slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object, headers, &mut *found.cast::<Option<Pages>>())
    };
    let page = rustix::param::page_size();
    let closed = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
    *found = closed.and_then(|closed| {
        // As the loader does it: down to whole pages, at both ends.
        let start = usize::try_from(object.dlpi_addr.checked_add(closed.p_vaddr)?).ok()?;
        let end = start.checked_add(usize::try_from(closed.p_memsz).ok()?)? / page * page;
        let start = start / page * page;
        Some((start, end.checked_sub(start)?)).filter(|(_, bytes)| *bytes > 0)
    });
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel says of the memory that begins there: its rights, what it is of, and how much of it has been written.
    fn told(start: usize) -> Option<[String; 3]> {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("proc");
        let mut lines = maps.lines().skip_while(|line| !line.starts_with(&format!("{start:x}-")));
        let mut words = lines.next()?.split_whitespace().map(str::to_owned);
        let (rights, of) = (words.nth(1)?, words.nth(3)?);
        let written = lines.find_map(|line| line.strip_prefix("Anonymous:"))?;
        Some([rights, of, written.trim().to_owned()])
    }

    #[test]
    fn what_the_loader_filled_in_stays_as_it_was_and_is_no_memory_of_ours() {
        let (start, bytes) = filled_in().expect("this program has such pages");
        let content = || -> Vec<u8> {
            let start = ptr::with_exposed_provenance::<u8>(start);
            #[expect(unsafe_code, reason = "it is known by its address alone")]
            // SAFETY: as in `share`.
            unsafe { slice::from_raw_parts(start, bytes) }.to_vec()
        };
        let before = content();
        share().expect("shared");
        assert!(content() == before);
        assert_eq!(told(start), Some(["r--p", "/memfd:constants", "0 kB"].map(str::to_owned)));
    }
}
