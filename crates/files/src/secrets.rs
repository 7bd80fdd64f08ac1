//! Files whose names indicate secrets: the one list for everything that shows files to a model.
//!
//! A model that reads a key may send it anywhere. The list is about names that are common and mean nothing else; what is
//! in a file is not looked at, and a second name of a file (a hard link) is a name like any other.

use crate::RelPath;

/// Whether files whose names indicate secrets are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Secrets {
    /// As if they were not readable.
    #[default]
    Hidden,
    /// Like any other file.
    Shown,
}

/// Folders in which everything is secret.
const FOLDERS: [&str; 8] =
    [".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".password-store", ".private-keys"];

/// Names of files, wherever they are.
const FILES: [&str; 34] = [
    ".authinfo",
    ".boto",
    ".dockercfg",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".terraformrc",
    ".vault-token",
    ".yarnrc.yml",
    "_netrc",
    "application_default_credentials.json",
    "client_secret.json",
    "credentials.json",
    "credentials.toml",
    "credentials.yaml",
    "credentials.yml",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "service-account.json",
];

/// Names that are secret in a folder of this name, however deep: `.git/config` has the tokens of remotes.
const FILES_IN: [(&str, &str); 5] = [
    (".git", "config"),
    (".git", "config.worktree"),
    (".git", "credentials"),
    (".docker", "config.json"),
    (".cargo", "credentials"),
];

/// Ends of names.
const ENDS: [&str; 12] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".pkcs12",
    ".keystore",
    ".jks",
    ".ppk",
    ".kdbx",
    ".env",
    ".tfvars",
    ".tfstate",
];

/// What makes an environment file one to be shown: `.env.example`.
const SAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".defaults"];

impl Secrets {
    /// Whether this hides a file.
    pub fn hide_file(self, path: &RelPath) -> bool {
        self == Self::Hidden && is_secret(path.as_bytes())
    }

    /// Whether this hides a folder, with everything in it.
    pub fn hide_folder(self, path: &RelPath) -> bool {
        self == Self::Hidden && parts(path.as_bytes()).any(is_secret_folder)
    }

    /// Whether this hides what a walk found, that is, what is in a folder that is not hidden.
    pub fn hide_found(self, path: &[u8], is_folder: bool) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        self == Self::Hidden && if is_folder { is_secret_folder(name) } else { is_secret(path) }
    }
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

fn is_secret_folder(name: &[u8]) -> bool {
    FOLDERS.iter().any(|folder| name.eq_ignore_ascii_case(folder.as_bytes()))
}

/// Case does not matter: some file systems ignore it, and `.ENV` means nothing else.
fn is_secret(path: &[u8]) -> bool {
    let (folders, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    let is_in = |folder: &str| parts(folders).any(|part| part.eq_ignore_ascii_case(folder.as_bytes()));
    FILES.iter().any(|known| is(known))
        || ENDS.iter().any(|end| ends_with(name, end))
        || (starts_with(name, ".env") && !SAMPLES.iter().any(|end| ends_with(name, end)))
        || FILES_IN.iter().any(|(folder, known)| is(known) && is_in(folder))
        || parts(folders).any(is_secret_folder)
}

fn starts_with(name: &[u8], start: &str) -> bool {
    name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

fn ends_with(name: &[u8], end: &str) -> bool {
    let at = name.len().checked_sub(end.len());
    at.is_some_and(|at| name[at..].eq_ignore_ascii_case(end.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn names_of_secrets_are_known_whatever_their_case_and_folder() {
        for name in [
            ".env",
            ".env.local",
            ".ENV.Production",
            ".envrc",
            "prod.env",
            "server.pem",
            "SERVER.KEY",
            "id_rsa",
            "id_ed25519",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git/config",
            ".git/modules/x/config",
            ".git-credentials",
            ".aws/credentials",
            ".ssh/known_hosts",
            ".gnupg/x/y",
            ".Kube/config",
            ".docker/config.json",
            "a.p12",
            "a.pfx",
            "a.keystore",
            ".htpasswd",
            "credentials.json",
        ] {
            for path in [path(name), path(&format!("deep/er/{name}"))] {
                assert!(Secrets::Hidden.hide_file(&path), "{path}");
                assert!(!Secrets::Shown.hide_file(&path), "{path}");
            }
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            ".env.example",
            ".env.sample",
            ".env.template",
            ".env.local.example",
            "env",
            "environment.rs",
            "src/key.rs",
            "keys.ts",
            "id_rsa.pub",
            "config",
            "config.json",
            ".github/config",
            "docker/config.json",
            "git/config",
            "monkey",
            "pem.md",
            "ssh/x",
            "credentials.rs",
            "Cargo.toml",
            ".gitignore",
        ] {
            assert!(!Secrets::Hidden.hide_file(&path(name)), "{name}");
        }
        // A folder may be called as it likes, such as that of a virtual environment.
        assert!(!Secrets::Hidden.hide_folder(&path(".env")));
        assert!(!Secrets::Hidden.hide_file(&path(".env/lib/site.py")));
        assert!(Secrets::Hidden.hide_folder(&path("home/.ssh")));
    }
}
