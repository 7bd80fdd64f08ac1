//! What is learned from: pairs of a question and its code, as numbers.

use std::collections::{HashMap, HashSet};

use toolbay_search::{
    model::{TextField, Vocabulary, path_parts},
    words,
};

use super::{
    bags::Bags,
    corpus::{Kind, Record},
    network::Batch,
    random::Random,
};

/// Words in fewer packages are taken apart instead.
const LEAST_PACKAGES: usize = 2;
/// A word this long is not a word.
const LONGEST_WORD: usize = 24;

/// Pairs in order of their packages.
#[derive(Debug, Default)]
pub(super) struct Examples {
    pub(super) queries: Bags,
    pub(super) codes: Bags,
    /// By pair: the package, a hash of the question, and of what kind it is.
    pub(super) packages: Vec<u32>,
    pub(super) same: Vec<u64>,
    pub(super) kinds: Vec<Kind>,
}

impl Examples {
    pub(super) fn new(vocabulary: &Vocabulary, records: &[&Record]) -> Self {
        let mut examples = Self::default();
        let mut packages: HashMap<&str, u32> = HashMap::new();
        for record in records {
            examples.queries.push_text(vocabulary, &[(TextField::Query, vec![&record.query])]);
            let names = record.names.iter().map(String::as_str).collect();
            let path = path_parts(&record.path).collect();
            examples.codes.push_text(
                vocabulary,
                &[(TextField::Text, vec![&record.code]), (TextField::Names, names), (TextField::Path, path)],
            );
            let next = packages.len() as u32;
            examples.packages.push(*packages.entry(&record.package).or_insert(next));
            examples.same.push(hash(&record.query));
            examples.kinds.push(record.kind);
        }
        examples
    }

    pub(super) fn len(&self) -> usize {
        self.same.len()
    }

    /// An epoch in another order each time: blocks of one package, so that wrong answers are near the right one, mixed.
    pub(super) fn order(&self, block: usize, random: &mut Random) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.len() as u32).collect();
        let mut blocks: Vec<Vec<u32>> = Vec::new();
        for package in all.chunk_by_mut(|a, b| self.packages[*a as usize] == self.packages[*b as usize]) {
            random.shuffle(package);
            blocks.extend(package.chunks(block).map(<[u32]>::to_vec));
        }
        random.shuffle(&mut blocks);
        blocks.concat()
    }

    /// The pairs with some of their words left out, so that no word is relied on.
    pub(super) fn batch(&self, pairs: &[u32], drop: Dropout, random: &mut Random, batch: &mut Batch) {
        batch.texts.clear();
        for (bags, share) in [(&self.queries, drop.queries), (&self.codes, drop.codes)] {
            for pair in pairs {
                let entries = bags.entries(*pair as usize);
                batch.texts.push(entries.filter(|_| random.fraction() >= share));
            }
        }
        batch.same.clear();
        batch.same.extend(pairs.iter().map(|pair| self.same[*pair as usize]));
    }
}

/// Which share of the words is left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dropout {
    pub(super) queries: f32,
    pub(super) codes: f32,
}

/// The words that matter, most frequent first, and the weights they begin with: the rarer, the more.
pub(super) fn vocabulary(records: &[&Record], most: usize) -> (Vocabulary, Vec<f32>) {
    struct Count {
        pairs: usize,
        packages: usize,
        last_pair: usize,
        last_package: String,
    }
    let mut counts: HashMap<String, Count> = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        let mut take = |word: &str| {
            if word.len() > LONGEST_WORD {
                return;
            }
            if !counts.contains_key(word) {
                let count =
                    Count { pairs: 0, packages: 0, last_pair: usize::MAX, last_package: String::new() };
                counts.insert(word.to_owned(), count);
            }
            let count = counts.get_mut(word).expect("inserted");
            if count.last_pair != at {
                count.pairs += 1;
                count.last_pair = at;
                if count.last_package != record.package {
                    count.packages += 1;
                    count.last_package.clone_from(&record.package);
                }
            }
        };
        words::split(&record.query, &mut take);
        words::split(&record.code, &mut take);
        record.names.iter().for_each(|name| words::split(name, &mut take));
        path_parts(&record.path).for_each(|part| words::split(part, &mut take));
    }
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let mut words: Vec<(String, usize, usize)> = counts
        .into_iter()
        .filter(|(word, count)| count.packages >= LEAST_PACKAGES && (!is_number(word) || word.len() <= 4))
        .map(|(word, count)| (word, count.packages, count.pairs))
        .collect();
    // In how many packages says more than how often: a name that one package is full of is of no use in another.
    words.sort_by(|a, b| (b.1 * b.1 * b.2).cmp(&(a.1 * a.1 * a.2)).then_with(|| a.0.cmp(&b.0)));
    words.truncate(most);
    let total = records.len() as f32;
    let weights = words
        .iter()
        .flat_map(|(_, _, pairs)| {
            let rarity = ((1.0 + total / (1.0 + *pairs as f32)).ln() / total.ln()).max(0.05);
            [rarity, rarity, rarity, rarity * 0.5]
        })
        .collect();
    let unique: HashSet<&str> = words.iter().map(|(word, _, _)| word.as_str()).collect();
    debug_assert_eq!(unique.len(), words.len());
    (Vocabulary::new(words.iter().map(|(word, _, _)| word.as_str())), weights)
}

/// FNV-1a over the words alone.
fn hash(text: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    words::split(text, |word| {
        for byte in word.bytes().chain([b' ']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    });
    hash
}
