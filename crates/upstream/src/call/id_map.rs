//! Maps by ids that we gave out ourselves.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// What is known of each id. Nobody else chooses the ids, so nobody can make them collide.
pub(crate) type IdMap<T> = HashMap<u64, T, BuildHasherDefault<SequentialIdHasher>>;

/// Ids are counted up: one product tells them apart, in its low bits as well as in its high ones.
#[derive(Debug, Default)]
pub(crate) struct SequentialIdHasher(u64);

impl Hasher for SequentialIdHasher {
    fn write_u64(&mut self, id: u64) {
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15); // 2^64 by the golden ratio
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("ids are numbers");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
