//! Verification of a chain.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

use crate::{
    chain::{Head, LineHash, Link},
    file_set::{AuditError, FileSet},
};

/// How many problems are reported.
const MAX_PROBLEMS: usize = 20;
/// How often a set is read again that was rotated meanwhile.
const MAX_TRIES: usize = 5;

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many records there are.
    pub records: u64,
    /// The numbers of the first and the last.
    pub range: Option<(u64, u64)>,
    /// What is wrong; none if every record is there and as it was written.
    pub problems: Vec<String>,
}

/// Verifies the records of a set, from the oldest file to the newest.
///
/// # Errors
/// If a file cannot be read.
pub fn verify(set: &FileSet) -> Result<Verification, AuditError> {
    for _ in 1..MAX_TRIES {
        let before = head(set)?;
        let verification = verify_once(set, before)?;
        let is_same = |now: Result<Head, String>| match (before, now) {
            (Ok(before), Ok(now)) => before.first == now.first,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        // A hub that writes may have removed the oldest file meanwhile.
        if verification.problems.is_empty() || is_same(head(set)?.map_err(str::to_owned)) {
            return Ok(verification);
        }
    }
    verify_once(set, head(set)?)
}

/// The head, or what is wrong with it.
fn head(set: &FileSet) -> Result<Result<Head, &'static str>, AuditError> {
    match set.head() {
        Ok(Some(head)) => Ok(Ok(head)),
        Ok(None) => Ok(Err("the head is missing, so that records may be missing at the end")),
        Err(AuditError::BadHead { .. }) => {
            Ok(Err("the head is damaged, so that records may be missing at the end"))
        }
        Err(error) => Err(error),
    }
}

fn verify_once(set: &FileSet, head: Result<Head, &'static str>) -> Result<Verification, AuditError> {
    let mut found = Verification::default();
    if let Err(problem) = head {
        found.problems.push(problem.to_owned());
    }
    let mut chain = Chain { last: None, found };
    for path in set.files()? {
        let failed = |source| AuditError::Io { verb: "read", path: path.clone(), source };
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue, // rotated meanwhile
            opened => opened.map_err(failed)?,
        };
        let mut reader = BufReader::new(file);
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            number += 1;
            if reader.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                break;
            }
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    chain.next(line, head.ok(), || format!("{name}:{number}"));
                }
                // It is being written, or its process was killed: nobody was told that it was written.
                None => break,
            }
        }
    }
    Ok(chain.end(head.ok()))
}

struct Chain {
    /// The number and the hash of the last record.
    last: Option<(u64, LineHash)>,
    found: Verification,
}

impl Chain {
    fn problem(&mut self, problem: String) {
        if self.found.problems.len() < MAX_PROBLEMS {
            self.found.problems.push(problem);
        }
    }

    fn next(&mut self, line: &[u8], head: Option<Head>, place: impl Fn() -> String) {
        let Some(Link { seq, prev }) = Link::of(line) else {
            return self.problem(format!("{}: this is not a record", place()));
        };
        let hash = LineHash::of(line);
        self.found.records += 1;
        match self.last {
            None => {
                if let Some(head) = head
                    && seq > head.first
                {
                    self.problem(format!(
                        "records {} to {} are missing at the beginning",
                        head.first,
                        seq - 1
                    ));
                }
            }
            Some((last, last_hash)) => {
                if seq > last + 1 {
                    self.problem(format!("{}: records {} to {} are missing", place(), last + 1, seq - 1));
                } else if seq <= last {
                    self.problem(format!("{}: record {seq} is out of order", place()));
                } else if prev != last_hash {
                    self.problem(format!("{}: record {last} was changed", place()));
                }
            }
        }
        if let Some(head) = head {
            if seq == head.first && prev != head.first_prev {
                self.problem(format!("{}: record {seq} was changed", place()));
            }
            if seq == head.seq && hash != head.hash {
                self.problem(format!("{}: record {seq} was changed", place()));
            }
        }
        let (first, _) = self.found.range.unwrap_or((seq, seq));
        self.found.range = Some((first, seq));
        self.last = Some((seq, hash));
    }

    fn end(mut self, head: Option<Head>) -> Verification {
        let last = self.last.map(|(seq, _)| seq);
        if let Some(head) = head
            && last.unwrap_or(head.first - 1) < head.seq
        {
            let from = last.map_or(head.first, |last| last + 1);
            self.problem(format!("records {from} to {} are missing at the end", head.seq));
        }
        self.found
    }
}
