//! The `[tools]` section: which sets of built-in tools are offered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which built-in tools are offered to agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Sets of built-in tools on offer, for example `["workspace"]`. Without it all sets are offered;
    /// `[]` offers none.
    pub offer: Option<Vec<Set>>,
}

/// A group of built-in tools that are offered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Set {
    /// Files of the workspace: read, write, list.
    Workspace,
}

impl Set {
    /// Every set, in the order in which their tools are listed.
    pub const ALL: [Set; 1] = [Set::Workspace];
}

impl Config {
    /// The sets on offer, each once, in the order of [`Set::ALL`].
    pub fn sets(&self) -> Vec<Set> {
        let is_offered = |set: &Set| self.offer.as_ref().is_none_or(|offer| offer.contains(set));
        Set::ALL.into_iter().filter(is_offered).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &str, expected: Result<&[Set], &str>) {
        let sets = serde_json::from_str::<Config>(section).map(|config| config.sets());
        let sets = sets.map_err(|error| error.to_string());
        assert_eq!(sets, expected.map(<[Set]>::to_vec).map_err(str::to_owned), "{section}");
    }

    #[test]
    fn sets_are_named() {
        check("{}", Ok(&Set::ALL));
        check(r#"{"offer": []}"#, Ok(&[]));
        check(r#"{"offer": ["workspace", "workspace"]}"#, Ok(&Set::ALL));
        check(
            r#"{"offer": ["workspce"]}"#,
            Err("unknown variant `workspce`, expected `workspace` at line 1 column 21"),
        );
        check(r#"{"offers": []}"#, Err("unknown field `offers`, expected `offer` at line 1 column 9"));
    }
}
