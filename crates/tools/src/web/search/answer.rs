//! `Found`: what a search gives, for models and for programs: the pages, and how each service did.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::merge::Page;
use crate::plain_schema::brief;

/// The result of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = brief)]
pub(crate) struct Found {
    pub(super) pages: Vec<Page>,
    pub(super) services: Vec<Told>,
}

/// How one service did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub state: State,
    /// How many pages it found.
    pub pages: usize,
    /// Why it gave nothing: completes "it …".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What came of asking a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum State {
    /// It said what it has, if it has something.
    Answered,
    /// It said nothing in time.
    Silent,
    /// It could not be asked, or its answer is none.
    Failed,
    /// It was not asked, since it failed again and again or asked for a rest.
    Resting,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, page) in self.pages.iter().enumerate() {
            writeln!(f, "{}. {} — {}", nth + 1, page.title, page.url)?;
            page.snippets.iter().try_for_each(|snippet| writeln!(f, "   {snippet}"))?;
            writeln!(f, "   [{}]", page.services.join(", "))?;
        }
        if self.pages.is_empty() {
            writeln!(f, "Nothing was found; try other words, or fewer.")?;
        }
        f.write_str(&told(&self.services))
    }
}

/// How all of them did, in one line.
pub(super) fn told(services: &[Told]) -> String {
    let of = |state: State, is_found: Option<bool>, show: fn(&Told) -> String| {
        let fits = |told: &&Told| {
            told.state == state && is_found.is_none_or(|is_found| (told.pages > 0) == is_found)
        };
        services.iter().filter(fits).map(show).collect::<Vec<_>>().join(", ")
    };
    let why = |told: &Told| match &told.why {
        Some(why) => format!("{} ({why})", told.name),
        None => told.name.clone(),
    };
    let parts = [
        ("Found", of(State::Answered, Some(true), |told| format!("{} ({})", told.name, told.pages))),
        ("nothing", of(State::Answered, Some(false), |told| told.name.clone())),
        ("silent", of(State::Silent, None, |told| told.name.clone())),
        ("failed", of(State::Failed, None, why)),
        ("not asked", of(State::Resting, None, why)),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<_> = parts.map(|(what, names)| format!("{what}: {names}")).collect();
    let line = parts.join("; ");
    // It begins with a capital, whichever comes first.
    let first = line.chars().next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", line.chars().skip(1).collect::<String>())
}
