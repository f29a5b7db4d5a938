//! What the expression language has of ours: patterns that are compiled when the policy is, and paths that are
//! compared where they lie.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cel::common::types::{CelBool, CelList, CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Env, ExecutionError};
use regex::Regex;
use shell::Unclear;

use super::scripts::{Scripts, WORDS_MAX};

/// The name of their type, which nobody has written.
pub(super) const TYPE_NAME: &str = "hidden";

static TYPE: Type = hidden_type();

const fn hidden_type() -> Type {
    Type::new_unspecified_type(TYPE_NAME)
}

/// The size of one compiled pattern, in bytes. A few of the Unicode classes fit.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Every place that a path means to our own tools, all of them absolute: the one that its words name, and with each link
/// on the way followed. An error says why it cannot be told, without the path.
pub type Places = dyn Fn(&str) -> Result<Vec<PathBuf>, &'static str> + Send + Sync;

/// A value that our functions are given and no condition can name.
#[derive(Clone)]
pub(crate) enum Hidden {
    /// The compiled pattern of `matches`.
    Pattern(Regex),
    /// What relative paths begin at, for `isUnder`: the workspace for our own tools, and nothing that is known for those
    /// of servers.
    Base(Option<Arc<Places>>),
    /// What commands run, for `runs` and `commands`.
    Scripts(Arc<Scripts>),
}

impl Hidden {
    /// Compiles a pattern.
    pub(super) fn pattern(text: &str) -> Result<Hidden, String> {
        let built = regex::RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
        built.map(Hidden::Pattern).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large; write a simpler one".to_owned(),
            // The last line of a long drawing says what it is.
            error => {
                let text = error.to_string();
                let message = text.lines().last().unwrap_or_default();
                format!("the pattern cannot be used: {}", message.strip_prefix("error: ").unwrap_or(message))
            }
        })
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

impl Val for Hidden {
    fn get_type(&self) -> &Type {
        &TYPE
    }

    fn cel_type() -> &'static Type {
        &TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Hidden {}

/// The standard functions, and ours.
pub(super) fn environment() -> Env {
    let mut env = Env::stdlib();
    let unique = "the standard library without patterns has no function of this name";
    env.add_overload("matches", "matches_pattern", vec![STRING_TYPE, hidden_type()], matches).expect(unique);
    env.add_member_overload("matches", "string_matches_pattern", STRING_TYPE, vec![hidden_type()], matches)
        .expect(unique);
    let given = vec![STRING_TYPE, hidden_type()];
    env.add_member_overload("isUnder", "string_is_under_string", STRING_TYPE, given, is_under).expect(unique);
    for words in 1..=WORDS_MAX {
        let given = (0..words).map(|_| STRING_TYPE).chain([hidden_type()]).collect();
        let id = format!("string_runs_{words}_words");
        env.add_member_overload("runs", &id, STRING_TYPE, given, runs).expect(unique);
    }
    env.add_member_overload("commands", "string_commands", STRING_TYPE, vec![hidden_type()], commands)
        .expect(unique);
    env
}

fn matches<'b, 'v>(given: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match (text(&given, 0), hidden(&given, 1)) {
        (Some(text), Some(Hidden::Pattern(pattern))) => Ok(answer(pattern.is_match(text))),
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

fn is_under<'b, 'v>(given: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    match (text(&given, 0), text(&given, 1), hidden(&given, 2)) {
        (Some(path), Some(folder), Some(Hidden::Base(places))) => lies_under(path, folder, places.as_deref())
            .map(answer)
            .map_err(|why| ExecutionError::function_error("isUnder", why)),
        _ => Err(ExecutionError::missing_argument_or_target()),
    }
}

fn runs<'b, 'v>(given: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let missing = ExecutionError::missing_argument_or_target;
    let (Some(command), Some(Hidden::Scripts(scripts)), Some(name)) =
        (text(&given, 0), hidden(&given, given.len().saturating_sub(1)), text(&given, 1))
    else {
        return Err(missing());
    };
    let words: Option<Vec<&str>> = (2..given.len() - 1).map(|nth| text(&given, nth)).collect();
    let words = words.ok_or_else(missing)?;
    let answer_of = scripts.of(command).and_then(|script| script.runs(name, &words));
    answer_of.map(answer).map_err(|why| unclear("runs", why))
}

fn commands<'b, 'v>(given: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (Some(command), Some(Hidden::Scripts(scripts))) = (text(&given, 0), hidden(&given, 1)) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let script = scripts.of(command).map_err(|why| unclear("commands", why))?;
    let names = script.names().map_err(|why| unclear("commands", why))?;
    let names = names.into_iter().map(|name| -> Box<dyn Val> { Box::new(CelString::from(name.to_owned())) });
    Ok(CowVal::owned(CelList::from(names.collect::<Vec<_>>())))
}

fn unclear(function: &str, why: Unclear) -> ExecutionError {
    ExecutionError::function_error(function, format!("it cannot be told which programs are run: {why}"))
}

fn text<'g>(given: &'g [CowVal<'_, '_>], nth: usize) -> Option<&'g str> {
    given.get(nth)?.downcast_ref::<CelString<'_>>().map(CelString::inner)
}

fn hidden<'g>(given: &'g [CowVal<'_, '_>], nth: usize) -> Option<&'g Hidden> {
    given.get(nth)?.downcast_ref::<Hidden>()
}

