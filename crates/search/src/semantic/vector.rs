//! Rows of vectors as segments keep them: a byte per dimension, then the scale.

use std::array::from_fn;

use wide::{i16x8, i32x4};

/// Brings a vector to length one and rounds it to a byte per dimension.
pub(super) fn row(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let fit = if largest.is_normal() { 127.0 / largest } else { 0.0 };
    let values = vector.iter().map(|value| (value * fit).round() as i8);
    let square: i64 = values.clone().map(|value| i64::from(value) * i64::from(value)).sum();
    let scale = if square == 0 { 0.0 } else { 1.0 / (square as f32).sqrt() };
    values.map(i8::cast_unsigned).chain(scale.to_le_bytes()).collect()
}

/// Adds what a row stands for to a sum.
pub(super) fn add(row: &[u8], sum: &mut [f32]) {
    let (values, scale) = parts(row);
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += scale * f32::from(value.cast_signed());
    }
}

fn parts(row: &[u8]) -> (&[u8], f32) {
    match row.split_last_chunk::<4>() {
        Some((values, scale)) => {
            let scale = f32::from_le_bytes(*scale);
            (values, if scale.is_finite() { scale } else { 0.0 })
        }
        None => (&[], 0.0),
    }
}

/// A row laid out for comparing it with very many.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    /// Sixteen values each: those at even places, then those at odd ones.
    lanes: Vec<(i16x8, i16x8)>,
    /// What is left over.
    rest: Vec<i32>,
    scale: f32,
}

impl Probe {
    pub(super) fn new(row: &[u8]) -> Self {
        let (values, scale) = parts(row);
        let (sixteens, rest) = values.as_chunks::<16>();
        let every_second = |bytes: &[u8; 16], from: usize| {
            i16x8::new(from_fn(|at| i16::from(bytes[2 * at + from].cast_signed())))
        };
        Self {
            lanes: sixteens.iter().map(|bytes| (every_second(bytes, 0), every_second(bytes, 1))).collect(),
            rest: rest.iter().map(|value| i32::from(value.cast_signed())).collect(),
            scale,
        }
    }

    /// The cosine with another row.
    pub(super) fn dot(&self, row: &[u8]) -> f32 {
        let (values, scale) = parts(row);
        let (sixteens, rest) = values.as_chunks::<16>();
        let (mut even, mut odd) = (i32x4::ZERO, i32x4::ZERO);
        for ((evens, odds), bytes) in self.lanes.iter().zip(sixteens) {
            // Two bytes as one number: shifts take them apart, signs and all, three times as fast as widening each byte.
            let pairs = i16x8::new(from_fn(|at| i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]])));
            even += evens.dot(pairs << 8 >> 8);
            odd += odds.dot(pairs >> 8);
        }
        let rest: i32 = self.rest.iter().zip(rest).map(|(a, b)| a * i32::from(b.cast_signed())).sum();
        ((even + odd).reduce_add() + rest) as f32 * self.scale * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_survive() {
        let (a, b) = (row(&[3.0, 4.0, 0.0]), row(&[30.0, 40.0, 0.0]));
        assert!((Probe::new(&a).dot(&b) - 1.0).abs() < 1e-3);
        assert!(Probe::new(&a).dot(&row(&[0.0, 0.0, 9.0])).abs() < 1e-6);
        assert_eq!(Probe::new(&row(&[f32::NAN; 3])).dot(&a), 0.0);
        let mut sum = [0.0; 3];
        add(&a, &mut sum);
        assert!((sum[0] - 0.6).abs() < 0.01);
    }

    proptest::proptest! {
        #[test]
        fn rows_of_any_length_are_compared_value_by_value(
            both in proptest::collection::vec((-127_i8..=127, -127_i8..=127), 0..300),
        ) {
            let row = |values: Vec<i8>| -> Vec<u8> {
                values.into_iter().map(i8::cast_unsigned).chain(1_f32.to_le_bytes()).collect()
            };
            let expected: i32 = both.iter().map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            let (a, b) = both.into_iter().unzip();
            assert_eq!(Probe::new(&row(a)).dot(&row(b)), expected as f32);
        }
    }
}
