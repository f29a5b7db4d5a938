//! Options of `git` before its sub-command, and sub-commands that start other programs.

use crate::unclear::Unclear;
use crate::word::Word;

/// Those that have a value in the next word.
const VALUES: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];

/// Sub-commands that start others wherever they stand.
const STARTING: [&str; 3] = ["filter-branch", "for-each-repo", "hook"];

/// Sub-commands that do with this word behind them.
const STARTING_WITH: [(&str, &str); 2] = [("submodule", "foreach"), ("bisect", "run")];

/// Options by which `rebase` and others do, shortened as git allows.
const EXEC: [&str; 4] = ["--exec", "--exe", "--ex", "--extcmd"];

/// Whether the next word is its value.
pub(crate) fn has_value(option: &str) -> bool {
    VALUES.contains(&option)
}

/// Whether an option with its value gives sub-commands other names, or takes them from elsewhere.
pub(crate) fn renames(option: &str, value: Option<&str>) -> bool {
    let renames = |setting: &str| {
        let setting = setting.to_ascii_lowercase();
        ["alias.", "include", "help.autocorrect"].iter().any(|begins| setting.starts_with(begins))
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

/// Why it cannot be told which programs `git` starts with these arguments; nothing if it starts none.
pub(crate) fn starts_others(args: &[Word]) -> Option<Unclear> {
    let mut rest = args.iter();
    let sub_command = loop {
        let Some(word) = rest.next()?.known() else { return Some(Unclear::Word) };
        match word {
            option if has_value(option) => _ = rest.next(),
            option if option.starts_with('-') => {}
            word => break word,
        }
    };
    let may_be = |is_it: &dyn Fn(&str) -> bool| {
        rest.clone().find_map(|word| match word.known() {
            None => Some(Unclear::Word),
            Some(word) => is_it(word).then_some(Unclear::Elsewhere),
        })
    };
    if STARTING.contains(&sub_command) {
        return Some(Unclear::Elsewhere);
    }
    if let Some((_, starting)) = STARTING_WITH.iter().find(|(name, _)| *name == sub_command) {
        return may_be(&|word| word == *starting);
    }
    let has_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    let is_exec = |word: &str| has_short(word) || word.split('=').next().is_some_and(|it| EXEC.contains(&it));
    match sub_command {
        "rebase" | "difftool" => may_be(&is_exec),
        _ => None,
    }
}
