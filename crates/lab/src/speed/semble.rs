//! `semble`, with the same queries.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result};
use toolbay_search::model::Model;

use super::{questions::QUESTIONS, times::Times};
use crate::packages::run;

pub(super) const VERSION: &str = "semble==0.7.0";

/// What it needed.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) chunks: usize,
    pub(super) indexed: Duration,
    pub(super) questions: Times,
}

/// Installs it once below `folder`, has it index a tree and asks it.
pub(super) fn measure(folder: &Path, tree: &Path) -> Result<Figures> {
    let place = folder.join("semble");
    let python = place.join("bin/python");
    if !place.join("ready").exists() {
        run("python3", ["-m".as_ref(), "venv".as_ref(), place.as_os_str()])?;
        run(&python, ["-m", "pip", "install", "--quiet", VERSION])?;
        fs::write(place.join("ready"), VERSION)?;
    }
    let vocabulary = Model::built_in().vocabulary();
    let words: Vec<&str> = (0..vocabulary.len() as u32).map(|number| vocabulary.word(number)).collect();
    let (words_file, questions) = (place.join("words"), place.join("questions"));
    fs::write(&words_file, words.join("\n"))?;
    fs::write(&questions, QUESTIONS.join("\n"))?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/speed_of_semble.py");
    let said = String::from_utf8(run(&python, [&script, tree, &words_file, &questions])?)?;
    let mut lines = said.lines();
    let (chunks, indexed) =
        lines.next().and_then(|line| line.split_once(' ')).context("semble said nothing")?;
    let mut figures =
        Figures { chunks: chunks.parse()?, indexed: seconds(indexed)?, questions: Times::default() };
    for line in lines {
        figures.questions.add(seconds(line)?);
    }
    println!("{VERSION}: {chunks} chunks in {:.1?}, questions {}", figures.indexed, figures.questions.both());
    Ok(figures)
}

fn seconds(text: &str) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}
