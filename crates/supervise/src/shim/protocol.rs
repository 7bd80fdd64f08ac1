//! What host and shim say to each other over the control socket.
//!
//! First the host sends one byte with four descriptors: an [`StartRequest`] in memory, and the server's stdin, stdout, stderr.
//! Passed so, nothing blocks however long the order is, no descriptor can leak into another child, and no secret shows
//! in a command line. Then the host sends [`Request`] bytes, the shim [`ShimMessage`]s of a fixed length.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, IoSlice, IoSliceMut, Read, Seek, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::PathBuf,
};

use rustix::{
    cmsg_space,
    fs::{MemfdFlags, memfd_create},
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, recvmsg, sendmsg,
    },
};

const DESCRIPTORS: usize = 4;

/// What the shim shall start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StartRequest {
    pub(crate) program: PathBuf,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

/// The server's ends of its pipes.
#[derive(Debug)]
pub(crate) struct Stdio {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Host to shim. Closing the socket is the third request: kill all and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// SIGTERM to the whole tree.
    Terminate = b'T' as isize,
    /// SIGKILL to the whole tree.
    Kill = b'K' as isize,
}

/// Shim to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShimMessage {
    /// The server runs under this process id.
    Started(i32),
    /// The system refused to execute it, with this error number.
    Refused(i32),
    /// The server ended with this wait status. What it left is being ended.
    Ended(i32),
}

impl Request {
    pub(crate) fn to_byte(self) -> u8 {
        self as u8
    }

    /// Anything else than a request comes from a host we do not understand: nothing to do.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Terminate, Self::Kill].into_iter().find(|request| request.to_byte() == byte)
    }
}

impl ShimMessage {
    pub(crate) const LENGTH: usize = 5;

    pub(crate) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let (tag, value) = match self {
            Self::Started(pid) => (b'S', pid),
            Self::Refused(error) => (b'R', error),
            Self::Ended(status) => (b'E', status),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(crate) fn from_bytes([tag, a, b, c, d]: [u8; Self::LENGTH]) -> Option<Self> {
        let value = i32::from_le_bytes([a, b, c, d]);
        match tag {
            b'S' => Some(Self::Started(value)),
            b'R' => Some(Self::Refused(value)),
            b'E' => Some(Self::Ended(value)),
            _ => None,
        }
    }
}

/// Sends order and stdio. Never blocks: one byte fits into a fresh socket.
pub(crate) fn send_order(socket: impl AsFd, order: &StartRequest, stdio: &Stdio) -> io::Result<()> {
    let mut file = File::from(memfd_create("launch", MemfdFlags::CLOEXEC)?);
    file.write_all(&order.encode())?;
    let descriptors = [file.as_fd(), stdio.stdin.as_fd(), stdio.stdout.as_fd(), stdio.stderr.as_fd()];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(b"L")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives order and stdio.
pub(crate) fn receive_order(socket: impl AsFd) -> io::Result<(StartRequest, Stdio)> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let mut descriptors = descriptors.next().into_iter().flatten();
    let mut next = || descriptors.next().ok_or_else(malformed);
    let mut file = File::from(next()?);
    let stdio = Stdio { stdin: next()?, stdout: next()?, stderr: next()? };
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok((StartRequest::decode(&bytes).ok_or_else(malformed)?, stdio))
}

fn malformed() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

impl StartRequest {
    /// Length-prefixed strings: program, cwd (empty for none), the number of arguments, these, name and value by turns.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |part: &OsStr| {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        };
        put(self.program.as_os_str());
        put(self.cwd.as_deref().unwrap_or("".as_ref()).as_os_str());
        put(self.args.len().to_string().as_ref());
        self.args.iter().for_each(|argument| put(argument));
        for (name, value) in &self.env {
            put(name);
            put(value);
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut take = || {
            let (length, rest) = bytes.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (part, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            Some(OsString::from_vec(part.to_owned()))
        };
        let program = take()?.into();
        let cwd = Some(PathBuf::from(take()?)).filter(|cwd| !cwd.as_os_str().is_empty());
        let count: usize = take()?.to_str()?.parse().ok()?;
        let args = (0..count).map(|_| take()).collect::<Option<_>>()?;
        let mut env = Vec::new();
        while let Some(name) = take() {
            env.push((name, take()?));
        }
        Some(Self { program, cwd, args, env })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_arrives_as_it_was_sent() {
        let order = StartRequest {
            program: "/bin/sh".into(),
            cwd: Some("/tmp".into()),
            args: vec!["".into(), OsString::from_vec(vec![0xff, b'\n'])],
            env: vec![("A".into(), "".into()), ("B".into(), "x".repeat(300_000).into())],
        };
        let stdio = || Ok::<_, io::Error>(OwnedFd::from(File::open("/dev/null")?));
        let (host, shim) = std::os::unix::net::UnixStream::pair().unwrap();
        let sent = Stdio { stdin: stdio().unwrap(), stdout: stdio().unwrap(), stderr: stdio().unwrap() };
        send_order(&host, &order, &sent).unwrap();
        let (received, _) = receive_order(&shim).unwrap();
        assert_eq!(received, order);
        assert_eq!(StartRequest::decode(&StartRequest::default().encode()), Some(StartRequest::default()));
        assert_eq!(StartRequest::decode(&order.encode()[..20]), None);
    }

    #[test]
    fn reports_and_requests_survive_the_socket() {
        for report in [ShimMessage::Started(1), ShimMessage::Refused(13), ShimMessage::Ended(-1)] {
            assert_eq!(ShimMessage::from_bytes(report.to_bytes()), Some(report));
        }
        for request in [Request::Terminate, Request::Kill] {
            assert_eq!(Request::from_byte(request.to_byte()), Some(request));
        }
        assert_eq!(Request::from_byte(b'?'), None);
    }
}
