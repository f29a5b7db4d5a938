//! The versions of what is installed and has no lock file of its own: exact ones only, each the newest when it was
//! written here. What comes from npm and PyPI is in `e2e/packages`.

use super::cargo_tools::Tool;

/// The oldest Node that serves, as major and minor version: the Inspector's requirement.
pub const NODE_MIN: (u32, u32) = (22, 19);

/// Makes the lock files of Python's packages; nothing that is tested depends on it.
pub const UV: &str = "uv==0.13.9";

/// Runs the tests. Its version changes nothing that is tested, so the machine's own serves. Without what fetches newer
/// versions of itself it is built in less time.
pub const CARGO_NEXTEST: Tool =
    Tool { name: "cargo-nextest", version: "0.9.143", exact: false, words: &["--no-default-features"] };

/// Judges the dependencies. Its rules change between versions.
pub const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", exact: true, words: &[] };

/// Breaks the code. What it makes of it changes between versions, and with it what may survive.
pub const CARGO_MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0", exact: true, words: &[] };
