//! Rules for system calls, which the kernel applies to the calling process and all that it starts.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

use crate::Network;

/// System calls that no program in a sandbox needs, and that reach other processes, the kernel, or around the other rules.
const DENIED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Rings and handles that these rules do not see into.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
];

/// What reaches memory and queues of other processes of the user, unless they have a namespace of their own.
const DENIED_IF_SHARED: &[i64] =
    &[libc::SYS_shmget, libc::SYS_shmat, libc::SYS_msgget, libc::SYS_semget, libc::SYS_mq_open];

/// System calls that look as if the kernel had none, because programs then use another one: `clone`, whose flags a filter can
/// see; and temporary files, which are counted, unlike memory behind a descriptor.
const UNKNOWN: &[i64] = &[libc::SYS_clone3, libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// What a function may do: use files that are open, memory and time, and end.
const OF_FUNCTIONS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The largest segment of shared memory. It outlives its processes and belongs to none, so it cannot be counted.
const MAX_SHARED_MEMORY: u64 = 64 * 1024;

/// Flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Applies the rules. `is_confined` says whether the process has namespaces of its own.
pub(crate) fn apply(network: Network, is_confined: bool) -> io::Result<()> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    for (rules, action) in [
        (rules(network, is_confined).map_err(failed)?, denied),
        (UNKNOWN.iter().map(|call| (*call, Vec::new())).collect(), unknown),
    ] {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture).map_err(failed)?;
        let program = BpfProgram::try_from(filter).map_err(failed)?;
        seccompiler::apply_filter(&program).map_err(failed)?;
    }
    if std::env::consts::ARCH == "x86_64" {
        seccompiler::apply_filter(&without_second_numbers()).map_err(failed)?;
    }
    Ok(())
}

/// Refuses everything that a function does not need. No memory becomes executable.
pub(crate) fn apply_to_function() -> io::Result<()> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let mut rules: Rules = OF_FUNCTIONS.iter().map(|call| (*call, Vec::new())).collect();
    let executable = u64::from(libc::PROT_EXEC.cast_unsigned());
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let data = Condition::new(2, Length::Dword, Compare::MaskedEq(executable), 0).map_err(failed)?;
        rules.insert(call, vec![SeccompRule::new(vec![data]).map_err(failed)?]);
    }
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let filter = SeccompFilter::new(rules, denied, SeccompAction::Allow, architecture).map_err(failed)?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter).map_err(failed)?).map_err(failed)
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

/// Refuses the second numbers that all system calls have on x86-64 (x32), which the other rules do not know.
fn without_second_numbers() -> BpfProgram {
    const LOAD: u16 = 0x20; // a word of the data: the number is the first
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST: u32 = 0x4000_0000;
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    vec![
        statement(LOAD, 0),
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: FIRST },
        statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
    ]
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(network: Network, is_confined: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let differs = |argument, value: libc::c_int| {
        Condition::new(argument, Length::Dword, Compare::Ne, value.cast_unsigned().into())
    };
    let one = |condition| SeccompRule::new(vec![condition]);

    // Unix sockets lead to other programs, whatever the network. Pairs of them are fine, but for datagrams, which can be
    // sent anywhere from a pair, too.
    rules.insert(
        libc::SYS_socket,
        match (network, is_confined) {
            (Network::None, false) => vec![one(differs(0, libc::AF_NETLINK)?)?],
            _ => vec![SeccompRule::new(vec![
                differs(0, libc::AF_INET)?,
                differs(0, libc::AF_INET6)?,
                differs(0, libc::AF_NETLINK)?,
            ])?],
        },
    );
    let mut pairs = Vec::new();
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        let kind = u64::from(kind.cast_unsigned());
        pairs.push(one(Condition::new(1, Length::Dword, Compare::MaskedEq(0xf), kind)?)?);
    }
    rules.insert(libc::SYS_socketpair, pairs);

    let mut namespaces = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        namespaces.push(one(Condition::new(0, Length::Qword, Compare::MaskedEq(flag), flag)?)?);
    }
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces);
    // Characters that are put into the input of a terminal are commands of the shell behind it.
    let inject = [libc::TIOCSTI, libc::TIOCLINUX];
    let inject =
        inject.map(|request| Condition::new(1, Length::Dword, Compare::Eq, u64::from(request as u32)));
    rules.insert(
        libc::SYS_ioctl,
        inject.into_iter().map(|condition| one(condition?)).collect::<Result<_, _>>()?,
    );
    let large = Condition::new(1, Length::Qword, Compare::Gt, MAX_SHARED_MEMORY)?;
    rules.insert(libc::SYS_shmget, vec![one(large)?]);
    if !is_confined {
        rules.extend(DENIED_IF_SHARED.iter().map(|call| (*call, Vec::new())));
        // Limits of other processes.
        rules.insert(libc::SYS_prlimit64, vec![one(differs(0, 0)?)?]);
    }
    Ok(rules)
}
