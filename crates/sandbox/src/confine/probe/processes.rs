//! Attempts on other processes, on namespaces and on the kernel.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open, test_kill_process};

use super::scene::Targets;

/// A call by its number, whose arguments point at nothing or at what outlives it.
fn call(number: libc::c_long, arguments: [usize; 6]) -> io::Result<libc::c_long> {
    let [a, b, c, d, e, f] = arguments;
    #[expect(unsafe_code, reason = "a probe calls what nobody wraps")]
    // SAFETY: each caller below passes numbers, or addresses of values that it holds until this returns and that are as
    // long as the call takes them to be. No call here changes memory that it was not given for that.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn address<T>(value: &mut T) -> usize {
    (&raw mut *value).expose_provenance()
}

fn parent() -> i32 {
    getppid().map_or(1, Pid::as_raw_pid)
}

fn host(targets: &Targets) -> io::Result<Pid> {
    Pid::from_raw(targets.host).ok_or(io::ErrorKind::NotFound.into())
}

pub(super) fn use_inherited_descriptor(targets: &Targets) -> io::Result<()> {
    #[expect(unsafe_code, reason = "an inherited descriptor is only known by its number")]
    // SAFETY: the borrow ends within this statement, and asking about a closed number is an error.
    let flags = rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(targets.descriptor) });
    Ok(flags.map(drop)?)
}

/// The probe's parent is the probe; above that is whoever started it.
pub(super) fn read_environment_of_parent(targets: &Targets) -> io::Result<()> {
    let of = |pid: i32| fs::read(format!("/proc/{pid}/environ"));
    let environment = [of(1), of(targets.host), of(parent())].into_iter().flatten().flatten();
    let text = String::from_utf8_lossy(&environment.collect::<Vec<u8>>()).into_owned();
    if text.contains(&targets.variable) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// The first process of all, as far as the probe can see, is not the probe's own.
fn foreign(targets: &Targets) -> i32 {
    let is_inside = fs::metadata(format!("/proc/{}", targets.host)).is_err();
    if is_inside { 1 } else { targets.host }
}

pub(super) fn open_memory_of_parent(targets: &Targets) -> io::Result<()> {
    fs::File::options().read(true).write(true).open(format!("/proc/{}/mem", foreign(targets))).map(drop)
}

pub(super) fn list_descriptors_of_parent(targets: &Targets) -> io::Result<()> {
    fs::read_dir(format!("/proc/{}/fd", foreign(targets))).map(drop)
}

pub(super) fn find_secret_variable(targets: &Targets) -> io::Result<()> {
    std::env::var(&targets.variable).map(drop).map_err(io::Error::other)
}

pub(super) fn signal_host(targets: &Targets) -> io::Result<()> {
    Ok(test_kill_process(host(targets)?)?)
}

pub(super) fn open_handle_on_host(targets: &Targets) -> io::Result<()> {
    Ok(pidfd_open(host(targets)?, PidfdFlags::empty()).map(drop)?)
}

pub(super) fn see_host_in_proc(targets: &Targets) -> io::Result<()> {
    fs::metadata(format!("/proc/{}/stat", targets.host)).map(drop)
}

/// From itself: whoever may not do that may do nothing of the kind.
pub(super) fn read_memory_by_call(_: &Targets) -> io::Result<()> {
    let (mut from, mut to) = (7_u64, 0_u64);
    let mut local = [address(&mut to), 8];
    let mut remote = [address(&mut from), 8];
    let us = usize::try_from(std::process::id()).map_err(io::Error::other)?;
    call(libc::SYS_process_vm_readv, [us, address(&mut local), 1, address(&mut remote), 1, 0]).map(drop)
}

pub(super) fn trace(_: &Targets) -> io::Result<()> {
    call(libc::SYS_ptrace, [0; 6]).map(drop)
}

fn unshare(flag: libc::c_int) -> io::Result<()> {
    call(libc::SYS_unshare, [flag.unsigned_abs() as usize, 0, 0, 0, 0, 0]).map(drop)
}

pub(super) fn unshare_user(_: &Targets) -> io::Result<()> {
    unshare(libc::CLONE_NEWUSER)
}

pub(super) fn clone_user(_: &Targets) -> io::Result<()> {
    let flags = (libc::CLONE_NEWUSER | libc::SIGCHLD).unsigned_abs() as usize;
    parent_only(call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]))
}

/// Its flags are in memory, where no filter sees them.
pub(super) fn clone3_user(_: &Targets) -> io::Result<()> {
    let mut arguments = [0_u64; 8];
    arguments[0] = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    let bytes = size_of_val(&arguments);
    parent_only(call(libc::SYS_clone3, [address(&mut arguments), bytes, 0, 0, 0, 0]))
}

/// This process has one thread, so its copy may go on, but not far.
fn parent_only(child: io::Result<libc::c_long>) -> io::Result<()> {
    if child? == 0 {
        std::process::exit(0);
    }
    Ok(())
}

pub(super) fn mount_in_namespace(_: &Targets) -> io::Result<()> {
    // Root needs none.
    let _ = unshare(libc::CLONE_NEWUSER);
    unshare(libc::CLONE_NEWNS)?;
    let flags = rustix::mount::MountFlags::empty();
    Ok(rustix::mount::mount("none", "/tmp", "tmpfs", flags, None)?)
}

/// The same name again.
pub(super) fn set_host_name(_: &Targets) -> io::Result<()> {
    unshare(libc::CLONE_NEWUTS)?;
    Ok(rustix::system::sethostname(b"escaped")?)
}

pub(super) fn change_root(_: &Targets) -> io::Result<()> {
    Ok(rustix::process::chroot("/")?)
}

pub(super) fn name_file_handle(_: &Targets) -> io::Result<()> {
    // `struct file_handle` with room for the handle, and the number of the mount.
    let mut handle = [0_u32; 34];
    handle[0] = 128;
    let mut mount = 0_i32;
    let path = c"/usr";
    let here = libc::AT_FDCWD as usize;
    let path = path.as_ptr().expose_provenance();
    call(libc::SYS_name_to_handle_at, [here, path, address(&mut handle), address(&mut mount), 0, 0]).map(drop)
}

pub(super) fn use_key_ring(_: &Targets) -> io::Result<()> {
    const GET_KEY_RING: usize = 0;
    const OF_PROCESS: usize = -2_isize as usize;
    call(libc::SYS_keyctl, [GET_KEY_RING, OF_PROCESS, 1, 0, 0, 0]).map(drop)
}

pub(super) fn use_io_uring(_: &Targets) -> io::Result<()> {
    let mut parameters = [0_u32; 30];
    call(libc::SYS_io_uring_setup, [1, address(&mut parameters), 0, 0, 0, 0]).map(drop)
}

/// `getpid`, by its second number.
#[cfg(target_arch = "x86_64")]
pub(super) fn call_by_x32(_: &Targets) -> io::Result<()> {
    call(0x4000_0000 + libc::SYS_getpid, [0; 6]).map(drop)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn call_by_x32(_: &Targets) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Good if no filter stands in the way: whether there is a terminal does not matter.
pub(super) fn type_at_terminal(_: &Targets) -> io::Result<()> {
    let mut typed = b'x';
    match call(libc::SYS_ioctl, [0, libc::TIOCSTI as usize, address(&mut typed), 0, 0, 0]) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}
