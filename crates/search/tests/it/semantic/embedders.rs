//! An embedder from outside, which fails sometimes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use toolbay_search::semantic::{Code, EmbedError, Embedder, Feature, Index, Query};

use super::{
    only,
    trees::{paths, sample},
};

/// Knows two topics: colours and everything else.
#[derive(Debug, Default)]
struct Colours {
    down: AtomicBool,
    asked: AtomicUsize,
    short: AtomicBool,
}

impl Colours {
    fn vector(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) {
            return Err(EmbedError { embedder: self.name().into(), reason: "connection refused".into() });
        }
        let is_colour = ["sky", "green", "blue", "hue"].iter().any(|word| text.contains(word));
        let vector = if is_colour { vec![1.0, 0.0, 0.0] } else { vec![0.0, 1.0, 0.2] };
        Ok(if self.short.load(Ordering::Relaxed) { vector[..2].to_vec() } else { vector })
    }
}

impl Embedder for Colours {
    fn name(&self) -> &str {
        "colours-1"
    }

    fn codes(&self, batch: &[Code<'_>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        batch.iter().map(|code| self.vector(code.text)).collect()
    }

    fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.vector(text)
    }
}

/// An index that ranks by vectors alone.
fn by_vectors(embedder: &Arc<Colours>) -> Index {
    Index::in_memory(Some(embedder.clone())).with_weights(only(Feature::Cosine))
}

#[test]
fn its_vectors_are_used() {
    let files = sample();
    let colours = Arc::new(Colours::default());
    let index = by_vectors(&colours);
    assert_eq!(files.update(&index).notice, None);
    // No word in common: only the embedder can know.
    let results = files.search_with(&index, &Query::new("hue", 5));
    assert_eq!(paths(&results)[0], "docs/guide.md");
    assert_eq!(results.notices, Vec::<String>::new());
}

#[test]
fn the_built_in_model_is_used_while_it_is_down() {
    let files = sample();
    let colours = Arc::new(Colours::default());
    let index = by_vectors(&colours);
    colours.down.store(true, Ordering::Relaxed);
    let report = files.update(&index);
    assert!(report.notice.is_some_and(|notice| notice.contains("connection refused")));
    let results = files.search_with(&index, &Query::new("limit retries", 5));
    assert_eq!(paths(&results)[0], "src/http/retry.rs");
    assert!(results.notices[0].contains("built-in model"), "{:?}", results.notices);

    colours.down.store(false, Ordering::Relaxed);
    assert_eq!(
        files.update(&index).done.of,
        files.count(),
        "what it could not do is done when it is up again"
    );
    assert_eq!(paths(&files.search_with(&index, &Query::new("hue", 5)))[0], "docs/guide.md");
    assert_eq!(files.update(&index).done.of, 0);

    colours.down.store(true, Ordering::Relaxed);
    let results = files.search_with(&index, &Query::new("limit retries", 5));
    assert_eq!(paths(&results)[0], "src/http/retry.rs");
    assert!(results.notices[0].contains("connection refused"), "{:?}", results.notices);
}

#[test]
fn vectors_of_another_length_are_not_compared() {
    let files = sample();
    let colours = Arc::new(Colours::default());
    let index = by_vectors(&colours);
    files.update(&index);
    colours.short.store(true, Ordering::Relaxed);
    let results = files.search_with(&index, &Query::new("limit retries", 5));
    assert_eq!(paths(&results)[0], "src/http/retry.rs");
    assert!(results.notices[0].contains("another length"), "{:?}", results.notices);
}
