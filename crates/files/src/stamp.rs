//! [`Stamp`]: detects whether a file has changed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// How long a file must be unchanged before its stamp can be trusted. Two writes within one tick of the file system's clock
/// (some have ticks of two seconds) leave the same stamp.
const REST: Duration = Duration::from_secs(2);

/// Size, times and number of a file. A stored stamp that [is still that of](Stamp::is_still) the file means that nothing has
/// written to it.
///
/// The time of change (`ctime`) is what counts: programs can set the time of modification at will, this one only the clock
/// sets. A clock that was set back cannot make two states look alike, unless a write hits the very tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// In bytes.
    pub size: u64,
    /// Time of modification, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Time of change, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// The file's number on its disk.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of a state that must not be trusted: equal to that of no file.
    pub const NEVER: Self = Self { size: u64::MAX, mtime_ns: i64::MIN, ctime_ns: i64::MIN, inode: 0 };

    /// Whether a file with this stored stamp is unchanged, if its stamp is `now`.
    pub fn is_still(&self, now: &Self) -> bool {
        *self != Self::NEVER && self == now
    }

    /// The stamp of a file in this state.
    pub fn of(stat: &Stat) -> Self {
        #[expect(clippy::unnecessary_cast, reason = "the types of these fields differ between platforms")]
        Self {
            size: stat.st_size as u64,
            mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
        }
    }

    /// This stamp if the file rested long enough when its content was read at `read_at`, else [`Stamp::NEVER`].
    pub fn if_rested(self, read_at: SystemTime) -> Self {
        let now = read_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let rest = REST.as_nanos() as u64;
        // A time far in the future (the clock was set back) is as good as one far in the past: a write now leaves another.
        if now.abs_diff(self.ctime_ns) < rest { Self::NEVER } else { self }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_at(ctime_ns: i64) -> Stamp {
        Stamp { size: 1, mtime_ns: 5, ctime_ns, inode: 7 }
    }

    #[test]
    fn a_young_stamp_is_equal_to_none() {
        let read_at = UNIX_EPOCH + Duration::from_secs(100);
        let young = changed_at(99_000_000_000);
        assert!(!young.if_rested(read_at).is_still(&young));
        assert!(!Stamp::NEVER.is_still(&Stamp::NEVER));
        let old = changed_at(90_000_000_000);
        assert!(old.if_rested(read_at).is_still(&old));
    }

    #[test]
    fn a_clock_set_back_leaves_other_stamps() {
        let read_at = UNIX_EPOCH + Duration::from_secs(100);
        let future = changed_at(5_000_000_000_000);
        assert!(future.if_rested(read_at).is_still(&future));
        assert!(!future.if_rested(read_at).is_still(&changed_at(100_000_000_001)));
    }
}
