//! `toolbay-lab fit DATA TREES PACKAGES KEPT`: finds the weights of the ranking.
//!
//! Four kinds of questions, because they pull apart and a search is asked all of them:
//!
//! - where something is handled, as the public benchmark asks (see `semble`; DATA and TREES are its);
//! - which function does what its doc comment says, in files without such comments;
//! - the same in files as they were published, of which nothing but the sentence that is asked is taken out;
//! - in which function something is done that a comment inside of it says, with that comment taken out. Doc comments say in
//!   other words what the name says, so that names look better by them than they are; what a comment inside says, the name of a
//!   long function does not. Nearest to how people ask who do not know the code.
//!
//! All but the first are asked of the repositories of the benchmark and of those packages that are held out from the training
//! of the model (PACKAGES is the folder of `cargo xtask model`). None of the packages of `toolbay-lab quality` is used.
//!
//! Those questions are looked at once more that share no word with the names of their answer, and those whose answer is so
//! long that it is cut into several chunks.
//!
//! Weights are found from nothing by `descent`, and made better by `ascent`. Repositories are parted: weights are fitted on
//! one part, and the figure that counts is that of the other. What is known about the candidates is written to KEPT, and read
//! from there if it exists.

mod ascent;
mod descent;
mod examples;
mod functions;
mod kept;

use std::path::Path;

use anyhow::{Result, bail};
use toolbay_search::semantic::Weights;

use self::{
    ascent::{FIGURES, ascend, figures},
    descent::descend,
    examples::{Example, collect},
};

/// Parts in which the repositories are tested.
const PARTS: usize = 3;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let [data, trees, packages, kept] = args else {
        bail!("usage: toolbay-lab fit DATA TREES PACKAGES KEPT")
    };
    let kept = Path::new(kept);
    if !kept.exists() {
        kept::write(kept, &collect(Path::new(data), Path::new(trees), Path::new(packages))?)?;
    }
    let mut examples = kept::read(kept)?;
    examples.iter_mut().for_each(|example| example.shorten(&Weights::FITTED));
    println!("{} questions", examples.len());
    print("as they are, on all", &Weights::FITTED, &examples);
    let mut tested = Vec::new();
    for part in 0..PARTS {
        let (test, fit): (Vec<Example>, Vec<Example>) =
            examples.iter().cloned().partition(|example| example.group % PARTS == part);
        let weights = ascend(descend(&fit), &fit);
        print("as they are, on a part", &Weights::FITTED, &test);
        print("fitted on the others, on it", &weights, &test);
        tested.push(figures(&weights, &test));
    }
    let mut sums = [0.0; FIGURES];
    tested.iter().for_each(|figures| sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure));
    print_figures("held out, mean of the parts", sums.map(|sum| sum / PARTS as f64));
    let weights = ascend(descend(&examples), &examples);
    print("fitted on all, on all", &weights, &examples);
    println!("{weights:.2?}");
    Ok(())
}

fn print(name: &str, weights: &Weights, examples: &[Example]) {
    print_figures(name, figures(weights, examples));
}

fn print_figures(name: &str, [places, bare, published, inside, others, long]: [f64; FIGURES]) {
    println!(
        "{name:28} NDCG@10 where {places:.4}, function {bare:.4}, published {published:.4}, inside {inside:.4}, \
         in other words {others:.4}, long {long:.4}"
    );
}
