//! Which system calls are refused: one list for all profiles but for what opens sockets. It is translated once for all runs.

mod sockets;

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::confine::profile::Sockets;

/// What a program gets for a refused call: "not permitted".
const REFUSED: SeccompAction = SeccompAction::Errno(libc::EPERM.unsigned_abs());

/// What a program gets for a call whose arguments a filter cannot see: "there is no such call". Libraries then use the
/// older one, which a filter sees.
const UNKNOWN: SeccompAction = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());

/// Refused whatever the arguments: calls that look at other processes, change the machine, load code into the kernel,
/// mount or make namespaces.
const REFUSED_CALLS: [libc::c_long; 53] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_migrate_pages,
];

/// The same, where only this processor has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [libc::c_long; 4] =
    [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [libc::c_long; 0] = [];

/// Newer than the names that we have: `open_tree_attr`, with the same number everywhere.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// What makes a namespace, among the flags of `clone`.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // `CLONE_NEWTIME`
    0x80,
];

/// Requests to a terminal that type for the person at it, or paste.
const TYPING: [libc::c_ulong; 2] = [libc::TIOCSTI as libc::c_ulong, libc::TIOCLINUX as libc::c_ulong];

/// The filters for each kind of program, in the order in which they are laid on.
pub(in crate::confine) struct Filters(Vec<(Sockets, Vec<BpfProgram>)>);

impl Filters {
    pub(in crate::confine) fn new() -> Result<Filters, BackendError> {
        let all = [Sockets::None, Sockets::Local, Sockets::Network, Sockets::LocalAndNetwork];
        let filters = all.into_iter().map(|sockets| Ok((sockets, filters(sockets)?)));
        filters.collect::<Result<_, _>>().map(Filters)
    }

    /// Lays those for a program that opens `sockets` on this process, for good.
    pub(super) fn apply(&self, sockets: Sockets) -> io::Result<()> {
        let (_, filters) = self.0.iter().find(|(of, _)| *of == sockets).ok_or(io::ErrorKind::NotFound)?;
        filters.iter().try_for_each(|filter| apply_filter(filter)).map_err(io::Error::other)
    }
}

fn filters(sockets: Sockets) -> Result<Vec<BpfProgram>, BackendError> {
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let mut filters = vec![program(unknown, UNKNOWN)?, program(refused(sockets)?, REFUSED)?];
    filters.extend(foreign::program());
    Ok(filters)
}

fn refused(sockets: Sockets) -> Result<BTreeMap<libc::c_long, Vec<SeccompRule>>, BackendError> {
    let all = REFUSED_CALLS.into_iter().chain(REFUSED_HERE).chain([OPEN_TREE_ATTR]);
    let mut refused: BTreeMap<_, _> = all.map(|call| (call, Vec::new())).collect();
    let flags = NAMESPACES.map(|flag| u64::from(flag.unsigned_abs()));
    let namespaces = flags.map(|flag| rule(0, SeccompCmpOp::MaskedEq(flag), flag));
    refused.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    let typing = TYPING.map(|request| rule(1, SeccompCmpOp::Eq, request));
    refused.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    // A pair is connected to nothing but itself.
    let other = rule(0, SeccompCmpOp::Ne, u64::from(libc::AF_UNIX.unsigned_abs()))?;
    refused.insert(libc::SYS_socketpair, vec![other]);
    refused.insert(libc::SYS_socket, sockets::refused(sockets)?);
    Ok(refused)
}

/// The kernel looks at the lower half of these arguments only, and so must we.
fn rule(argument: u8, compared: SeccompCmpOp, with: u64) -> Result<SeccompRule, BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compared, with)?;
    SeccompRule::new(vec![condition])
}

/// A program for another kind of processor than ours is ended: its numbers mean other calls.
fn program(
    calls: BTreeMap<libc::c_long, Vec<SeccompRule>>,
    action: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let processor = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(calls, SeccompAction::Allow, action, processor)?.try_into()
}

/// On x86-64 the numbers of x32 are a second set of names for the same calls.
#[cfg(target_arch = "x86_64")]
mod foreign {
    use seccompiler::{BpfProgram, sock_filter};

    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

    pub(super) fn program() -> Option<BpfProgram> {
        Some(vec![
            sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
            sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: X32 },
            sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_KILL_PROCESS },
            sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
        ])
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod foreign {
    pub(super) fn program() -> Option<seccompiler::BpfProgram> {
        None
    }
}
