//! Workspaces with names: beside the default one, each at an address of its own, `/mcp/NAME`.

use std::sync::Arc;

use crate::Server;

/// Longest name of a workspace, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// What is at these addresses already, or will be.
const TAKEN: [&str; 9] =
    ["approvals", "artifacts", "audit", "grants", "health", "invoke", "jobs", "rules", "tools"];

/// Hands out the servers of named workspaces. All methods are called on the runtime and do not wait.
pub trait Workspaces: Send + Sync {
    /// The server of this name, made if it is not there; nothing if no workspace has this name.
    ///
    /// # Errors
    /// Why it cannot be made, in a sentence for its operator.
    fn open(&self, name: &str) -> Result<Option<Arc<Server>>, String>;

    /// The names that there are.
    fn names(&self) -> Vec<String>;

    /// Lets go of the server of this name, as nobody has used it for a while. It is made anew when it is asked for.
    fn close(&self, name: &str);
}

/// Checks the name of a workspace: a letter or digit first, then letters, digits, `-` and `_`, at most 64 of them.
///
/// # Errors
/// What is wrong with it, in words that go behind the name.
pub fn check_workspace_name(name: &str) -> Result<(), &'static str> {
    let is_sound = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_sound || name.len() > NAME_BYTES_MAX {
        return Err(
            "is no name for an address: take a letter or digit first, then letters, digits, `-` and `_`, at most 64",
        );
    }
    match TAKEN.contains(&name) {
        true => Err("is taken by an address of Toolcrib's own; take another name"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_an_address() {
        let longest = "a".repeat(NAME_BYTES_MAX);
        for good in ["review", "Team-2", "0", "a_b", &longest] {
            assert_eq!(check_workspace_name(good), Ok(()), "{good}");
        }
        let too_long = "a".repeat(NAME_BYTES_MAX + 1);
        for bad in [
            "",
            "-a",
            "_a",
            "a/b",
            "a b",
            "a.b",
            "ä",
            "a%20",
            "approvals",
            "grants",
            "tools",
            "invoke",
            &too_long,
        ] {
            assert!(check_workspace_name(bad).is_err(), "{bad}");
        }
    }
}
