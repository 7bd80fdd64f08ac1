//! The file system of a program: what it may read and change, and nothing else.

use std::{
    ffi::CString,
    fs, io,
    os::{
        fd::AsFd,
        unix::fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::{
    mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount},
    process::{chdir, pivot_root},
};

use crate::{
    Network, Policy, namespaces,
    root_directory::{Access, EmptyCovers, RootDirectory},
};

/// Directories of the system, which have no secrets that other users may not read.
pub(crate) const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
];
/// Those in which the super-user keeps files that no other user may read.
pub(crate) const WITH_PRIVATE_FILES: [&str; 2] = ["/etc", "/opt"];
/// How deep such files are looked for.
const PRIVATE_DEPTH: usize = 6;
/// The devices that every program may use.
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// One file system in memory for all that is temporary, so that one limit holds for all of it. The helper looks at it, too.
pub(crate) const TEMPORARY: &str = "/.temporary";
/// Its directories, and where a program finds them.
const TEMPORARY_DIRECTORIES: [(&str, &str); 4] =
    [("tmp", "/tmp"), ("var-tmp", "/var/tmp"), ("run", "/run"), ("shm", "/dev/shm")];

/// Where the new root is built. It is a directory that exists everywhere and is hidden from the program anyway.
const BUILD: &str = "/tmp";
const OLD: &str = "/old";
const NEW: &str = "/new";

/// Replaces the root by one with only what the policy allows. The caller is alone in its mount namespace.
///
/// The old root is first moved aside, so that what is below `/tmp` can be given, too.
pub(crate) fn enter(policy: &Policy) -> io::Result<()> {
    let is_super_user = namespaces::is_super_user();
    let name_servers = fs::canonicalize("/etc/resolv.conf").ok();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount_tmpfs(Path::new(BUILD), 1 << 20, 0o755)?;
    for name in [OLD, NEW] {
        fs::create_dir(format!("{BUILD}{name}"))?;
    }
    chdir(BUILD)?;
    pivot_root(".", ".".to_owned() + OLD)?;
    chdir("/")?;
    if policy.function.is_some() {
        mount_tmpfs(Path::new(NEW), 4096, 0o755)?;
        return replace_root();
    }
    let empty = EmptyCovers::create(Path::new("/"))?;
    mount_tmpfs(Path::new(NEW), 1 << 20, 0o755)?;
    let root = RootDirectory::open(Path::new(OLD), Path::new(NEW))?;

    give_temporary(&root, policy)?;
    for path in SYSTEM {
        give_system(&root, Path::new(path))?;
    }
    if is_super_user {
        for path in WITH_PRIVATE_FILES {
            hide_private_files(&root, &empty, Path::new(path), PRIVATE_DEPTH)?;
        }
    }
    give_devices(&root)?;
    // Often a link into `/run`, which is empty here.
    if let Some(path) =
        name_servers.filter(|path| policy.network == Network::Allow && !path.starts_with("/etc"))
    {
        root.give(&path, Access::Read)?;
    }
    for path in &policy.read {
        root.give(path, Access::Read)?;
    }
    for path in &policy.write {
        root.give(path, Access::Write)?;
    }
    for path in &policy.protect {
        root.give(path, Access::Read)?;
    }
    for path in &policy.hide {
        root.cover(path, &empty)?;
    }
    mount_proc(policy, is_super_user)?;
    replace_root()
}

/// Leaves the old root for the new one, whose top cannot be changed any more.
fn replace_root() -> io::Result<()> {
    chdir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    Ok(mount_remount(
        "/",
        MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV,
        "",
    )?)
}

/// `/bin` is a link to `/usr/bin` on most systems.
fn give_system(root: &RootDirectory, path: &Path) -> io::Result<()> {
    let old = Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path));
    let Ok(target) = fs::read_link(old) else { return root.give(path, Access::Read).map(|_| ()) };
    let link = inside(path);
    if let Some(parent) = link.parent() {
        fs::create_dir_all(parent)?;
    }
    symlink(target, link)
}

fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// Whether a home directory can be replaced by an empty one: those of services are often directories of the system.
pub(crate) fn is_replaceable(home: &Path) -> bool {
    home.parent().is_some() && !SYSTEM.iter().chain(&["/dev", "/proc"]).any(|system| home.starts_with(system))
}

fn give_temporary(root: &RootDirectory, policy: &Policy) -> io::Result<()> {
    fs::create_dir(inside(Path::new(TEMPORARY)))?;
    mount_tmpfs(&inside(Path::new(TEMPORARY)), policy.limits.file_size, 0o755)?;
    let home = policy.home.as_deref().filter(|home| is_replaceable(home));
    let shared = TEMPORARY_DIRECTORIES.map(|(name, path)| (name, Path::new(path), 0o1777));
    for (name, path, mode) in shared.into_iter().chain(home.map(|home| ("home", home, 0o700))) {
        let source = Path::new(TEMPORARY).join(name);
        fs::create_dir(inside(&source))?;
        fs::set_permissions(inside(&source), fs::Permissions::from_mode(mode))?;
        root.mount(root.open_new(&source)?.as_fd(), path, Access::Write)?;
    }
    Ok(())
}

fn mount_tmpfs(path: &Path, size: u64, mode: u32) -> io::Result<()> {
    let options = CString::new(format!("size={size},mode={mode:o},nr_inodes=100000"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", path, "tmpfs", flags, options.as_c_str())?)
}

fn give_devices(root: &RootDirectory) -> io::Result<()> {
    for device in DEVICES {
        root.give(Path::new(device), Access::Write)?;
    }
    let devices = inside(Path::new("/dev"));
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, devices.join(name))?;
    }
    let terminals = devices.join("pts");
    fs::create_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Terminals are a convenience: where the kernel refuses them, programs that want one fail by themselves.
    let _ = mount("devpts", &terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620");
    Ok(())
}

/// Mounts `/proc`, read-only: the super-user outside owns the settings of the kernel in it, whatever it is inside.
fn mount_proc(policy: &Policy, is_super_user: bool) -> io::Result<()> {
    let proc = inside(Path::new("/proc"));
    fs::create_dir(&proc)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &proc, "proc", flags, None)?;
    if is_super_user {
        // The limit on processes does not bind the super-user, but the number of process ids does, where it belongs to the
        // namespace (Linux 6.14). The helper watches the number of processes in any case.
        let _ = fs::write(proc.join("sys/kernel/pid_max"), policy.limits.processes.max(301).to_string());
    }
    Ok(mount_remount(&proc, flags | MountFlags::BIND | MountFlags::RDONLY, "")?)
}

/// Covers what only the super-user may read. For everyone else the system does it.
fn hide_private_files(
    root: &RootDirectory,
    empty: &EmptyCovers,
    path: &Path,
    depth: usize,
) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(inside(path)) else { return Ok(()) };
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let path = path.join(entry.file_name());
        if (found.is_file() || found.is_dir()) && is_private(found.permissions().mode()) {
            root.cover(&path, empty)?;
        } else if found.is_dir() && depth > 0 {
            hide_private_files(root, empty, &path, depth - 1)?;
        }
    }
    Ok(())
}

/// Whether others may not read a file of this mode.
pub(crate) fn is_private(mode: u32) -> bool {
    mode & 0o004 == 0
}
