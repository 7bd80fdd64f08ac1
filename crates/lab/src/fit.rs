//! `toolbay-lab fit DATA TREES`: finds the weights of the ranking.
//!
//! Two kinds of questions over the same repositories (see `semble`): where something is handled, as the benchmark asks,
//! and which function does what its doc comment says, with all those comments taken out of the files. The repositories are
//! parted in two: weights are fitted on one half, and the figure that counts is that of the other. None of the packages of
//! `toolbay-lab quality` is used here, nor did the model learn from these repositories.

mod ascent;
mod examples;
mod functions;

use std::path::Path;

use anyhow::{Result, bail};
use toolbay_search::meaning::Weights;

use self::{
    ascent::{ascend, figures},
    examples::{Example, collect},
};

pub(crate) fn run(args: &[String]) -> Result<()> {
    let [data, trees] = args else { bail!("usage: toolbay-lab fit DATA TREES") };
    let examples = collect(Path::new(data), Path::new(trees))?;
    println!("{} questions", examples.len());
    print("as they are, on all", &Weights::FITTED, &examples);
    let halves: [Vec<Example>; 2] =
        [0, 1].map(|half| examples.iter().filter(|example| example.group % 2 == half).cloned().collect());
    for (fitted, tested) in [(0, 1), (1, 0)] {
        let weights = ascend(Weights::FITTED, &halves[fitted]);
        print("fitted on one half, on it", &weights, &halves[fitted]);
        print("as they are, on the other", &Weights::FITTED, &halves[tested]);
        print("fitted, on the other", &weights, &halves[tested]);
    }
    let weights = ascend(Weights::FITTED, &examples);
    print("fitted on all, on all", &weights, &examples);
    println!("{weights:.2?}");
    Ok(())
}

fn print(name: &str, weights: &Weights, examples: &[Example]) {
    let (places, functions) = figures(weights, examples);
    println!("{name:28} NDCG@10 where {places:.4}, function {functions:.4}");
}
