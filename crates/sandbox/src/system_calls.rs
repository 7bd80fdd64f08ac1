//! Rules for system calls, which the kernel applies to the calling process and all that it starts.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Compare,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch,
};

use crate::Network;

/// System calls that no program in a sandbox needs, and that reach other processes, the kernel, or around the other rules.
const DENIED: [i64; 37] = [
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
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
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
];

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

/// Applies the rules. `is_confined` says whether the process has a network of its own.
pub(crate) fn apply(network: Network, is_confined: bool) -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
    let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    // Programs fall back to `clone` when there is no `clone3`, whose flags a filter cannot see.
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    for (rules, action) in [
        (rules(network, is_confined).map_err(|error| failed(&error))?, denied),
        (BTreeMap::from([(libc::SYS_clone3, Vec::new())]), unknown),
    ] {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)
            .map_err(|error| failed(&error))?;
        let program = BpfProgram::try_from(filter).map_err(|error| failed(&error))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(network: Network, is_confined: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = DENIED.into_iter().map(|call| (call, Vec::new())).collect();
    let family = |operator, family: libc::c_int| -> Result<Condition, seccompiler::BackendError> {
        Condition::new(0, Length::Dword, operator, family.cast_unsigned().into())
    };
    let sockets = match (network, is_confined) {
        // Sockets in files lead to other programs, whatever the network.
        (Network::None, false) => vec![SeccompRule::new(vec![family(Compare::Ne, libc::AF_NETLINK)?])?],
        _ => vec![SeccompRule::new(vec![
            family(Compare::Ne, libc::AF_INET)?,
            family(Compare::Ne, libc::AF_INET6)?,
            family(Compare::Ne, libc::AF_NETLINK)?,
        ])?],
    };
    rules.insert(libc::SYS_socket, sockets);
    let mut namespaces = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        let is_set = Condition::new(0, Length::Qword, Compare::MaskedEq(flag), flag)?;
        namespaces.push(SeccompRule::new(vec![is_set])?);
    }
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces);
    // Characters that are put into the input of a terminal are commands of the shell behind it.
    let inject = Condition::new(1, Length::Dword, Compare::Eq, libc::TIOCSTI)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![inject])?]);
    Ok(rules)
}
