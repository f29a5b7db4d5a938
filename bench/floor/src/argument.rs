//! The few command line options of the floors: `--name VALUE`, whole numbers only.

/// The value after `name`, or `None` where the option is absent or not a whole number.
pub fn number(name: &str) -> Option<u16> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)?.parse().ok()
}
