//! How often something may happen.

use std::{
    collections::HashMap,
    fmt,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// How many counters there may be. Each belongs to a rule and a principal.
const MAX_COUNTERS: usize = 4096;

/// So many calls in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In what time.
    pub period: Duration,
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rate; write for example `10/m`, `5/30s` or `1000/d`")]
pub struct InvalidRate(String);

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let invalid = || InvalidRate(text.chars().take(40).collect());
        let (count, period) = text.split_once('/').ok_or_else(invalid)?;
        let count: u32 = count.trim().parse().ok().filter(|count| *count > 0).ok_or_else(invalid)?;
        let period = period.trim();
        let digits = period.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = if digits == 0 { 1 } else { period[..digits].parse().map_err(|_| invalid())? };
        let unit = match &period[digits..] {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            _ => return Err(invalid()),
        };
        let seconds = number.checked_mul(unit).filter(|seconds| (1..=31 * 24 * 3600).contains(seconds));
        Ok(Self { count, period: Duration::from_secs(seconds.ok_or_else(invalid)?) })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.period.as_secs();
        let units = [(24 * 3600, "d"), (3600, "h"), (60, "m"), (1, "s")];
        let (length, unit) =
            units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length)).unwrap_or((1, "s"));
        match seconds / length {
            1 => write!(f, "{}/{unit}", self.count),
            number => write!(f, "{}/{number}{unit}", self.count),
        }
    }
}

/// Counts the calls of one principal that one rule limits: a bucket that is full at first, and is filled at the rate.
#[derive(Debug)]
pub(crate) struct Counter {
    rate: Rate,
    /// What is left, and when that was so.
    left: Mutex<Option<(f64, Instant)>>,
}

impl Counter {
    fn new(rate: Rate) -> Self {
        Self { rate, left: Mutex::new(None) }
    }

    /// Counts a call at `now`, or says how long it has to wait.
    pub(crate) fn take(&self, now: Instant) -> Result<(), Duration> {
        let (full, period) = (f64::from(self.rate.count), self.rate.period.as_secs_f64());
        let mut state = self.left.lock();
        let (left, then) = state.unwrap_or((full, now));
        let refilled = now.saturating_duration_since(then).as_secs_f64() * full / period;
        let left = (left + refilled).min(full);
        if left >= 1.0 {
            *state = Some((left - 1.0, now));
            return Ok(());
        }
        *state = Some((left, now));
        Err(Duration::from_secs_f64((1.0 - left) * period / full))
    }
}

/// A rule, its rate and a principal.
type CounterKey = (Box<str>, Rate, Box<str>);

/// All counters. They outlast the tables of tools and the rules that refer to them.
#[derive(Debug, Default)]
pub struct RateLimits {
    counters: Mutex<HashMap<CounterKey, Arc<Counter>>>,
}

impl RateLimits {
    /// The counter of a rule for a principal.
    pub(crate) fn counter(&self, rule: &str, rate: Rate, principal: &str) -> Arc<Counter> {
        let mut counters = self.counters.lock();
        if counters.len() >= MAX_COUNTERS {
            counters.retain(|_, counter| Arc::strong_count(counter) > 1);
        }
        if counters.len() >= MAX_COUNTERS {
            // Too many principals to remember: this one is limited for as long as its view lives.
            return Arc::new(Counter::new(rate));
        }
        let key = (Box::from(rule), rate, Box::from(principal));
        counters.entry(key).or_insert_with(|| Arc::new(Counter::new(rate))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_they_are_read() {
        for (text, count, seconds) in
            [("10/m", 10, 60), ("5/30s", 5, 30), ("1/2h", 1, 7200), ("1000/d", 1000, 86400)]
        {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.count, rate.period.as_secs()), (count, seconds));
            assert_eq!(rate.to_string(), text);
        }
        for text in ["", "10", "10/", "0/m", "-1/m", "1/0s", "1/m2", "1/32d", "1/99999999999999999999d"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_counter_is_refilled_at_its_rate() {
        let limits = RateLimits::default();
        let counter = limits.counter("r", "2/10s".parse().unwrap(), "a");
        let start = Instant::now();
        assert_eq!((counter.take(start), counter.take(start)), (Ok(()), Ok(())));
        assert_eq!(counter.take(start), Err(Duration::from_secs(5)));
        assert_eq!(counter.take(start + Duration::from_secs(4)), Err(Duration::from_secs(1)));
        assert_eq!(counter.take(start + Duration::from_secs(5)), Ok(()));
        // Another table has the same counter; another principal has its own.
        assert!(limits.counter("r", "2/10s".parse().unwrap(), "a").take(start).is_err());
        assert!(limits.counter("r", "2/10s".parse().unwrap(), "b").take(start).is_ok());
    }
}
