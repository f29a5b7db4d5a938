//! Where `${workspace}` stands in the texts of a table, and what comes of them with a folder in its place.

use std::sync::Arc;

use sandbox::Program;

/// What stands for the workspace's folder.
pub(super) const WORKSPACE: &str = "${workspace}";

/// Where it stands in a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkspaceWords {
    /// Keys below the table, and where in their texts it begins, in bytes and in order.
    spots: Vec<(String, usize)>,
    /// The program before anything took its place; nothing if the table has none.
    pub(super) written: Option<Arc<Program>>,
}

impl WorkspaceWords {
    /// The keys of whose texts it may be a part. What is run, and where a server is, must not depend on a folder that
    /// somebody else may have named.
    pub(super) fn may_stand_at(key: &str) -> bool {
        key == "cwd"
            || ["args[", "env.", "sandbox.read[", "sandbox.write[", "sandbox.sockets["]
                .iter()
                .any(|start| key.starts_with(start))
    }

    pub(super) fn note(&mut self, key: &str, at: usize) {
        self.spots.push((key.to_owned(), at));
    }

    /// The program as it is written; nothing if it is the same for every workspace.
    pub(super) fn written(&self) -> Option<&Program> {
        self.written.as_deref()
    }

    /// The first key with it.
    pub(super) fn first(&self) -> Option<&str> {
        Some(&self.spots.first()?.0)
    }

    /// True if it stands in the text at `key`.
    pub(super) fn is_at(&self, key: &str) -> bool {
        self.spots.iter().any(|(spot, _)| spot == key)
    }

    /// The text at `key` with the folder in its place.
    pub(super) fn filled(&self, key: &str, text: &str, folder: &str) -> String {
        let mut filled = text.to_owned();
        for (_, at) in self.spots.iter().rev().filter(|(spot, _)| spot == key) {
            let spot = *at..*at + WORKSPACE.len();
            // The text of a table that is not followed is as it was written, and nobody starts its program.
            if filled.get(spot.clone()) == Some(WORKSPACE) {
                filled.replace_range(spot, folder);
            }
        }
        filled
    }
}
