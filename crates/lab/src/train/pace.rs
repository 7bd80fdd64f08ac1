//! How fast the table in the program is.

use std::{hint::black_box, time::Instant};

use toolbay_search::model::{DIM, Model, Vector};

use super::corpus::Record;

const TEXTS: usize = 50_000;
const VECTORS: usize = 1_000_000;

/// Prints what it takes to open the table, to embed code and to compare a question with a million vectors, on one core.
pub(super) fn measure(records: &[Record]) {
    let start = Instant::now();
    let model = Model::built_in();
    println!("opened in {:.1?}", start.elapsed());

    let step = (records.len() / TEXTS).max(1);
    let texts: Vec<&Record> = records.iter().step_by(step).collect();
    let bytes: usize = texts.iter().map(|record| record.code.len()).sum();
    let start = Instant::now();
    let vectors: Vec<Vector> =
        texts.iter().map(|record| model.code(&record.path, &record.names, &record.code)).collect();
    let rate = bytes as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{} texts, {rate:.0} MB/s of code", texts.len());

    let stored: Vec<[u8; Vector::BYTES]> =
        vectors.iter().cycle().take(VECTORS).map(Vector::to_bytes).collect();
    let start = Instant::now();
    let probe = model.query("where is the number of retries limited").probe();
    let mut best = 0.0_f32;
    for bytes in black_box(&stored) {
        if let Some((values, scale)) = bytes.split_first_chunk::<DIM>() {
            let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
            best = best.max(probe.dot(values, scale));
        }
    }
    println!("{} vectors compared in {:.1?} ({best:.2})", stored.len(), start.elapsed());
}
