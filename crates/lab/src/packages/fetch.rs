//! A folder of fetched packages: each archive and what is in it, kept from run to run.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::{
    Lock,
    lock::Pinned,
    registry::{Offer, Registries, download},
    unpack::unpack,
};

/// Registries are shared by many: few at a time.
const AT_ONCE: usize = 6;

/// A package on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// `language/name`.
    pub(crate) package: String,
    /// Its files, unpacked.
    pub(crate) folder: PathBuf,
}

/// Fetched archives below one folder.
#[derive(Debug)]
pub(crate) struct Library {
    folder: PathBuf,
}

impl Library {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Asks the registries for every package of a list and pins what they offer today. The second result are those that cannot be
    /// had, with the reason.
    pub(crate) fn pin(&self, list: &[String]) -> Result<(Lock, Vec<String>)> {
        let registries = Registries::new(&self.folder)?;
        self.pin_with(list, |package| registries.find(package))
    }

    /// The same with another way to find a package.
    pub(crate) fn pin_with(
        &self,
        list: &[String],
        find: impl Fn(&str) -> Result<Offer> + Sync,
    ) -> Result<(Lock, Vec<String>)> {
        let found = each(list, |package| {
            let offer = find(package)?;
            let archive = self.archive(package, &offer.url)?;
            if !archive.exists() {
                download(&offer.url, &archive)?;
            }
            let sha256 = checksum(&archive)?;
            Ok((package.clone(), Pinned { version: offer.version, url: offer.url, sha256 }))
        });
        let mut lock = Lock::default();
        let mut missing = Vec::new();
        for (package, found) in list.iter().zip(found) {
            match found {
                Ok((package, pinned)) => drop(lock.packages.insert(package, pinned)),
                Err(error) => missing.push(format!("{package}: {error:#}")),
            }
        }
        Ok((lock, missing))
    }

    /// Everything that is pinned, fetched and unpacked. What is here already is not fetched again; what is not exactly what was
    /// pinned is an error.
    pub(crate) fn fetch(&self, lock: &Lock) -> Result<Vec<Source>> {
        let pinned: Vec<_> = lock.packages.iter().collect();
        let sources = each(&pinned, |(package, pinned)| {
            let folder = self.folder.join("source").join(package);
            if !folder.exists() {
                let archive = self.archive(package, &pinned.url)?;
                if !archive.exists() {
                    download(&pinned.url, &archive)?;
                }
                ensure!(
                    checksum(&archive)? == pinned.sha256,
                    "{package}: {} is not what was pinned",
                    pinned.url
                );
                unpack(&archive, &folder)?;
            }
            Ok(Source { package: (*package).clone(), folder })
        });
        sources.into_iter().collect()
    }

    fn archive(&self, package: &str, url: &str) -> Result<PathBuf> {
        let file = url.rsplit('/').next().context("an address without a file name")?;
        let folder = self.folder.join("archive").join(package);
        fs::create_dir_all(&folder)?;
        Ok(folder.join(file))
    }
}

fn checksum(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The same for each, a few at once; the results in order.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R> + Sync) -> Vec<Result<R>> {
    let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..items.len()).collect());
    let done: Mutex<Vec<Option<Result<R>>>> = Mutex::new(items.iter().map(|_| None).collect());
    let next = || waiting.lock().expect("nobody panics with it").pop_front();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(at) = next() {
                    let result = work(&items[at]);
                    done.lock().expect("nobody panics with it")[at] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().expect("nobody panics with it");
    done.into_iter().map(|result| result.expect("every item was taken")).collect()
}
