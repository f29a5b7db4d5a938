//! How grave a log message is (MCP, "Logging"; the levels of RFC 5424).

/// The names on the wire, least grave first.
pub const NAMES: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A level, by its place among the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogLevel(usize);

impl LogLevel {
    /// Ordinary events, and what is graver.
    pub const INFO: LogLevel = LogLevel(1);

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        NAMES[self.0]
    }

    /// The level of this name.
    pub fn parse(name: &str) -> Option<LogLevel> {
        NAMES.iter().position(|known| *known == name).map(LogLevel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_levels_are_in_order() {
        let levels = NAMES.map(|name| LogLevel::parse(name).unwrap());
        assert!(levels.is_sorted() && levels.contains(&LogLevel::INFO));
        assert_eq!((levels.map(LogLevel::name), LogLevel::INFO.name()), (NAMES, "info"));
        assert_eq!(LogLevel::parse("Info"), None);
    }
}
