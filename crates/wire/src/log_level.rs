//! How grave a log message is (MCP, "Logging"; the levels of RFC 5424).

/// A level, least grave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// Ordinary events.
    Info,
    /// Ordinary events worth noting.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// A part cannot go on.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// The names, in the order of the levels.
const NAMES: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl LogLevel {
    /// All levels, least grave first.
    pub const ALL: [LogLevel; 8] = [
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<LogLevel> {
        LogLevel::ALL.into_iter().find(|level| level.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_levels_are_in_order() {
        for pair in LogLevel::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
        }
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::parse(level.name()), Some(level));
        }
        assert_eq!(LogLevel::parse("Info"), None);
    }
}
