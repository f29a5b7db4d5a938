//! Variables that change what the names of programs mean.

/// Variables by which names lead elsewhere, words are cut otherwise, or that are run themselves.
const NAMES: [&str; 9] =
    ["PATH", "BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "CDPATH", "PS4", "PROMPT_COMMAND"];

/// What the names of others begin with: libraries, functions, and settings of git that are commands or aliases.
const NAME_BEGINS: [&str; 5] = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "BASH_ALIASES"];

/// Whether a variable of this name changes what is run.
pub(crate) fn changes_names(name: &str) -> bool {
    NAMES.contains(&name) || NAME_BEGINS.iter().any(|begins| name.starts_with(begins))
}
