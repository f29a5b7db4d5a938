//! `secrets`: keeping secrets for tools. Values come in and never go out.

mod given;
mod list;
mod rekey;
mod remove;
mod set;

use store::SecretName;

use super::load::surroundings;
use crate::cli::{Cli, Secrets};
use crate::config;
use crate::control::{self, Asked};
use crate::ending::{Ending, Trouble};
use crate::secrets::Kept;

/// What programs are told of a name that no secret has.
const UNKNOWN_SECRET: &str = "unknown_secret";

/// What is said of a value that others could read, and that a shell remembers.
const ON_THE_LINE: &str = "a value does not belong on the command line, where others can read it; type it when it is \
    asked for, or pipe it in, and change this one, since it has been seen";

pub(super) fn run(cli: &Cli, command: Secrets) -> Result<Ending, Trouble> {
    // The rest of the configuration may be unusable for want of a secret.
    let (kept, uses) = config::kept(cli.config.as_deref(), &surroundings(cli)?)?;
    match command {
        Secrets::Set { value, .. } if !value.is_empty() => Err(Trouble::Misused(ON_THE_LINE.to_owned())),
        Secrets::Set { name, whom, .. } => set::run(cli, &kept, &uses, &name, &whom),
        Secrets::List => list::run(cli, &kept, &uses),
        Secrets::Rekey { from } => rekey::run(cli, &kept, from),
        Secrets::Remove { name } => remove::run(cli, &kept, &uses, &name),
    }
}

/// Longest text that is repeated as what was meant for a name; there may be a secret in a longer one.
const NAME_SHOWN_MAX: usize = 64;

fn parse(name: &str) -> Result<SecretName, Trouble> {
    SecretName::parse(name).map_err(|error| {
        let is_shown = name.len() <= NAME_SHOWN_MAX && !name.contains('=');
        Trouble::Misused(match is_shown {
            true => format!("`{name}` cannot be a name: {error}"),
            false => format!("what was given cannot be a name: {error}; {ON_THE_LINE}"),
        })
    })
}

/// What becomes of a secret in a process that does not hear of it.
const NOT_STRUCK_OUT: &str = "does not strike it out before it is started again";

/// Has the running Toolcribs read what is kept: how many have, and a sentence for each that has not, with what comes of it.
async fn tell(kept: &Kept, otherwise: &str) -> (usize, Vec<String>) {
    let asked = control::learn(kept.state()).await;
    let told = asked.iter().filter(|one| one.answer.is_ok()).count();
    let sentence = |Asked { pid, answer }: &Asked<()>| {
        let why = answer.as_ref().err()?;
        Some(format!("the running Toolcrib (process {pid}) {otherwise}: {why}"))
    };
    (told, asked.iter().filter_map(sentence).collect())
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
