//! WordNet: what words mean, and what they are a kind of.

use std::{collections::HashMap, fs};

use anyhow::{Context, Result};

use super::{Kind, Pair, files, pair};
use crate::packages::Source;

/// Of three more general words, one above the other.
const LEVELS: usize = 3;

struct Synset<'a> {
    words: Vec<String>,
    /// The key of the more general one.
    above: Option<&'a str>,
    definition: String,
    examples: Vec<String>,
}

pub(super) fn pairs(source: &Source) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for part in ["noun", "verb", "adj", "adv"] {
        let ending = format!("/data.{part}");
        let file = files(&source.folder, &|path| path.ends_with(&ending)).into_iter().next();
        let file = file.with_context(|| format!("no data.{part} in {}", source.folder.display()))?;
        let text = fs::read_to_string(file)?;
        let synsets: HashMap<&str, Synset<'_>> = text.lines().filter_map(synset).collect();
        // Half of them: they are many, and about everything.
        let mut keys: Vec<&&str> =
            synsets.keys().filter(|key| key.bytes().map(u32::from).sum::<u32>().is_multiple_of(2)).collect();
        keys.sort_unstable();
        for key in keys {
            let synset = &synsets[*key];
            let words = synset.words.join(", ");
            pairs.extend(pair(Kind::WordNet, &source.package, &words, &synset.definition));
            for example in &synset.examples {
                pairs.extend(pair(
                    Kind::WordNet,
                    &source.package,
                    example,
                    &format!("{words}: {}", synset.definition),
                ));
            }
            let mut chain = Vec::new();
            let mut above = synset.above;
            while let Some((_, general)) =
                above.and_then(|key| synsets.get_key_value(key)).filter(|_| chain.len() < LEVELS)
            {
                chain.extend(general.words.first().map(String::as_str));
                above = general.above;
            }
            pairs.extend(pair(Kind::WordNet, &source.package, &words, &chain.join(", ")));
        }
    }
    Ok(pairs)
}

/// `00001740 03 n 01 entity 0 003 ~ 00001930 n 0000 … | definition; "example"`
fn synset(line: &str) -> Option<(&str, Synset<'_>)> {
    let (head, gloss) = line.split_once('|')?;
    let mut fields = head.split_ascii_whitespace();
    let key = fields.next().filter(|key| key.len() == 8)?;
    let count = usize::from_str_radix(fields.nth(2)?, 16).ok()?;
    let mut words = Vec::new();
    for _ in 0..count {
        // `good(a)` says how an adjective is used.
        let word = fields.next()?.split('(').next()?;
        words.push(word.replace('_', " "));
        fields.next()?;
    }
    let fields: Vec<&str> = fields.collect();
    let above = fields.windows(2).find(|pair| pair[0] == "@").map(|pair| pair[1]);
    let mut texts = gloss.split('"');
    let definition = texts.next()?.trim().trim_end_matches(';').to_owned();
    let examples = texts.step_by(2).filter(|text| text.split(' ').count() > 2).map(str::to_owned).collect();
    Some((key, Synset { words, above, definition, examples }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let line = "02084071 05 n 02 dog 0 domestic_dog 1 022 @ 02083346 n 0000 #m 02083863 n 0000 | a member of the genus Canis; \"the dog barked all night\"";
        let (key, synset) = synset(line).unwrap();
        assert_eq!((key, synset.words), ("02084071", vec!["dog".to_owned(), "domestic dog".to_owned()]));
        assert_eq!(synset.above, Some("02083346"));
        assert_eq!(synset.definition, "a member of the genus Canis");
        assert_eq!(synset.examples, ["the dog barked all night"]);
    }
}
