//! The `[policy]` section: globs over tool names, checked and compiled once.

use std::fmt;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// Rules are written by people; more than this is a program's mistake.
const GLOBS_MAX: usize = 1_024;

/// Longer than any tool name.
const GLOB_BYTES_MAX: usize = 256;

/// Which tools are always allowed or always refused, by the name the caller sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Tools that run without asking, as globs over their names, for example `["git_git_reset"]`.
    pub allow: Vec<String>,
    /// Tools that never run, as globs over their names, for example `["*_delete_*"]`. Wins over `allow`.
    pub deny: Vec<String>,
}

/// Everything that is wrong with a `[policy]` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<BadGlob>,
}

/// One entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {glob:?} cannot be used: {why}")]
pub struct BadGlob {
    /// `policy.allow` or `policy.deny`.
    pub setting: &'static str,
    /// The entry as written.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            let separator = if nth == 0 { "" } else { "; " };
            write!(out, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// Compiles the globs of one setting and notes every problem.
pub(crate) fn compile(setting: &'static str, globs: &[String], problems: &mut Vec<BadGlob>) -> GlobSet {
    let bad = |glob: &str, why: String| BadGlob { setting, glob: glob.to_owned(), why };
    if let Some(first_over) = globs.get(GLOBS_MAX) {
        problems.push(bad(first_over, format!("there are more than {GLOBS_MAX} entries")));
        return GlobSet::empty();
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        match checked(glob) {
            Ok(glob) => drop(set.add(glob)),
            Err(why) => problems.push(bad(glob, why)),
        }
    }
    set.build().unwrap_or_else(|error| {
        problems.push(bad(error.glob().unwrap_or(""), error.kind().to_string()));
        GlobSet::empty()
    })
}

fn checked(glob: &str) -> Result<Glob, String> {
    if glob.is_empty() {
        return Err("it is empty; write `*` for every tool".to_owned());
    }
    if glob.len() > GLOB_BYTES_MAX {
        return Err(format!("it is longer than {GLOB_BYTES_MAX} bytes"));
    }
    Glob::new(glob).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    #[track_caller]
    fn check_refused(allow: &[&str], deny: &[&str], expected: &str) {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let error = Policy::new(&Config { allow: owned(allow), deny: owned(deny) }).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn every_bad_glob_is_named_at_once() {
        check_refused(
            &["git_[", "fine_*"],
            &["{a", ""],
            "policy.allow: \"git_[\" cannot be used: unclosed character class; missing ']'; \
             policy.deny: \"{a\" cannot be used: unclosed alternate group; missing '}' \
             (maybe escape '{' with '[{]'?); \
             policy.deny: \"\" cannot be used: it is empty; write `*` for every tool",
        );
    }

    #[test]
    fn limits_are_kept() {
        let long = "x".repeat(GLOB_BYTES_MAX + 1);
        check_refused(
            &[&long],
            &[],
            &format!("policy.allow: {long:?} cannot be used: it is longer than 256 bytes"),
        );
        let many = vec!["tool"; GLOBS_MAX + 1];
        check_refused(&[], &many, "policy.deny: \"tool\" cannot be used: there are more than 1024 entries");
    }

    #[test]
    fn unknown_settings_are_refused() {
        assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
        let error = serde_json::from_str::<Config>(r#"{"alow": ["x"]}"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `alow`, expected `allow` or `deny`"), "{error}");
    }
}
