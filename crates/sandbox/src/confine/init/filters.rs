//! Which system calls are refused: one list for all profiles but for what opens sockets. It is translated once for all runs.

mod program;
mod sockets;

use std::io;

use program::{Rule, Test};

use crate::confine::profile::Sockets;

/// What a program gets for a refused call: "not permitted".
const REFUSED: libc::c_int = libc::EPERM;

/// What a program gets for a call whose arguments a filter cannot see: "there is no such call". Libraries then use the
/// older one, which a filter sees.
const UNKNOWN: libc::c_int = libc::ENOSYS;

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

/// `CLONE_NEWTIME`
const NEW_TIME: libc::c_int = 0x80;

/// What makes a namespace, among the flags of `clone`.
const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP
    | NEW_TIME;

/// Requests to a terminal that type for the person at it, or paste, or have the kernel load code for it.
const OF_TERMINALS: [u32; 3] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32, libc::TIOCSETD as u32];

/// A pair is connected to nothing but itself.
const PAIRS: [u32; 1] = [libc::AF_UNIX.unsigned_abs()];

/// What is laid on each kind of program: one filter, because the kernel goes through all that are laid on one, at its start
/// for each call there is.
pub(in crate::confine) struct Filters(Vec<(Sockets, Vec<libc::sock_filter>)>);

impl Filters {
    pub(in crate::confine) fn new() -> Filters {
        let all = [Sockets::None, Sockets::Local, Sockets::Network, Sockets::LocalAndNetwork];
        Filters(all.map(|sockets| (sockets, program::assemble(rules(sockets)))).into())
    }

    /// Lays the one for a program that opens `sockets` on this process, for good. The process must have given up new
    /// privileges.
    pub(super) fn apply(&self, sockets: Sockets) -> io::Result<()> {
        let filter = self.of(sockets).ok_or(io::ErrorKind::NotFound)?;
        let len = filter.len().try_into().map_err(io::Error::other)?;
        let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
        #[expect(unsafe_code, reason = "neither std nor rustix has `seccomp`")]
        // SAFETY: the structure says where the instructions are and how many; both outlive the call, which writes to neither.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn of(&self, sockets: Sockets) -> Option<&[libc::sock_filter]> {
        self.0.iter().find(|(of, _)| *of == sockets).map(|(_, filter)| &**filter)
    }
}

