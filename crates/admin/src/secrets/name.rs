//! What a person types as the name of a secret. It may be the value itself, which is not repeated.

use store::SecretName;

use crate::fault::Fault;

/// What is said of a value that others could read, and that a shell remembers.
pub const ON_THE_LINE: &str = "a value does not belong on the command line, where others can read it; type it when it is \
    asked for, or pipe it in, and change this one, since it has been seen";

/// Longest text that is repeated as what was meant for a name; there may be a secret in a longer one.
const NAME_SHOWN_MAX: usize = 64;

pub(super) fn parse(name: &str) -> Result<SecretName, Fault> {
    SecretName::parse(name).map_err(|error| {
        let is_shown = name.len() <= NAME_SHOWN_MAX && !name.contains('=');
        Fault::misused(match is_shown {
            true => format!("`{name}` cannot be a name: {error}"),
            false => format!("what was given cannot be a name: {error}; {ON_THE_LINE}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_value_is_not_repeated() {
        for (text, shown) in
            [("token", true), ("a b", true), ("GITHUB_TOKEN=ghp_planted", false), (&"p".repeat(65), false)]
        {
            let said = parse(text).expect_err("no name").to_string();
            assert_eq!(said.contains(text), shown, "{said}");
            assert_eq!(said.ends_with("change this one, since it has been seen"), !shown, "{said}");
        }
    }
}
