//! The few command line options of the floors: `--name VALUE`.

/// The value after `name`, or `None` where the option is absent or not a whole number.
pub fn number(name: &str) -> Option<u16> {
    text(name)?.parse().ok()
}

/// The value after `name`, or `None` where the option is absent.
pub fn text(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}