fn rules(sockets: Sockets) -> Vec<Rule> {
    let refused = REFUSED_CALLS.into_iter().chain(REFUSED_HERE).chain([OPEN_TREE_ATTR]);
    let mut rules: Vec<Rule> = refused.map(|call| Rule::always(call, REFUSED)).collect();
    rules.push(Rule::always(libc::SYS_clone3, UNKNOWN));
    for (call, allowed) in [
        (libc::SYS_clone, vec![vec![Test::one_of(0, &[0]).masked(NAMESPACES.unsigned_abs())]]),
        (libc::SYS_ioctl, vec![vec![Test::none_of(1, &OF_TERMINALS)]]),
        (libc::SYS_socketpair, vec![vec![Test::one_of(0, &PAIRS)]]),
        (libc::SYS_socket, sockets::allowed(sockets)),
    ] {
        rules.push(Rule { call, allowed, errno: REFUSED });
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::program::run;
    use super::*;

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const NOT_PERMITTED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    const NO_SUCH_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

    fn answer(call: libc::c_long, arguments: [u64; 6]) -> u32 {
        let filters = Filters::new();
        run(filters.of(Sockets::None).expect("there"), program::PROCESSOR, call as u32, arguments)
    }

    #[test]
    fn calls_are_answered_by_their_number() {
        let refused: Vec<_> = REFUSED_CALLS.into_iter().chain(REFUSED_HERE).chain([OPEN_TREE_ATTR]).collect();
        for call in 0..600 {
            let by_arguments = [libc::SYS_clone, libc::SYS_ioctl, libc::SYS_socketpair].contains(&call);
            let refused = refused.contains(&call) || call == libc::SYS_socket;
            let expected = match call {
                libc::SYS_clone3 => NO_SUCH_CALL,
                _ if refused => NOT_PERMITTED,
                _ => ALLOWED,
            };
            if !by_arguments {
                assert_eq!(answer(call, [0; 6]), expected, "{call}");
            }
        }
    }

    #[test]
    fn calls_are_answered_by_their_arguments() {
        let fork = libc::SIGCHLD as u64;
        let high = 1 << 32;
        for (call, arguments, expected) in [
            (libc::SYS_clone, [fork, 0], ALLOWED),
            (libc::SYS_clone, [fork | libc::CLONE_VM as u64, 0], ALLOWED),
            (libc::SYS_clone, [fork | libc::CLONE_NEWUSER as u64, 0], NOT_PERMITTED),
            (libc::SYS_clone, [fork | libc::CLONE_NEWNET as u64 | high, 0], NOT_PERMITTED),
            (libc::SYS_clone, [fork | NEW_TIME as u64, 0], NOT_PERMITTED),
            (libc::SYS_ioctl, [0, libc::TCGETS], ALLOWED),
            (libc::SYS_ioctl, [0, libc::TIOCSTI], NOT_PERMITTED),
            (libc::SYS_ioctl, [0, libc::TIOCSTI | high], NOT_PERMITTED),
            (libc::SYS_ioctl, [libc::TIOCSTI, libc::TIOCLINUX], NOT_PERMITTED),
            (libc::SYS_ioctl, [0, libc::TIOCSETD], NOT_PERMITTED),
            (libc::SYS_socketpair, [libc::AF_UNIX as u64, 0], ALLOWED),
            (libc::SYS_socketpair, [libc::AF_UNIX as u64 | high, 0], ALLOWED),
            (libc::SYS_socketpair, [libc::AF_INET as u64, 0], NOT_PERMITTED),
        ] {
            let [first, second] = arguments;
            assert_eq!(answer(call, [first, second, 0, 0, 0, 0]), expected, "{call} {arguments:x?}");
        }
    }

    #[test]
    fn sockets_are_opened_by_their_kind() {
        use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, AF_VSOCK, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_STREAM};
        let all = [Sockets::None, Sockets::Local, Sockets::Network, Sockets::LocalAndNetwork];
        let filters = Filters::new();
        for (family, kind, protocol, opened) in [
            (AF_UNIX, SOCK_STREAM, 0, [false, true, false, true]),
            (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, [false, true, false, true]),
            (AF_UNIX, libc::SOCK_RAW, 0, [false; 4]),
            (AF_INET, SOCK_STREAM, libc::IPPROTO_TCP, [false, false, true, true]),
            (AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0, [false, false, true, true]),
            (AF_INET, SOCK_STREAM, libc::IPPROTO_MPTCP, [false; 4]),
            (AF_INET, libc::SOCK_RAW, libc::IPPROTO_TCP, [false; 4]),
            (AF_INET, SOCK_DGRAM, libc::IPPROTO_ICMP, [false; 4]),
            (AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE, [false, false, true, true]),
            (AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT, [false; 4]),
            (AF_VSOCK, SOCK_STREAM, 0, [false; 4]),
        ] {
            let arguments = [family as u64, kind as u64, protocol as u64, 0, 0, 0];
            for (sockets, opened) in all.into_iter().zip(opened) {
                let filter = filters.of(sockets).expect("there");
                let answer = run(filter, program::PROCESSOR, libc::SYS_socket as u32, arguments);
                let expected = if opened { ALLOWED } else { NOT_PERMITTED };
                assert_eq!(answer, expected, "{sockets:?} {family} {kind} {protocol}");
            }
        }
    }

    #[test]
    fn a_list_may_be_longer_than_a_branch_leads() {
        let even = (0..1200).filter(|call| call % 2 == 0);
        let filter = program::assemble(even.map(|call| Rule::always(call, libc::EPERM)).collect());
        for call in 0..1300 {
            let expected = if call < 1200 && call % 2 == 0 { NOT_PERMITTED } else { ALLOWED };
            assert_eq!(run(&filter, program::PROCESSOR, call, [0; 6]), expected, "{call}");
        }
    }

    #[test]
    fn foreign_calls_end_a_program() {
        let filters = Filters::new();
        let filters = filters.of(Sockets::Network).expect("there");
        // ARM of 32 bits.
        assert_eq!(run(filters, 0x4000_0028, 0, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        if cfg!(target_arch = "x86_64") {
            for call in [0x4000_0000, 0x4000_0000 | libc::SYS_socket as u32, u32::MAX] {
                let answer = run(filters, program::PROCESSOR, call, [0; 6]);
                assert_eq!(answer, libc::SECCOMP_RET_KILL_PROCESS);
            }
        }
    }
}