fn answer<'b, 'v>(yes: bool) -> CowVal<'b, 'v> {
    CowVal::owned(CelBool::from(yes))
}

/// Whether a path names the folder or something below it. The same answer permits in one rule and denies in another, so
/// where there is no plain one there is none.
fn lies_under(path: &str, folder: &str, places: Option<&Places>) -> Result<bool, &'static str> {
    let Some(places) = places else { return words_lie_under(path, folder) };
    let (places, folders) = (places(path)?, places(folder)?);
    let mut answers = places.iter().map(|place| folders.iter().any(|folder| place.starts_with(folder)));
    let first = answers.next().ok_or("the path leads nowhere")?;
    match answers.all(|answer| answer == first) {
        true => Ok(first),
        false => Err("the path leads through a link; name the place where it really lies"),
    }
}

/// The same by the words of both alone.
fn words_lie_under(path: &str, folder: &str) -> Result<bool, &'static str> {
    if path.starts_with('/') != folder.starts_with('/') {
        return Err("a path from the root on cannot be compared with one that begins elsewhere");
    }
    let climbs = "a path that climbs out of where it begins cannot be compared";
    Ok(parts(path).ok_or(climbs)?.starts_with(&parts(folder).ok_or(climbs)?))
}

fn parts(path: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Above the root there is the root.
            ".." if path.starts_with('/') => _ = parts.pop(),
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_path_is_under_a_folder_or_not() {
        let apart = Err("a path from the root on cannot be compared with one that begins elsewhere");
        let climbs = Err("a path that climbs out of where it begins cannot be compared");
        for (path, folder, expected) in [
            ("docs/a.md", "docs", Ok(true)),
            ("docs", "docs/", Ok(true)),
            ("./docs//a/../b", "docs", Ok(true)),
            ("docs/../secret", "docs", Ok(false)),
            ("docs/../../docs/a", "docs", climbs),
            ("../project/docs/a", "docs", climbs),
            ("docsx/a", "docs", Ok(false)),
            ("/docs/a", "docs", apart),
            ("docs/a", "/docs", apart),
            ("/srv/docs/a", "/srv/docs", Ok(true)),
            ("/srv/docs/../../etc", "/srv/docs", Ok(false)),
            ("/../srv/docs/a", "/srv/docs", Ok(true)),
            ("anything", ".", Ok(true)),
            ("", "docs", Ok(false)),
        ] {
            assert_eq!(lies_under(path, folder, None), expected, "{path} under {folder}");
        }
    }

    #[test]
    fn paths_of_our_own_tools_are_compared_where_they_lie() {
        // `pub` is a link to `secrets`, and `store` another name of `vault`.
        let places = |path: &str| {
            let inside = path.strip_prefix("/workspace/").or(path.strip_prefix("/w/")).unwrap_or(path);
            let real = inside.replace("pub", "secrets").replace("store", "vault");
            Ok(vec![Path::new("/w").join(inside), Path::new("/w").join(real)])
        };
        let link = Err("the path leads through a link; name the place where it really lies");
        for (path, folder, expected) in [
            ("secrets/key", "secrets", Ok(true)),
            ("/workspace/secrets/key", "secrets", Ok(true)),
            ("/w/secrets/key", "/workspace/secrets", Ok(true)),
            ("/etc/passwd", "secrets", Ok(false)),
            ("/etc/passwd", "/etc", Ok(true)),
            ("pub/key", "secrets", link),
            ("pub/key", "pub", Ok(true)),
            ("pub/key", "docs", Ok(false)),
            ("store/a", "store", Ok(true)),
            ("vault/a", "store", Ok(true)),
        ] {
            assert_eq!(lies_under(path, folder, Some(&places)), expected, "{path} under {folder}");
        }
        assert_eq!(lies_under("a", "a", Some(&|_: &str| Err("no"))), Err("no"));
    }
}
