//! Catalogs of servers, cached on disk.
//!
//! A host that starts cold can list at once what slow servers will offer in a minute. Entries are named after the hash of
//! the launch, so that a server which is launched otherwise begins anew. Everything here may fail: then a server is
//! simply not known before it is up.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use toolbay_config::{Durability, ServerConfig, replace_file};
use toolbay_upstream::Catalog;

/// A larger file is none of ours.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// The folder of the cache.
#[derive(Debug)]
pub(crate) struct CatalogCache {
    folder: PathBuf,
}

impl CatalogCache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// What a server offered when it was last seen.
    pub(crate) fn load(&self, config: &ServerConfig) -> Option<Arc<Catalog>> {
        let path = self.path(config);
        if fs::metadata(&path).ok()?.len() > MAX_FILE {
            return None;
        }
        let catalog = Catalog::from_json(&fs::read(path).ok()?)?;
        Some(Arc::new(catalog))
    }

    /// Keeps what a server offers.
    pub(crate) fn store(&self, config: &ServerConfig, catalog: &Catalog) {
        if let Err(error) = self.write(config, catalog) {
            tracing::warn!(server = %config.name, %error, "cannot cache the catalog of the server");
        }
    }

    /// A file is written whole or not at all, also when others write the same.
    fn write(&self, config: &ServerConfig, catalog: &Catalog) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Descriptions are not secret, but only for this user.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".{}-{number}", std::process::id()));
        let content = catalog.to_json();
        replace_file(&self.path(config), &draft, content.as_bytes(), 0o600, Durability::Cached)
    }

    fn path(&self, config: &ServerConfig) -> PathBuf {
        self.folder.join(format!("{}.json", config.launch_hash()))
    }
}
