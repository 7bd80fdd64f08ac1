//! Recall and nDCG.

/// Sums over queries.
#[derive(Debug, Default)]
pub(super) struct Figures {
    queries: usize,
    recall: [f64; 3],
    ndcg: f64,
}

/// The places of the recalls.
const PLACES: [usize; 3] = [1, 5, 10];

impl Figures {
    /// Adds a query: the tools as they were ranked, and those that were wanted.
    pub(super) fn add(&mut self, ranked: &[usize], relevant: &[usize]) {
        self.queries += 1;
        for (recall, places) in self.recall.iter_mut().zip(PLACES) {
            let found = ranked.iter().take(places).filter(|tool| relevant.contains(tool)).count();
            *recall += found as f64 / relevant.len().max(1) as f64;
        }
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let gained: f64 =
            (0..ranked.len().min(10)).filter(|place| relevant.contains(&ranked[*place])).map(gain).sum();
        self.ndcg += gained / (0..relevant.len().clamp(1, 10)).map(gain).sum::<f64>();
    }

    /// Recall at 1, 5 and 10, and nDCG at 10.
    pub(super) fn means(&self) -> [f64; 4] {
        let count = self.queries.max(1) as f64;
        [self.recall[0] / count, self.recall[1] / count, self.recall[2] / count, self.ndcg / count]
    }
}

/// Places by falling score; equal ones in their order.
pub(super) fn order(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_means_over_queries() {
        let mut figures = Figures::default();
        figures.add(&order(&[0.1, 0.9, 0.0, 0.5]), &[1]);
        figures.add(&order(&[0.9, 0.1, 0.5]), &[2, 7]);
        let [first, five, ten, ndcg] = figures.means();
        assert_eq!((first, five, ten), (0.5, 0.75, 0.75));
        let second = 1.0 / 3_f64.log2();
        assert!((ndcg - (1.0 + second / (1.0 + second)) / 2.0).abs() < 1e-9, "{ndcg}");
    }
}
