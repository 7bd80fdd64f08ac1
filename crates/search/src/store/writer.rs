//! [`ContainerWriter`]: a container being written.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::folder::UNFINISHED;
use super::{BLOCK, ContainerKind, HEADER, HEADER_LEN, StoreError};

/// Writes a container section by section: [`ContainerWriter::section`], then the bytes through [`Write`], at last
/// [`ContainerWriter::finish`]. Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub struct ContainerWriter {
    file: BufWriter<File>,
    unfinished: PathBuf,
    finished: PathBuf,
    header: [u8; HEADER_LEN as usize],
    sections: Vec<Written>,
    /// Bytes of the current block that have not reached the file.
    block: Vec<u8>,
    at: u64,
}

#[derive(Debug)]
struct Written {
    name: &'static str,
    start: u64,
    len: u64,
    checksums: Vec<u32>,
}

impl ContainerWriter {
    pub(super) fn create(folder: &Path, name: &str, kind: ContainerKind) -> Result<Self, StoreError> {
        let unfinished = folder.join(format!("{UNFINISHED}{name}"));
        let file = File::create(&unfinished).map_err(StoreError::io(&unfinished))?;
        let mut header = [0; HEADER_LEN as usize];
        header[..8].copy_from_slice(HEADER);
        header[8..12].copy_from_slice(&kind.name);
        header[12..].copy_from_slice(&kind.version.to_le_bytes());
        let mut writer = Self {
            file: BufWriter::with_capacity(1 << 18, file),
            finished: folder.join(name),
            unfinished,
            header,
            sections: Vec::new(),
            block: Vec::with_capacity(BLOCK),
            at: HEADER_LEN,
        };
        writer.file.write_all(&header).map_err(StoreError::io(&writer.unfinished))?;
        Ok(writer)
    }

    /// Begins the section `name`; what is written from here on belongs to it.
    ///
    /// # Errors
    /// If the end of the section before cannot be written.
    pub fn section(&mut self, name: &'static str) -> Result<(), StoreError> {
        self.end_block().map_err(StoreError::io(&self.unfinished))?;
        self.sections.push(Written { name, start: self.at, len: 0, checksums: Vec::new() });
        Ok(())
    }

    /// Writes the current section's next bytes.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_all(bytes).map_err(StoreError::io(&self.unfinished))
    }

    /// Puts the file in its place, once all of it is on the disk.
    ///
    /// # Errors
    /// If it cannot be written; what was there before is still there then.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.complete().map_err(StoreError::io(&self.finished))
    }

    fn complete(&mut self) -> io::Result<()> {
        self.end_block()?;
        let table = self.table();
        let mut sum = crc32fast::Hasher::new();
        sum.update(&self.header);
        sum.update(&table);
        self.file.write_all(&table)?;
        self.file.write_all(&self.at.to_le_bytes())?;
        self.file.write_all(&(table.len() as u64).to_le_bytes())?;
        self.file.write_all(&sum.finalize().to_le_bytes())?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.unfinished, &self.finished)?;
        // The new name, too, must survive a loss of power.
        self.finished.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    fn table(&self) -> Vec<u8> {
        let mut table = Vec::new();
        for section in &self.sections {
            table.push(section.name.len() as u8);
            table.extend_from_slice(section.name.as_bytes());
            table.extend_from_slice(&section.start.to_le_bytes());
            table.extend_from_slice(&section.len.to_le_bytes());
            for checksum in &section.checksums {
                table.extend_from_slice(&checksum.to_le_bytes());
            }
        }
        table
    }

    fn end_block(&mut self) -> io::Result<()> {
        let Some(section) = self.sections.last_mut() else { return Ok(()) };
        if !self.block.is_empty() {
            section.checksums.push(crc32fast::hash(&self.block));
            section.len += self.block.len() as u64;
            self.at += self.block.len() as u64;
            self.file.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }
}

impl Write for ContainerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK {
            self.end_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ContainerWriter {
    fn drop(&mut self) {
        // After `finish` there is no such file; if it cannot be removed, the next holder of the lock does it.
        let _ = fs::remove_file(&self.unfinished);
    }
}
