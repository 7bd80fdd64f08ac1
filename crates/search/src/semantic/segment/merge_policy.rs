//! When segments are put together.

/// Segments do not grow beyond this, so that putting them together needs a bounded amount of memory.
const LARGEST: u32 = 250_000;
/// More segments than this make searches slower than putting some together costs.
const MANY: usize = 6;
/// Smaller ones are put together whatever their proportions.
const SMALL: u32 = 2_000;

/// How large a segment is, and how much of it still counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) chunks: u32,
    pub(crate) wanted: u32,
}

/// Which segments to make one of; none if it is not worth it.
pub(crate) fn choose(sizes: &[Size]) -> Vec<usize> {
    // Mostly about what is gone: worth writing anew alone.
    let is_stale = |size: &Size| {
        size.chunks > 0 && (size.wanted == 0 || (size.chunks > SMALL && size.wanted < size.chunks / 2))
    };
    if let Some(stale) = sizes.iter().position(is_stale) {
        return vec![stale];
    }
    if sizes.len() <= MANY {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes[*at].wanted);
    let mut chosen = Vec::new();
    let mut sum = 0_u32;
    for at in order {
        let next = sizes[at].wanted;
        // A large one is not written anew for the sake of a few small ones.
        let in_proportion = next <= SMALL.max(sum.saturating_mul(2)) || chosen.len() < 2;
        if !in_proportion || sum.saturating_add(next) > LARGEST {
            break;
        }
        sum += next;
        chosen.push(at);
    }
    if chosen.len() < 2 { Vec::new() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(chunks: &[u32]) -> Vec<Size> {
        chunks.iter().map(|chunks| Size { chunks: *chunks, wanted: *chunks }).collect()
    }

    #[test]
    fn small_ones_go_together_and_large_ones_stay() {
        assert_eq!(choose(&sizes(&[200_000, 10, 10, 10])), []);
        assert_eq!(choose(&sizes(&[200_000, 10, 20, 10, 5, 5, 5])), [4, 5, 6, 1, 3, 2]);
        assert_eq!(choose(&sizes(&[240_000; 20])), [], "no segment grows without end");
    }

    #[test]
    fn it_ends_for_any_sizes() {
        let mut all: Vec<Size> = sizes(&[30_000; 40]);
        for _ in 0..100 {
            let chosen = choose(&all);
            if chosen.is_empty() {
                break;
            }
            let sum = chosen.iter().map(|at| all[*at].wanted).sum();
            all = all
                .iter()
                .enumerate()
                .filter(|(at, _)| !chosen.contains(at))
                .map(|(_, size)| *size)
                .collect();
            all.push(Size { chunks: sum, wanted: sum });
        }
        assert!(choose(&all).is_empty());
        assert_eq!(all.iter().map(|size| size.wanted).sum::<u32>(), 1_200_000);
        assert!(all.len() <= 8, "{}", all.len());
    }

    #[test]
    fn what_is_mostly_gone_is_written_anew() {
        assert_eq!(choose(&[Size { chunks: 10_000, wanted: 100 }]), [0]);
        assert_eq!(choose(&[Size { chunks: 100, wanted: 0 }]), [0]);
        assert_eq!(choose(&[Size { chunks: 100, wanted: 1 }]), []);
    }
}
