//! How many bytes of calls may be underway at once.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Calls that are shorter are bounded well enough by their number, and cost nothing here.
const WEIGHED: usize = 16 * 1024;

/// A number of bytes that calls share. Clones share the same bytes.
#[derive(Debug, Clone)]
pub struct ByteBudget {
    limit: usize,
    in_use: Arc<AtomicUsize>,
}

impl ByteBudget {
    /// What calls to one server may hold.
    pub const PER_SERVER: usize = 128 * 1024 * 1024;
    /// What calls to all servers of a host may hold together.
    pub const IN_ALL: usize = 256 * 1024 * 1024;

    /// A budget of which nothing is used.
    pub fn new(limit: usize) -> Self {
        Self { limit, in_use: Arc::default() }
    }

    /// Takes bytes out of the budget; an error says how many are in use if these are too many. What would fit into an unused
    /// budget never, fits into it alone.
    fn reserve(&self, bytes: usize) -> Result<Reservation, OverBudget> {
        let before = self.in_use.fetch_add(bytes, Relaxed);
        let reserved = Reservation { bytes, used: self.in_use.clone() };
        if before > 0 && before + bytes > self.limit {
            return Err(OverBudget { in_use: before, limit: self.limit });
        }
        Ok(reserved)
    }
}

/// Why a call has no place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverBudget {
    pub(crate) in_use: usize,
    pub(crate) limit: usize,
}

/// Bytes of a budget, given back when dropped.
#[derive(Debug)]
struct Reservation {
    bytes: usize,
    used: Arc<AtomicUsize>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Relaxed);
    }
}

/// The bytes of one call.
#[derive(Debug)]
pub(crate) struct CallSize {
    _of_server: Reservation,
    _of_all: Reservation,
}

impl CallSize {
    /// The place of a call in the budgets of its server and of all servers; nothing for one that needs none.
    pub(crate) fn of(
        bytes: usize,
        server: &ByteBudget,
        all: &ByteBudget,
    ) -> Result<Option<Box<Self>>, OverBudget> {
        if bytes <= WEIGHED {
            return Ok(None);
        }
        Ok(Some(Box::new(Self { _of_server: server.reserve(bytes)?, _of_all: all.reserve(bytes)? })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_until_something_is_given_back() {
        let (server, all) = (ByteBudget::new(100_000), ByteBudget::new(150_000));
        let first = CallSize::of(60_000, &server, &all).unwrap();
        let refused = CallSize::of(60_000, &server, &all).unwrap_err();
        assert_eq!((refused.in_use, refused.limit), (60_000, 100_000));
        let other = ByteBudget::new(100_000);
        let refused = CallSize::of(100_000, &other, &all).unwrap_err();
        assert_eq!((refused.in_use, refused.limit), (60_000, 150_000));
        assert!(CallSize::of(WEIGHED, &server, &all).unwrap().is_none());
        drop(first);
        assert!(CallSize::of(60_000, &server, &all).unwrap().is_some());
        assert!(CallSize::of(1_000_000, &server, &all).unwrap().is_some(), "one alone may be longer");
    }
}
