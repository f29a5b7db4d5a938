//! The parameters behind the `?` of a request.

use std::ops::RangeInclusive;

use gate::near_names;
use url::form_urlencoded;

use super::problem::Problem;

/// What is shown of a name that no parameter has, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Those of one request: each is known, and there once.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads them.
    ///
    /// # Errors
    /// One is none of the `known`, or there twice.
    pub(super) fn read(query: Option<&str>, known: &[&str]) -> Result<Query, Problem> {
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&&*name) {
                return Err(Problem::bad(unknown(&name, known)));
            }
            // A filter that says nothing would find nothing, or everything: nobody knows which was meant.
            if value.is_empty() {
                return Err(Problem::bad(format!("`{name}` is empty; give it a value, or leave it away")));
            }
            if all.iter().any(|(other, _)| *other == *name) {
                return Err(Problem::bad(format!("`{name}` is given twice")));
            }
            all.push((name.into_owned(), value.into_owned()));
        }
        Ok(Query(all))
    }

    /// The text of a parameter.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The whole number of a parameter.
    ///
    /// # Errors
    /// It is none, or not within these.
    pub(super) fn number(&self, name: &str, within: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| within.contains(number));
        let why = || {
            Problem::bad(format!(
                "`{name}` must be a whole number from {} to {}",
                within.start(),
                within.end()
            ))
        };
        number.map(Some).ok_or_else(why)
    }

    /// Where a page begins, if `cursor` says it and is a number.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn cursor(&self) -> Result<Option<u64>, Problem> {
        let number = |text: &str| text.parse().ok().filter(|number| *number <= i64::MAX as u64);
        self.text("cursor").map(|text| number(text).ok_or_else(bad_cursor)).transpose()
    }

    /// The word of a parameter that is `true` or `false`.
    ///
    /// # Errors
    /// It is another one.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Problem::bad(format!("`{name}` must be true or false"))),
        }
    }
}

/// No page begins where `cursor` says, or none any more.
pub(super) fn bad_cursor() -> Problem {
    Problem::bad("`cursor` must be the `next_cursor` of a page before; leave it away to begin with the first")
}

fn unknown(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "there are no parameters here".to_owned();
    }
    let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
    match near_names(name, known.iter().copied()).first() {
        Some(near) => format!("`{shown}` is no parameter here; did you mean `{near}`?"),
        None => format!("`{shown}` is no parameter here; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, String> {
        let known = ["limit", "tool", "events", "cursor"];
        Query::read(Some(query), &known).map_err(|problem| serde_json::json!(problem)["detail"].to_string())
    }

    #[test]
    fn parameters_are_known_sound_and_there_once() {
        let query = read("limit=20&tool=git_%2A+x&events=true").unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(query.number("limit", 1..=20).ok(), Some(Some(20)));
        assert!(query.number("limit", 1..=19).is_err() && query.number("tool", 0..=9).is_err());
        assert_eq!((query.text("tool"), query.text("other")), (Some("git_* x"), None));
        assert_eq!((query.flag("events").ok(), query.flag("other").ok()), (Some(true), Some(false)));
        assert!(query.flag("limit").is_err());
        for (wrong, why) in [
            ("limits=1", "`limits` is no parameter here; did you mean `limit`?"),
            ("page=1", "`page` is no parameter here; there are limit, tool, events, cursor"),
            ("tool=", "`tool` is empty; give it a value, or leave it away"),
            ("tool", "`tool` is empty; give it a value, or leave it away"),
            ("limit=1&limit=1", "`limit` is given twice"),
        ] {
            assert_eq!(read(wrong).err(), Some(format!("{why:?}")));
        }
        let cursor = |text: &str| {
            let read = read(&format!("cursor={text}")).unwrap_or_else(|why| panic!("{why}"));
            read.cursor().map_err(|problem| assert_eq!(problem, bad_cursor()))
        };
        assert_eq!((cursor("0"), cursor("9223372036854775807")), (Ok(Some(0)), Ok(Some(i64::MAX as u64))));
        for wrong in ["zzz", "-1", "1.5", "9223372036854775808"] {
            assert_eq!(cursor(wrong), Err(()), "{wrong}");
        }
        assert!(Query::read(None, &[]).is_ok() && Query::read(Some("a"), &[]).is_err());
    }
}
