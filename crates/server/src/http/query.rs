//! The parameters behind the `?` of a request.

use std::ops::RangeInclusive;

use url::form_urlencoded;

use super::problem::Problem;

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
                let why = match known.is_empty() {
                    true => "there are no parameters here".to_owned(),
                    false => format!("the parameters here are {}", known.join(", ")),
                };
                return Err(Problem::bad(why));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Query, String> {
        let known = ["limit", "tool", "events"];
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
            ("limits=1", "the parameters here are limit, tool, events"),
            ("limit=1&limit=1", "`limit` is given twice"),
        ] {
            assert_eq!(read(wrong).err(), Some(format!("{why:?}")));
        }
        assert!(Query::read(None, &[]).is_ok() && Query::read(Some("a"), &[]).is_err());
    }
}
