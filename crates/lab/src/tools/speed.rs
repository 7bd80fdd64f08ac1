//! How fast tools are indexed and searched.

use std::time::{Duration, Instant};

use toolbay_toolsearch::{ToolIndex, ToolText};

use super::Set;

/// So many tools are searched.
const TOOLS: usize = 2_000;
const ROUNDS: usize = 5;

/// Prints how long it takes to read 1,000 tools, and to answer a query among 2,000.
pub(super) fn measure(sets: &[Set]) {
    let all: Vec<&ToolText> = sets.iter().flat_map(|set| &set.tools).collect();
    if all.is_empty() {
        return;
    }
    // The same tools under other names, until there are enough.
    let tools: Vec<ToolText> = (0..TOOLS)
        .map(|number| {
            let tool = all[number % all.len()];
            let round = number / all.len();
            ToolText {
                name: format!("{}_{round}", tool.name),
                bare_name: format!("{}_{round}", tool.bare_name),
                ..tool.clone()
            }
        })
        .collect();
    let mut times: Vec<Duration> = Vec::new();
    let mut index = ToolIndex::new([]);
    for _ in 0..ROUNDS {
        let tools = tools.clone();
        let start = Instant::now();
        index = ToolIndex::new(tools);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!("index: {:.1?} for 1,000 tools (median of {ROUNDS})", times[ROUNDS / 2] * 1_000 / TOOLS as u32);
    let queries =
        sets.iter().flat_map(|set| &set.queries).flat_map(|queries| queries.queries.iter().take(200));
    let mut times: Vec<Duration> = queries
        .map(|query| {
            let start = Instant::now();
            std::hint::black_box(index.search(&query.text, 5, None));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!("query among {TOOLS} tools: p50 {:.0?}, p95 {:.0?}, {} queries", at(0.5), at(0.95), times.len());
}
