//! The file system of a program: what it may read and change, and nothing else.

use std::{
    ffi::CString,
    fs, io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use rustix::{
    fs::StatVfsMountFlags,
    mount::{
        MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
        mount_remount, unmount,
    },
    process::{chdir, geteuid, pivot_root},
};

use crate::Policy;

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
/// The devices that every program may use.
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Where the new root is built. It is a directory that exists everywhere and is hidden from the program anyway.
const BUILD: &str = "/tmp";
const OLD: &str = "/old";
const NEW: &str = "/new";

/// Replaces the root by one with only what the policy allows. The caller is alone in its mount namespace.
///
/// The old root is first moved aside, so that what is below `/tmp` can be given, too.
pub(crate) fn enter(policy: &Policy) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount_tmpfs(BUILD, 1 << 20, 0o755)?;
    for name in [OLD, NEW] {
        fs::create_dir(format!("{BUILD}{name}"))?;
    }
    chdir(BUILD)?;
    pivot_root(".", ".".to_owned() + OLD)?;
    chdir("/")?;
    mount_tmpfs(NEW, 1 << 20, 0o755)?;

    for path in SYSTEM.iter().map(Path::new) {
        give(path, Access::Read)?;
    }
    hide_private_files(&Path::new(NEW).join("etc"))?;
    give_devices()?;
    for path in ["/tmp", "/var/tmp", "/run"] {
        let target = inside(Path::new(path));
        fs::create_dir_all(&target)?;
        mount_tmpfs(&target, policy.limits.file_size, 0o1777)?;
    }
    for path in &policy.read {
        give(path, Access::Read)?;
    }
    for path in &policy.write {
        give(path, Access::Write)?;
    }
    for path in &policy.protect {
        give(path, Access::Read)?;
    }
    let proc = inside(Path::new("/proc"));
    fs::create_dir_all(&proc)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", &proc, "proc", flags, None)?;

    chdir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    make_read_only(Path::new("/"))
}

enum Access {
    Read,
    Write,
}

fn outside(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

fn inside(path: &Path) -> PathBuf {
    Path::new(NEW).join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes a path of the old root appear in the new one. What does not exist is passed over.
fn give(path: &Path, access: Access) -> io::Result<()> {
    let (from, to) = (outside(path), inside(path));
    let Ok(found) = fs::symlink_metadata(&from) else { return Ok(()) };
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    if found.is_symlink() {
        // `/bin` is a link to `/usr/bin` on most systems.
        return match symlink(fs::read_link(&from)?, &to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done,
        };
    }
    if found.is_dir() {
        fs::create_dir_all(&to)?;
    } else if found.is_file() || found.file_type().is_char_device() {
        if !to.exists() {
            fs::write(&to, "")?;
        }
    } else {
        return Ok(()); // sockets and FIFOs lead to other processes
    }
    mount_bind_recursive(&from, &to)?;
    if matches!(access, Access::Read) {
        for mounted in mounts_below(&to)? {
            make_read_only(&mounted)?;
        }
    }
    Ok(())
}

/// Remounts without the right to write. The flags that are there must stay, or the kernel refuses.
fn make_read_only(path: &Path) -> io::Result<()> {
    let there = rustix::fs::statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    for (is_there, keep) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if there.contains(is_there) {
            flags |= keep;
        }
    }
    Ok(mount_remount(path, flags, "")?)
}

/// The mount points at and below a directory.
fn mounts_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string(outside(Path::new("/proc/self/mountinfo")))?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    Ok(points.filter(|point| point.starts_with(path)).collect())
}

/// Spaces and other special characters of a path are written as `\040` in `mountinfo`.
fn unescape(text: &str) -> PathBuf {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                path.push(byte);
                rest = &after[3..];
            }
            _ => {
                path.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(path))
}

fn mount_tmpfs(path: impl AsRef<Path>, size: u64, mode: u32) -> io::Result<()> {
    let options = CString::new(format!("size={size},mode={mode:o},nr_inodes=100000"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", path.as_ref(), "tmpfs", flags, options.as_c_str())?)
}

fn give_devices() -> io::Result<()> {
    let devices = inside(Path::new("/dev"));
    fs::create_dir_all(&devices)?;
    for device in DEVICES {
        give(Path::new(device), Access::Write)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "fd/0"),
        ("stdout", "fd/1"),
        ("stderr", "fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, devices.join(name))?;
    }
    let shared = devices.join("shm");
    fs::create_dir(&shared)?;
    mount_tmpfs(&shared, 64 << 20, 0o1777)?;
    let terminals = devices.join("pts");
    fs::create_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Terminals are a convenience: where the kernel refuses them, programs that want one fail by themselves.
    let _ = mount("devpts", &terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620");
    Ok(())
}

/// Covers the files of a directory of the system that only the super-user may read. For everyone else the system does it.
fn hide_private_files(directory: &Path) -> io::Result<()> {
    if fs::metadata(outside(Path::new("/proc/self")))?.uid() == 0 || is_super_user() {
        hide_below(directory, 4)?;
    }
    Ok(())
}

/// Whether the user outside of the namespace is the super-user.
fn is_super_user() -> bool {
    let map = fs::read_to_string(outside(Path::new("/proc/self/uid_map"))).unwrap_or_default();
    geteuid().is_root() || map.split_whitespace().nth(1) == Some("0")
}

fn hide_below(directory: &Path, depth: usize) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let is_private = found.permissions().mode() & 0o004 == 0;
        if found.is_file() && is_private {
            mount_bind_recursive(outside(Path::new("/dev/null")), entry.path())?;
        } else if found.is_dir() && is_private {
            mount_tmpfs(entry.path(), 4096, 0o000)?;
        } else if found.is_dir() && depth > 0 {
            hide_below(&entry.path(), depth - 1)?;
        }
    }
    Ok(())
}
