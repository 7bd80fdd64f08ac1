//! NDCG@10, MRR and hit@10 of questions with one right answer each.

use std::{fmt, iter::Sum};

/// Sums over questions.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Figures {
    pub(super) questions: usize,
    ndcg: f64,
    reciprocal: f64,
    hits: usize,
}

impl Figures {
    /// Counts a question whose right answer came at `place` of the first ten, counted from 0, or not at all.
    pub(super) fn add(&mut self, place: Option<usize>) {
        self.questions += 1;
        if let Some(place) = place {
            // One answer is right: the ideal is 1, and each place is worth less by its logarithm.
            self.ndcg += 1.0 / (place as f64 + 2.0).log2();
            self.reciprocal += 1.0 / (place as f64 + 1.0);
            self.hits += 1;
        }
    }

    /// The mean NDCG@10.
    pub(super) fn ndcg(&self) -> f64 {
        self.ndcg / self.questions.max(1) as f64
    }
}

impl<'a> Sum<&'a Self> for Figures {
    fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            questions: sum.questions + one.questions,
            ndcg: sum.ndcg + one.ndcg,
            reciprocal: sum.reciprocal + one.reciprocal,
            hits: sum.hits + one.hits,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.questions.max(1) as f64;
        write!(to, "{:.3} / {:.3} / {:.3}", self.ndcg(), self.reciprocal / count, self.hits as f64 / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_worth_one_and_none_nothing() {
        let mut figures = Figures::default();
        figures.add(Some(0));
        figures.add(Some(2));
        figures.add(None);
        figures.add(None);
        assert_eq!(figures.to_string(), "0.375 / 0.333 / 0.500");
    }
}
