//! The loss: of all the code in a batch a question should point to its own, and code to its own question (InfoNCE).

use ndarray::{ArrayView2, ArrayViewMut2, linalg::general_mat_mul};

use super::parallel;

/// How the loss looks at a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// The smaller, the more the closest wrong answers count.
    pub(crate) temperature: f32,
    /// How much the way back, from code to questions, counts; from 0 to 1.
    pub(crate) back: f32,
}

/// What a batch costs, and how that changes with every number of its vectors.
#[derive(Debug)]
pub(crate) struct Contrast {
    /// Mean over the pairs.
    pub(crate) loss: f32,
    pub(crate) queries: Vec<f32>,
    pub(crate) codes: Vec<f32>,
}

/// Compares `same.len()` questions of `width` numbers with as many codes, all of length one. Questions of which `same` is equal are
/// one question: the code of one is not wrong for the other.
pub(crate) fn contrast(queries: &[f32], codes: &[f32], width: usize, same: &[u64], looked: View) -> Contrast {
    let View { temperature, back: share_back } = looked;
    let count = same.len();
    let mut scores = vec![0.0_f32; count * count];
    let ranges = parallel::ranges(count);

    // How close all are, as exponentials with their sums across (codes of a question) and down (questions of a code).
    let rows = parallel::cut(&mut scores, ranges.iter().map(|range| range.len() * count));
    let sums = parallel::join(ranges.iter().cloned().zip(rows).collect(), |(range, scores)| {
        multiply(
            view(&queries[range.start * width..range.end * width], width),
            view(codes, width).reversed_axes(),
            scores,
        );
        let (mut across, mut down, mut right) = (Vec::new(), vec![0.0_f32; count], 0.0);
        for (at, row) in range.zip(scores.chunks_mut(count)) {
            right += (row[at] - 1.0) / temperature;
            for score in &mut *row {
                // No cosine is above one: nothing overflows, and no maximum is needed.
                *score = exp((*score - 1.0) / temperature);
            }
            for (other, score) in row.iter_mut().enumerate() {
                if same[other] == same[at] && other != at {
                    *score = 0.0;
                }
            }
            across.push(row.iter().sum::<f32>());
            down.iter_mut().zip(&*row).for_each(|(down, score)| *down += score);
        }
        (across, down, right)
    });
    let across: Vec<f32> = sums.iter().flat_map(|(across, _, _)| across).copied().collect();
    let mut down = vec![0.0_f32; count];
    sums.iter().for_each(|(_, part, _)| down.iter_mut().zip(part).for_each(|(down, part)| *down += part));
    let right: f32 = sums.iter().map(|(_, _, right)| right).sum();
    let logs = |sums: &[f32]| sums.iter().map(|sum| sum.ln()).sum::<f32>();
    let loss = ((1.0 - share_back) * logs(&across) + share_back * logs(&down) - right) / count as f32;

    // The slope by each cosine, in place, and from it those by the vectors.
    let factor = 1.0 / (temperature * count as f32);
    let back: Vec<f32> = down.iter().map(|sum| share_back * factor / sum).collect();
    let rows = parallel::cut(&mut scores, ranges.iter().map(|range| range.len() * count));
    let slopes = parallel::join(ranges.iter().cloned().zip(rows).collect(), |(range, scores)| {
        for (at, row) in range.clone().zip(scores.chunks_mut(count)) {
            let forth = (1.0 - share_back) * factor / across[at];
            row.iter_mut().zip(&back).for_each(|(score, back)| *score *= forth + back);
            row[at] -= factor;
        }
        let scores = view(scores, count);
        let mut of_queries = vec![0.0; range.len() * width];
        multiply(scores, view(codes, width), &mut of_queries);
        let mut of_codes = vec![0.0; count * width];
        multiply(
            scores.reversed_axes(),
            view(&queries[range.start * width..range.end * width], width),
            &mut of_codes,
        );
        (of_queries, of_codes)
    });
    let mut of_codes = vec![0.0_f32; count * width];
    slopes.iter().for_each(|(_, part)| of_codes.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
    let of_queries = slopes.into_iter().flat_map(|(part, _)| part).collect();
    Contrast { loss, queries: of_queries, codes: of_codes }
}

fn view(values: &[f32], width: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((values.len() / width, width), values).expect("whole rows")
}

fn multiply(left: ArrayView2<'_, f32>, right: ArrayView2<'_, f32>, into: &mut [f32]) {
    let shape = (left.nrows(), right.ncols());
    let mut into = ArrayViewMut2::from_shape(shape, into).expect("room for the product");
    general_mat_mul(1.0, &left, &right, 0.0, &mut into);
}

/// The exponential to about six digits, in a form that compilers make vectors of.
fn exp(x: f32) -> f32 {
    let scaled = (x * std::f32::consts::LOG2_E).clamp(-126.0, 126.0);
    let whole = (scaled + 0.5).floor();
    let part = (scaled - whole) * std::f32::consts::LN_2;
    let series = 1.0 + part * (1.0 + part * (0.5 + part * (1.0 / 6.0 + part * (1.0 / 24.0 + part / 120.0))));
    series * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::{super::random::Random, *};

    const VIEW: View = View { temperature: 0.05, back: 0.5 };

    fn unit(random: &mut Random, count: usize, width: usize) -> Vec<f32> {
        let mut values: Vec<f32> = (0..count * width).map(|_| random.normal()).collect();
        for row in values.chunks_mut(width) {
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            row.iter_mut().for_each(|value| *value /= length);
        }
        values
    }

    #[test]
    fn the_slopes_are_those_of_the_loss() {
        let (mut random, width) = (Random::new(7), 8);
        let same = [1, 2, 3, 2, 5];
        let (queries, codes) = (unit(&mut random, 5, width), unit(&mut random, 5, width));
        let found = contrast(&queries, &codes, width, &same, VIEW);
        for at in [0, 11, 17, 39] {
            let step = 1e-3;
            let loss = |queries: &[f32], codes: &[f32]| contrast(queries, codes, width, &same, VIEW).loss;
            let (mut more, mut less) = (queries.clone(), queries.clone());
            (more[at], less[at]) = (queries[at] + step, queries[at] - step);
            let slope = (loss(&more, &codes) - loss(&less, &codes)) / (2.0 * step);
            assert!(
                (slope - found.queries[at]).abs() < 0.02 * (1.0 + slope.abs()),
                "{slope} {}",
                found.queries[at]
            );
            let (mut more, mut less) = (codes.clone(), codes.clone());
            (more[at], less[at]) = (codes[at] + step, codes[at] - step);
            let slope = (loss(&queries, &more) - loss(&queries, &less)) / (2.0 * step);
            assert!(
                (slope - found.codes[at]).abs() < 0.02 * (1.0 + slope.abs()),
                "{slope} {}",
                found.codes[at]
            );
        }
    }

    #[test]
    fn the_exponential_is_right() {
        for x in [-40.0, -3.3, -0.01, 0.0, 0.5, 1.0] {
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-5, "{x}");
        }
    }
}
