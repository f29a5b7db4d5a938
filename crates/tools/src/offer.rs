//! The `[tools]` section: which sets of built-in tools are offered.

use std::fmt;

use serde::Deserialize;

/// Which built-in tools are offered to agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Sets of built-in tools on offer, for example `["workspace"]`. Without it all sets are offered;
    /// `[]` offers none.
    pub offer: Option<Vec<String>>,
}

/// A group of built-in tools that are offered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// Files of the workspace: read, write, list.
    Workspace,
}

impl Set {
    /// Every set, in the order in which their tools are listed.
    pub const ALL: [Set; 1] = [Set::Workspace];

    /// The name used in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Set::Workspace => "workspace",
        }
    }
}

/// The sets on offer, each once. By default all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer(Vec<Set>);

impl Offer {
    /// The sets, in the order of [`Set::ALL`].
    pub fn sets(&self) -> &[Set] {
        &self.0
    }

    /// The same without a set.
    pub fn without(mut self, set: Set) -> Offer {
        self.0.retain(|one| *one != set);
        self
    }
}

impl Default for Offer {
    fn default() -> Offer {
        Offer(Set::ALL.to_vec())
    }
}

/// Everything that is wrong with a `[tools]` section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct OfferError {
    /// At least one.
    pub problems: Vec<UnknownSet>,
}

/// A name in `tools.offer` that is no set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tools.offer: unknown set of tools {name:?}; did you mean {nearest:?}")]
pub struct UnknownSet {
    /// What was written.
    pub name: String,
    /// The set whose name is nearest to it.
    pub nearest: &'static str,
}

impl fmt::Display for OfferError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            let separator = if nth == 0 { "" } else { "; " };
            write!(out, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl Config {
    /// The sets that are meant; naming one twice is naming it once.
    ///
    /// # Errors
    /// Names every entry that is no set, with the nearest one that is.
    pub fn check(&self) -> Result<Offer, OfferError> {
        let Some(names) = &self.offer else {
            return Ok(Offer::default());
        };
        let known = |name: &str| Set::ALL.iter().any(|set| set.name() == name);
        let unknown = names.iter().filter(|name| !known(name));
        let problems: Vec<UnknownSet> = unknown.map(|name| UnknownSet::new(name)).collect();
        if !problems.is_empty() {
            return Err(OfferError { problems });
        }
        let asked = |set: &Set| names.iter().any(|name| name == set.name());
        Ok(Offer(Set::ALL.into_iter().filter(asked).collect()))
    }
}

impl UnknownSet {
    fn new(name: &str) -> UnknownSet {
        let alike = |set: &Set| strsim::jaro_winkler(name, set.name());
        let nearest = Set::ALL.into_iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
        let nearest = nearest.expect("there is at least one set").name();
        UnknownSet { name: name.to_owned(), nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(section: &str, expected: &str) {
        let found = match serde_json::from_str::<Config>(section) {
            Err(error) => error.to_string(),
            Ok(config) => match config.check() {
                Err(error) => error.to_string(),
                Ok(offer) => offer.sets().iter().map(|set| set.name()).collect::<Vec<_>>().join(" "),
            },
        };
        assert_eq!(found, expected, "{section}");
    }

    #[test]
    fn sets_are_named() {
        check("{}", "workspace");
        check(r#"{"offer": []}"#, "");
        check(r#"{"offer": ["workspace", "workspace"]}"#, "workspace");
    }

    #[test]
    fn all_mistakes_are_named_at_once() {
        check(
            r#"{"offer": ["workspce", "workspace", "Files"]}"#,
            r#"tools.offer: unknown set of tools "workspce"; did you mean "workspace"; tools.offer: unknown set of tools "Files"; did you mean "workspace""#,
        );
        check(r#"{"offers": []}"#, "unknown field `offers`, expected `offer` at line 1 column 9");
    }
}
