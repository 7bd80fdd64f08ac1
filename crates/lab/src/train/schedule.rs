//! Epochs over the pairs, at a pace that rises quickly and falls slowly.

use std::time::Instant;

use toolbay_search::model::Vocabulary;

use super::{
    evaluate::Test,
    examples::{Dropout, Examples},
    loss::View,
    network::{Batch, Network},
    options::Options,
    random::Random,
    table::Pace,
};

/// The share of all steps in which the pace rises.
const WARM_UP: f32 = 0.05;

/// Learns; prints after each epoch how it stands.
pub(super) fn run(
    examples: &Examples,
    vocabulary: &Vocabulary,
    weights: &[f32],
    test: &Test,
    options: &Options,
) -> Network {
    let mut random = Random::new(options.seed);
    let mut network = Network::new(vocabulary, weights, options.width, options.narrow, &mut random);
    let drop = Dropout { queries: options.drop_queries, codes: options.drop_codes };
    let view = View { temperature: options.temperature, back: options.back };
    let steps = (examples.len() / options.batch).max(1) * options.epochs;
    let mut batch = Batch::default();
    let mut step = 0;
    for epoch in 1..=options.epochs {
        let (start, mut losses, mut count) = (Instant::now(), 0.0, 0);
        for pairs in examples.order(options.block, &mut random).chunks(options.batch) {
            // A rest that is much smaller would teach something else.
            if pairs.len() * 2 < options.batch && count > 0 {
                continue;
            }
            step += 1;
            let share = step as f32 / steps as f32;
            let pace = if share < WARM_UP {
                share / WARM_UP
            } else {
                0.5 * (1.0 + (std::f32::consts::PI * ((share - WARM_UP) / (1.0 - WARM_UP)).min(1.0)).cos())
            };
            examples.batch(pairs, drop, &mut random, &mut batch);
            let (rows, weights) =
                (Pace::new(options.rate * pace, step), Pace::new(options.weight_rate * pace, step));
            losses += network.learn(&batch, rows, weights, view);
            count += 1;
        }
        let [words, model, both] = test.measure(&network.draft(vocabulary, options.width));
        let loss = losses / count.max(1) as f32;
        println!(
            "epoch {epoch}: loss {loss:.3}, words {words}, model {model}, both {both}, {:.0?}",
            start.elapsed()
        );
    }
    network
}
