//! Options of `git` before its sub-command.

/// Those that have a value in the next word.
const VALUES: [&str; 8] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// Whether the next word is its value.
pub(crate) fn has_value(option: &str) -> bool {
    VALUES.contains(&option)
}

/// Whether an option with its value gives sub-commands other names, or takes them from elsewhere.
pub(crate) fn renames(option: &str, value: Option<&str>) -> bool {
    let renames = |setting: &str| {
        let setting = setting.to_ascii_lowercase();
        setting.starts_with("alias.") || setting.starts_with("include")
    };
    match option {
        "-c" | "--config-env" => value.is_none_or(renames),
        "--exec-path" => true,
        option => {
            option.starts_with("--exec-path=")
                || option.strip_prefix("--config-env=").is_some_and(renames)
                || option.strip_prefix("-c").is_some_and(renames)
        }
    }
}
