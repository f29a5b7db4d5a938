//! The list of built-in tools as it was released: one line for each, its name and the hashes of its schemas.
//! A change of the list is a change for every user, so it is made on purpose: run the test below with
//! `UPDATE_EXPECT=1` and read the difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use gate::Offered;
use sha2::{Digest as _, Sha256};

/// What was released.
pub(super) const RELEASED: &str = include_str!("../../../tool-list.snapshot");

/// The lines for these tools.
pub(super) fn of(tools: &[Arc<Offered>]) -> String {
    let line = |tool: &Arc<Offered>| {
        let definition = tool.definition();
        let output = definition.output_schema.as_deref().map_or("-".to_owned(), |text| sha256(text));
        format!("{} {} {output}\n", definition.name, sha256(&definition.input_schema))
    };
    tools.iter().map(line).collect()
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Every tool that is not as it was released.
pub(super) fn differences(released: &str, found: &str) -> Vec<String> {
    let by_name = |lines: &'_ str| -> BTreeMap<String, String> {
        let split = |line: &str| line.split_once(' ').map(|(name, rest)| (name.to_owned(), rest.to_owned()));
        lines.lines().filter_map(split).collect()
    };
    let (released, found) = (by_name(released), by_name(found));
    let gone =
        released.keys().filter(|name| !found.contains_key(*name)).map(|name| format!("{name}: it is gone"));
    let other = found.iter().filter_map(|(name, schemas)| match released.get(name) {
        Some(known) if known == schemas => None,
        Some(_) => Some(format!("{name}: its schema is not the one that was released")),
        None => Some(format!("{name}: it was not released")),
    });
    gone.chain(other).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn the_list_is_the_one_that_is_checked_in() {
        let catalog = gate::Catalog::new(tools::all(
            &[
                tools::Set::Workspace,
                tools::Set::Shell,
                tools::Set::Web,
                tools::Set::Agent,
                tools::Set::Artifacts,
            ],
            tools::Budgets::default(),
            &tools::SearchSettings::default(),
        ));
        expect_file!["../../../tool-list.snapshot"].assert_eq(&of(&catalog.offer().tools));
    }

    #[test]
    fn every_difference_names_its_tool() {
        let released = "a 1 -\nb 2 3\nc 4 -\n";
        assert_eq!(differences(released, released), Vec::<String>::new());
        assert_eq!(
            differences(released, "a 1 5\nb 2 3\nd 6 -\n"),
            ["c: it is gone", "a: its schema is not the one that was released", "d: it was not released"]
        );
    }
}
