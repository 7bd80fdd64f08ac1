//! Just enough HTTP/2 to send a request and take it back.

use std::{io::Write, net::SocketAddr, net::TcpStream};

use anyhow::Result;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const STREAM: u32 = 1;
/// The error code of a client that no longer wants an answer.
const CANCEL: [u8; 4] = [0, 0, 0, 8];

/// A request that is on its way.
#[derive(Debug)]
pub struct Http2Request {
    connection: TcpStream,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    Data = 0,
    Headers = 1,
    Reset = 3,
    Settings = 4,
}

impl Http2Request {
    /// Sends a message, without a session, and waits for nothing.
    pub fn post(address: SocketAddr, body: &str) -> Result<Self> {
        let authority = address.to_string();
        let fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", authority.as_str()),
            (":path", "/mcp"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let mut headers = Vec::new();
        for (name, value) in fields {
            // Neither indexed nor compressed; all are shorter than what one byte of length can say.
            headers.push(0);
            for text in [name, value] {
                headers.push(u8::try_from(text.len())?);
                headers.extend_from_slice(text.as_bytes());
            }
        }
        let mut request = Self { connection: TcpStream::connect(address)? };
        request.connection.write_all(PREFACE)?;
        request.frame(Frame::Settings, 0, 0, &[])?;
        request.frame(Frame::Headers, 4, STREAM, &headers)?;
        request.frame(Frame::Data, 1, STREAM, body.as_bytes())?;
        Ok(request)
    }

    /// Takes the request back; the connection stays.
    pub fn reset(&mut self) -> Result<()> {
        self.frame(Frame::Reset, 0, STREAM, &CANCEL)
    }

    fn frame(&mut self, kind: Frame, flags: u8, stream: u32, payload: &[u8]) -> Result<()> {
        let length = u32::try_from(payload.len())?.to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind as u8, flags];
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(payload);
        Ok(self.connection.write_all(&frame)?)
    }
}
