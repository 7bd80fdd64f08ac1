//! A program that tries to get out of a sandbox: `sandbox-test-program ATTACK TARGET…`. It exits with 0 if the attack
//! succeeds, and with 1 and the reason if it is stopped.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it does whatever a program can, and says how that went"
)]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    net::{SocketAddr as InternetAddress, TcpStream, UdpSocket},
    os::{
        fd::AsRawFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
    process::{Command, Stdio, exit},
    thread,
    time::Duration,
};

use rustix::{
    fs::FallocateFlags,
    net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendto, socketpair},
    process::{Pid, Signal, kill_process},
};
use toolbay_sandbox::Function;

fn main() {
    toolbay_sandbox::run_functions_if_asked(&[Function { name: "attack", run: attack_as_function }]);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (attack, target) = arguments.split_first().expect("an attack");
    let result = attempt(attack, target.first().map_or("", String::as_str));
    exit(report(result).into());
}

/// The attack and its target are the first line of the input.
fn attack_as_function() -> u8 {
    let mut line = String::new();
    io::stdin().read_line(&mut line).expect("the input can be read");
    let (attack, target) = line.trim_end().split_once(' ').expect("an attack and its target");
    report(attempt(attack, target))
}

fn report(result: io::Result<()>) -> u8 {
    match result {
        Ok(()) => {
            println!("succeeded");
            0
        }
        Err(error) => {
            println!("{error}");
            1
        }
    }
}

fn attempt(attack: &str, first: &str) -> io::Result<()> {
    match attack {
        "sleep" => {
            thread::sleep(Duration::from_secs(20));
            Ok(())
        }
        "read" => fs::read(first).map(|_| ()),
        "write" => {
            OpenOptions::new().create(true).append(true).open(first).and_then(|mut file| file.write_all(b"x"))
        }
        "open" => OpenOptions::new().write(true).open(first).map(|_| ()),
        "delete" => fs::remove_file(first),
        "tcp" => TcpStream::connect(first).map(|_| ()),
        "udp" => udp(first),
        "unix" => UnixStream::connect(first).map(|_| ()),
        "abstract" => {
            SocketAddr::from_abstract_name(first).and_then(|name| UnixStream::connect_addr(&name)).map(|_| ())
        }
        "datagram-pair" => datagram_pair(first),
        "memory-of" => memory_of(first),
        "ptrace" => ptrace(first),
        "signal" => pid(first).and_then(|pid| Ok(kill_process(pid, Signal::USR1)?)),
        "fork" => fork(first.parse().expect("a number")),
        "memory" => memory(first.parse().expect("a number")),
        "memory-behind-descriptors" => memory_behind_descriptors(first.parse().expect("a number")),
        "fill" => fill(first, 1),
        "fill-many" => fill(first, 20),
        "variable" => std::env::var_os(first).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into()),
        "second-numbers" => second_numbers(),
        "descriptors" => descriptors(),
        "list" => fs::read_dir(first).map(|_| ()),
        "run" => Command::new(first).status().map(|_| ()),
        "thread" => thread::Builder::new().spawn(|| ()).map(|_| ()),
        "executable-memory" => executable_memory(),
        _ => panic!("unknown attack {attack}"),
    }
}

#[expect(unsafe_code, reason = "attacks are system calls")]
fn executable_memory() -> io::Result<()> {
    // SAFETY: the mapping is new and nothing uses it.
    let mapped = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0)
    };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn pid(text: &str) -> io::Result<Pid> {
    text.parse().ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn udp(address: &str) -> io::Result<()> {
    let address: InternetAddress = address.parse().expect("an address");
    UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", address)?;
    Ok(())
}

/// A socket of a pair can send datagrams to others, too.
fn datagram_pair(path: &str) -> io::Result<()> {
    let (socket, _other) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::empty(), None)?;
    sendto(&socket, b"x", SendFlags::empty(), &SocketAddrUnix::new(path)?)?;
    Ok(())
}

fn memory_of(process: &str) -> io::Result<()> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let start = maps.split('-').next().and_then(|start| u64::from_str_radix(start, 16).ok());
    let memory = File::open(format!("/proc/{process}/mem"))?;
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut [0; 4], start.unwrap_or(0))
}

#[expect(unsafe_code, reason = "attacks are system calls")]
fn ptrace(process: &str) -> io::Result<()> {
    let pid = pid(process)?.as_raw_nonzero().get();
    // SAFETY: attaching takes no pointers.
    match unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Asks for a Unix socket by the number that the call has for x32 programs.
#[expect(unsafe_code, reason = "attacks are system calls")]
fn second_numbers() -> io::Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::syscall(0x4000_0000 + libc::SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn fork(count: usize) -> io::Result<()> {
    let mut children = Vec::new();
    for _ in 0..count {
        let mut command = Command::new(std::env::current_exe()?);
        children.push(command.arg("sleep").stdin(Stdio::null()).spawn()?);
    }
    thread::sleep(Duration::from_millis(500));
    for mut child in children {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

fn memory(mebibytes: usize) -> io::Result<()> {
    let mut blocks = Vec::new();
    for _ in 0..mebibytes / 10 {
        blocks.push(std::hint::black_box(vec![1_u8; 10 << 20]));
    }
    thread::sleep(Duration::from_millis(500));
    println!("{} blocks", blocks.len());
    Ok(())
}

fn memory_behind_descriptors(mebibytes: u64) -> io::Result<()> {
    let mut files = Vec::new();
    for _ in 0..mebibytes / 10 {
        let file = rustix::fs::memfd_create("attack", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 10 << 20)?;
        files.push(file);
    }
    thread::sleep(Duration::from_millis(500));
    println!("{} files", files.len());
    Ok(())
}

/// Fills `count` files, with 100 MiB each.
fn fill(directory: &str, count: u32) -> io::Result<()> {
    for number in 0..count {
        let size = if count == 1 { 100 << 20 } else { 8 << 20 };
        let file = File::create(format!("{directory}/fill-{number}"))?;
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size)?;
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    Ok(())
}

/// Looks for files that were left open.
fn descriptors() -> io::Result<()> {
    for number in 3..64 {
        let mut text = String::new();
        let path = format!("/proc/self/fd/{number}");
        if let Ok(mut file) = File::open(path)
            && file.as_raw_fd() != number
            && file.read_to_string(&mut text).is_ok()
            && text.contains("secret")
        {
            return Ok(());
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
