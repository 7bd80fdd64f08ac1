//! Which log messages a caller wants, and the level that a server gets.

use toolbay_protocol::LogLevel;

/// The log messages that a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFilter {
    /// None at all.
    #[default]
    Nothing,
    /// Whatever the server sends.
    Everything,
    /// Those that are at least this severe.
    AtLeast(LogLevel),
}

impl LogFilter {
    /// Whether a message of that severity is wanted; an unknown severity is less than all others.
    pub(crate) fn wants(self, level: Option<LogLevel>) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::AtLeast(least) => level.is_some_and(|level| level >= least),
        }
    }
}

/// The log level that a legacy server has on this connection.
///
/// Its one level serves all callers, so it is only ever made more verbose; each caller gets the part it wants of what
/// comes. It never starts above `info`: callers that named no level should not lose what they had because another one
/// wants errors only.
#[derive(Debug, Default)]
pub(crate) struct ServerLogLevel {
    /// Whether the server has `logging/setLevel`.
    pub(crate) can_be_set: bool,
    set: Option<LogLevel>,
}

impl ServerLogLevel {
    /// Returns the level to set before a call with that filter.
    pub(crate) fn level_to_set(&mut self, wish: LogFilter) -> Option<LogLevel> {
        let LogFilter::AtLeast(least) = wish else { return None };
        let wanted = least.min(LogLevel::Info);
        let must_set = self.can_be_set && self.set.is_none_or(|set| wanted < set);
        must_set.then(|| *self.set.insert(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_set_only_when_a_client_wants_more() {
        let mut verbosity = ServerLogLevel { can_be_set: true, set: None };
        let wishes = [
            LogFilter::Nothing,
            LogFilter::Everything,
            LogFilter::AtLeast(LogLevel::Error),
            LogFilter::AtLeast(LogLevel::Info),
            LogFilter::AtLeast(LogLevel::Debug),
            LogFilter::AtLeast(LogLevel::Emergency),
            LogFilter::AtLeast(LogLevel::Debug),
        ];
        let levels: Vec<LogLevel> =
            wishes.into_iter().filter_map(|wish| verbosity.level_to_set(wish)).collect();
        assert_eq!(levels, [LogLevel::Info, LogLevel::Debug]);
        let mut mute = ServerLogLevel::default();
        assert_eq!(mute.level_to_set(LogFilter::AtLeast(LogLevel::Debug)), None);
    }

    #[test]
    fn wishes_are_judged_by_severity() {
        let warning = LogFilter::AtLeast(LogLevel::Warning);
        assert!(warning.wants(Some(LogLevel::Warning)) && warning.wants(Some(LogLevel::Emergency)));
        assert!(!warning.wants(Some(LogLevel::Notice)) && !warning.wants(None));
        assert!(LogFilter::Everything.wants(None) && !LogFilter::Nothing.wants(Some(LogLevel::Emergency)));
    }
}
