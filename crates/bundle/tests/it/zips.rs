//! Archives, byte by byte: no writer of archives would write the ones that we must refuse.

use std::io::Write;

use flate2::{Compression, Crc, write::DeflateEncoder};

/// An entry; what it says about itself may be a lie.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) name: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) claimed_size: Option<u32>,
    pub(crate) claimed_crc: Option<u32>,
}

/// A harmless file.
pub(crate) fn file(name: &str, data: impl AsRef<[u8]>) -> Entry {
    Entry {
        name: name.into(),
        data: data.as_ref().to_vec(),
        mode: 0o100_644,
        method: 8,
        flags: 0,
        claimed_size: None,
        claimed_crc: None,
    }
}

/// The archive.
pub(crate) fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = bytes.len() as u32;
        let packed = match entry.method {
            8 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(&entry.data).unwrap();
                encoder.finish().unwrap()
            }
            _ => entry.data.clone(),
        };
        let mut crc = Crc::new();
        crc.update(&entry.data);
        let mut common = Vec::new();
        for short in [20, entry.flags, entry.method, 0, 0x21] {
            common.extend(short.to_le_bytes());
        }
        let size = entry.claimed_size.unwrap_or(entry.data.len() as u32);
        for long in [entry.claimed_crc.unwrap_or(crc.sum()), packed.len() as u32, size] {
            common.extend(long.to_le_bytes());
        }
        common.extend((entry.name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());

        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(&entry.name);
        bytes.extend(packed);

        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let count = (entries.len() as u16).to_le_bytes();
    bytes.extend(count.iter().chain(&count));
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}
