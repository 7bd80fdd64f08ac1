//! Where a secret comes from, such as the key of a service.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use rustix::fs::{Mode, OFlags};

/// Where a secret comes from. It is asked for each use, so a secret that is replaced is used from then on.
pub trait SecretSource: fmt::Debug + Send + Sync {
    /// Returns the secret. May block for the time of reading a small file.
    ///
    /// # Errors
    /// If there is none.
    fn read(&self) -> Result<String, SecretError>;
}

/// Why there is no secret. Never contains one.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The value is empty.
    #[error("{name} is empty")]
    Empty {
        /// The variable or file.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A secret that is known already, from an environment variable for example.
#[derive(Clone)]
pub struct SecretValue {
    name: String,
    value: String,
}

impl SecretValue {
    /// A secret. `name` says where it comes from, for messages: `BRAVE_API_KEY`.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

impl SecretSource for SecretValue {
    fn read(&self) -> Result<String, SecretError> {
        trimmed(&self.value, || self.name.clone())
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretValue({})", self.name)
    }
}

/// A file that contains a secret and nothing else. Blanks around it do not count.
#[derive(Debug, Clone)]
pub struct SecretFile(pub PathBuf);

impl SecretSource for SecretFile {
    fn read(&self) -> Result<String, SecretError> {
        /// Keys are short; whatever is longer is another file.
        const MAX_LENGTH: u64 = 64 * 1024;
        let unreadable = |source| SecretError::Unreadable { path: self.0.clone(), source };
        // Neither a FIFO nor a terminal makes this wait.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(&self.0, flags, Mode::empty()).map_err(|errno| unreadable(errno.into()))?;
        let file = File::from(file);
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() || metadata.len() > MAX_LENGTH {
            return Err(unreadable(io::Error::other("it is not a small regular file")));
        }
        let mut text = String::new();
        file.take(MAX_LENGTH).read_to_string(&mut text).map_err(unreadable)?;
        trimmed(&text, || format!("the file {}", self.0.display()))
    }
}

fn trimmed(secret: &str, name: impl Fn() -> String) -> Result<String, SecretError> {
    match secret.trim() {
        "" => Err(SecretError::Empty { name: name() }),
        secret => Ok(secret.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{SecretFile, SecretSource, SecretValue};

    #[test]
    fn secrets_are_trimmed_and_never_printed() {
        let value = SecretValue::new("KEY", " s3cret\n");
        assert_eq!(value.read().unwrap(), "s3cret");
        assert_eq!(format!("{value:?}"), "SecretValue(KEY)");
        assert_eq!(SecretValue::new("KEY", " ").read().unwrap_err().to_string(), "KEY is empty");
    }

    #[test]
    fn a_file_is_read_each_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = SecretFile(directory.path().join("key"));
        assert!(file.read().unwrap_err().to_string().contains("cannot read the file"));
        for secret in ["one", "two"] {
            fs::write(&file.0, format!("{secret}\n")).unwrap();
            assert_eq!(file.read().unwrap(), secret);
        }
        fs::write(&file.0, "\n").unwrap();
        assert!(file.read().unwrap_err().to_string().ends_with("key is empty"));
        assert!(SecretFile("/dev/zero".into()).read().is_err());
    }
}
