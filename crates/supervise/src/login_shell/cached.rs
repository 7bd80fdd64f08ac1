//! The environment of the user's login shell, kept on disk.
//!
//! Asking a shell takes up to seconds. Its output is kept for its user only, because it may hold secrets, and counts while
//! the shell, what it is started with and its start-up files are the same, at most for 24 hours.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio_util::task::TaskTracker;

use super::{login_environment, variables};
use crate::shim::Shim;

/// How long a cached environment counts: what start-up files load may change without them.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// More than any shell prints.
const MAX_CACHE: u64 = 2 * 1024 * 1024;
/// Files and folders from which shells and logins take variables.
const START_UP: [&str; 14] = [
    "/etc/environment",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zshenv",
    "/etc/zprofile",
    "/etc/zshrc",
    "/etc/zsh/zshenv",
    "/etc/zsh/zprofile",
    "/etc/zsh/zshrc",
    "/etc/fish/config.fish",
    "/etc/fish/conf.d",
    "/etc/csh.cshrc",
];
/// The same below the home.
const START_UP_AT_HOME: [&str; 20] = [
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".bash_aliases",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".config/zsh/.zshenv",
    ".config/zsh/.zprofile",
    ".config/zsh/.zshrc",
    ".config/fish/config.fish",
    ".config/fish/conf.d",
    ".config/fish/fish_variables",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".pam_environment",
];

type Variables = BTreeMap<OsString, OsString>;

/// The login shell of the user who runs this process.
#[derive(Debug, Clone)]
pub struct LoginShell {
    shell: PathBuf,
    /// What it is started with.
    env: Variables,
    cache: Option<PathBuf>,
}

impl LoginShell {
    /// The shell of the user's account in `/etc/passwd`; of one that is not listed there, `SHELL` in `env`. It is started
    /// with `env` and nothing else, completed from the account. Its output is kept in the file `cache`.
    pub fn of_user(mut env: Variables, cache: Option<PathBuf>) -> Self {
        if let Some(account) = Account::find() {
            let Account { name, home, shell } = account;
            for (variable, value) in [("HOME", home), ("USER", name.clone()), ("LOGNAME", name)] {
                env.entry(variable.into()).or_insert(value);
            }
            env.insert("SHELL".into(), shell);
        }
        let shell = env.get(OsStr::new("SHELL")).map(PathBuf::from).filter(|shell| is_login_shell(shell));
        Self { shell: shell.unwrap_or_else(|| PathBuf::from("/bin/sh")), env, cache }
    }

    /// The same, with another program.
    pub fn with_program(self, shell: &Path) -> Self {
        Self { shell: shell.to_owned(), ..self }
    }

    /// Returns its environment. When the shell prints none within 3 s, the cached one, else the one it was started with; the
    /// log says so.
    pub async fn environment(&self, shim: &Shim, tasks: &TaskTracker) -> Variables {
        let cache = self.cache.as_deref().map(|path| Cache { path, stamp: self.stamp() });
        let cached = cache.as_ref().and_then(Cache::read);
        if let Some(Cached { variables, is_fresh: true }) = cached {
            return variables;
        }
        match login_environment(&self.shell, self.env.clone(), shim, tasks).await {
            Ok(variables) => {
                if let Some(Err(error)) = cache.map(|cache| cache.write(&variables)) {
                    tracing::warn!(%error, "cannot keep the environment of the login shell");
                }
                variables
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
                let cause = cause.unwrap_or_default();
                let instead = if cached.is_some() { "its last answer" } else { "a minimal environment" };
                tracing::warn!(shell = %self.shell.display(), "{error}{cause}; {instead} is used");
                cached.map_or_else(|| self.env.clone(), |cached| cached.variables)
            }
        }
    }

