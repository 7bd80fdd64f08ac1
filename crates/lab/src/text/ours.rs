//! Our own search without a server, for what only the library can do: index anew, and count every line.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Result;
use toolbay_search::store::{Store, WriterLock};
use toolbay_search::text::{Index, Query};
use toolbay_search::tree::{Rules, Secrets, Tree, TreeOptions, TreeRoot};

use super::Question;

/// One tree, watched, one index, as the server holds them.
pub(super) struct Ours {
    tree: Tree,
    index: Index,
    /// The right to write, so that the other server is idle between queries, and does not build its semantic index meanwhile.
    _alone: Option<WriterLock>,
}

impl Ours {
    /// Indexes anew below `cache`, then opens what was stored.
    pub(super) fn new(cache: &Path, tree: &Path) -> Result<Self> {
        Store::at(cache, tree).clear()?;
        let store = Store::open(cache, tree)?;
        let open = || -> Result<Tree> {
            Ok(Tree::open(TreeRoot::open_with(tree, Secrets::Shown)?, TreeOptions { watch: true }))
        };
        let held = open()?;
        let start = Instant::now();
        let files = held.files()?;
        let walked = start.elapsed();
        let bytes: u64 = files.iter().map(|entry| entry.stamp.size).sum();
        let start = Instant::now();
        let report = Index::open(Some(store.clone())).update(&held, &|_| (), &AtomicBool::new(false))?;
        let took = start.elapsed();
        println!(
            "toolbay: {} files, {} MB; listed in {}, indexed in {} ({:.0} MB/s), {} MB on disk, {} left out",
            files.len(),
            bytes >> 20,
            shown(walked),
            shown(took),
            bytes as f64 / 1e6 / took.as_secs_f64(),
            store.size() >> 20,
            report.young
        );
        drop((held, files));
        let start = Instant::now();
        let index = Index::open(Some(store.clone()));
        println!("toolbay: opened in {} (goal: 50 ms)", shown(start.elapsed()));
        let tree = open()?;
        tree.files()?;
        Ok(Self { tree, index, _alone: store.lock()? })
    }

    /// How long all matching lines take, and how many there are.
    pub(super) fn ask(&self, question: &Question) -> Result<(Duration, u64)> {
        let mut query =
            if question.regex { Query::regex(question.pattern) } else { Query::literal(question.pattern) };
        query.case = question.case;
        query.rules = Rules { globs: question.glob.map(str::to_owned).into_iter().collect(), ..query.rules };
        query.count_to = u64::MAX;
        let start = Instant::now();
        let answer = self.index.search(&self.tree, &query, &AtomicBool::new(false))?;
        Ok((start.elapsed(), answer.total.count()))
    }
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
