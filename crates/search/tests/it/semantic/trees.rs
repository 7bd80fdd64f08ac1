//! A tree in memory, whose stamps are made up: real files are too young to be trusted for two seconds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use toolbay_search::{
    semantic::{Index, Query, Results, Text, TextSource, UpdateReport},
    tree::{FileEntry, RelPath, Stamp},
};

/// Files by path, each with a stamp that changes whenever it is written.
#[derive(Debug, Default)]
pub(crate) struct Files {
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    files: BTreeMap<String, (Stamp, String)>,
    writes: u64,
}

impl Files {
    pub(crate) fn write(&self, path: &str, text: &str) {
        let mut inside = self.inside.lock().unwrap();
        inside.writes += 1;
        let time = inside.writes as i64;
        let stamp = Stamp { size: text.len() as u64, mtime_ns: time, ctime_ns: time, inode: 1 };
        inside.files.insert(path.to_owned(), (stamp, text.to_owned()));
    }

    pub(crate) fn remove(&self, path: &str) {
        self.inside.lock().unwrap().files.remove(path);
    }

    pub(crate) fn content(&self, path: &str) -> String {
        self.inside.lock().unwrap().files[path].1.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.inside.lock().unwrap().files.len()
    }

    pub(crate) fn entries(&self) -> Arc<[FileEntry]> {
        let inside = self.inside.lock().unwrap();
        let entry = |(path, (stamp, _)): (&String, &(Stamp, String))| FileEntry {
            path: RelPath::parse(path).unwrap(),
            stamp: *stamp,
        };
        inside.files.iter().map(entry).collect()
    }

    pub(crate) fn indexed(&self) -> Index {
        let index = Index::in_memory(None);
        self.update(&index);
        index
    }

    pub(crate) fn update(&self, index: &Index) -> UpdateReport {
        index.update(&self.entries(), self, &mut |_| (), &AtomicBool::new(false)).unwrap()
    }

    pub(crate) fn search(&self, index: &Index, query: &str) -> Results {
        self.search_with(index, &Query::new(query, 10))
    }

    pub(crate) fn search_with(&self, index: &Index, query: &Query) -> Results {
        index.search(query, &self.entries(), self).unwrap()
    }
}

impl TextSource for Files {
    fn text(&self, path: &RelPath) -> Option<Text> {
        let inside = self.inside.lock().unwrap();
        let (stamp, text) = inside.files.get(&*path.to_str_lossy())?;
        Some(Text { stamp: *stamp, text: Some(text.clone()) })
    }
}

/// Where the hits are, best first.
pub(crate) fn paths(results: &Results) -> Vec<String> {
    results.hits.iter().map(|hit| hit.path.to_str_lossy().into_owned()).collect()
}

/// A tree of a few languages.
pub(crate) fn sample() -> Files {
    let files = Files::default();
    files.write(
        "src/http/retry.rs",
        "//! Requests that failed are tried again.\n\n\
         /// How often a request may be tried.\npub const MOST: u32 = 5;\n\n\
         /// Stops after too many attempts, so that a server that is down is left alone.\n\
         pub fn limit_retries(attempts: u32) -> bool {\n    if attempts >= MOST {\n        return false;\n    }\n    true\n}\n",
    );
    files.write(
        "src/http/client.rs",
        "/// Sends requests.\npub struct Client {\n    address: String,\n}\n\nimpl Client {\n    /// Sends one request and waits for \
         its answer.\n    pub fn send(&self, request: &Request) -> Answer {\n        let stream = connect(&self.address);\n        \
         stream.write(request);\n        stream.read()\n    }\n}\n",
    );
    files.write(
        "src/config.py",
        "import json\n\n\ndef load_settings(path):\n    \"\"\"Parses the configuration file.\"\"\"\n    with open(path) as file:\n        \
         return json.load(file)\n\n\ndef default_settings():\n    return {\"port\": 80, \"host\": \"localhost\"}\n",
    );
    files.write(
        "db/pool.go",
        "package db\n\n// Open makes a connection to the database.\nfunc Open(address string) (*Conn, error) {\n\tconn, err := \
         dial(address)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n\treturn conn, nil\n}\n",
    );
    files.write(
        "docs/guide.md",
        "# Guide\n\nHow to begin.\n\n## Colours\n\nThe sky is blue, the grass is green.\n",
    );
    files
}