    /// Differs when the shell, what it is started with, or its start-up files differ.
    fn stamp(&self) -> Vec<u8> {
        let mut stamp = Vec::new();
        for (name, value) in &self.env {
            stamp.extend([name.as_bytes(), b"=", value.as_bytes(), b"\n"].concat());
        }
        let home = self.env.get(OsStr::new("HOME")).map(Path::new).unwrap_or(Path::new("/"));
        let at_home = START_UP_AT_HOME.iter().map(|file| home.join(file));
        let mut files = String::new();
        for file in START_UP.iter().map(PathBuf::from).chain(at_home).chain([self.shell.clone()]) {
            // That a file is not there is a fact, too.
            let state = fs::metadata(&file).map(|file| (file.mtime(), file.mtime_nsec(), file.size())).ok();
            let _ = writeln!(files, "{} {state:?}", file.display());
        }
        stamp.extend(files.into_bytes());
        stamp
    }
}

/// Whether a program is a shell for people, and not one that refuses them.
fn is_login_shell(shell: &Path) -> bool {
    shell.is_absolute() && !["nologin", "false", "true"].iter().any(|name| shell.ends_with(name))
}

fn our_uid() -> Option<u32> {
    Some(fs::metadata("/proc/self").ok()?.uid())
}

/// A line of `/etc/passwd`.
struct Account {
    name: OsString,
    home: OsString,
    shell: OsString,
}

impl Account {
    fn find() -> Option<Self> {
        Self::of(our_uid()?, &fs::read("/etc/passwd").ok()?)
    }

    fn of(uid: u32, passwd: &[u8]) -> Option<Self> {
        let uid = uid.to_string();
        passwd.split(|byte| *byte == b'\n').find_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
            let [name, _, id, _, _, home, shell] = fields[..] else { return None };
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            let is_ours = id == uid.as_bytes() && !shell.is_empty();
            is_ours.then(|| Self { name: text(name), home: text(home), shell: text(shell) })
        })
    }
}

/// The cached environment: a stamp, then variables, each ended by NUL.
struct Cache<'a> {
    path: &'a Path,
    stamp: Vec<u8>,
}

struct Cached {
    variables: Variables,
    /// Whether nothing changed since.
    is_fresh: bool,
}

impl Cache<'_> {
    /// Returns what is cached, if only this user can write it: no other user may choose what we run.
    fn read(&self) -> Option<Cached> {
        let file = OpenOptions::new().read(true).open(self.path).ok()?;
        let metadata = file.metadata().ok()?;
        let is_private = metadata.mode() & 0o077 == 0 && Some(metadata.uid()) == our_uid();
        if !metadata.is_file() || !is_private {
            return None;
        }
        let mut text = Vec::new();
        file.take(MAX_CACHE).read_to_end(&mut text).ok()?;
        let end = memchr::memchr(0, &text)?;
        let variables = variables(&text[end + 1..]);
        let age = SystemTime::now().duration_since(metadata.modified().ok()?);
        let is_fresh = text[..end] == self.stamp && age.is_ok_and(|age| age < MAX_AGE);
        (!variables.is_empty()).then_some(Cached { variables, is_fresh })
    }

    /// Replaces the file as a whole.
    fn write(&self, variables: &Variables) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Processes that start at once have a file each on its way.
        let unfinished = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut text = self.stamp.clone();
        text.push(0);
        for (name, value) in variables {
            text.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
        let written =
            file.and_then(|mut file| file.write_all(&text)).and_then(|()| fs::rename(&unfinished, self.path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_of_an_account_is_found() {
        let passwd = b"root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000::/home/me:/usr/bin/zsh\nodd\n";
        let account = Account::of(1000, passwd).unwrap();
        assert_eq!((account.home, account.shell), ("/home/me".into(), "/usr/bin/zsh".into()));
        assert!(Account::of(7, passwd).is_none());
        assert!(is_login_shell(Path::new("/bin/sh")) && !is_login_shell(Path::new("/usr/sbin/nologin")));
    }
}
