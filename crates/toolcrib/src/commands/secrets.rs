//! `secrets`: keeping secrets for tools. Values come in and never go out.

mod given;
mod list;
mod rekey;
mod remove;
mod set;

use store::SecretName;

use super::surroundings;
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
    let (kept, uses) = config::kept(cli.config.as_deref(), &surroundings()?)?;
    match command {
        Secrets::Set { value, .. } if !value.is_empty() => Err(Trouble::Misused(ON_THE_LINE.to_owned())),
        Secrets::Set { name, .. } => set::run(cli, &kept, &uses, &name),
        Secrets::List => list::run(cli, &kept, &uses),
        Secrets::Rekey { from } => rekey::run(cli, &kept, from),
        Secrets::Remove { name } => remove::run(cli, &kept, &uses, &name),
    }
}

fn parse(name: &str) -> Result<SecretName, Trouble> {
    SecretName::parse(name).map_err(|error| Trouble::Misused(format!("`{name}` cannot be a name: {error}")))
}

/// Has the running Toolcribs read what is kept: how many have, and a sentence for each that has not.
async fn tell(kept: &Kept) -> (usize, Vec<String>) {
    let asked = control::learn(kept.state()).await;
    let told = asked.iter().filter(|one| one.answer.is_ok()).count();
    let sentence = |Asked { pid, answer }: &Asked<()>| {
        let why = answer.as_ref().err()?;
        Some(format!(
            "the running Toolcrib (process {pid}) does not strike it out before it is started again: {why}"
        ))
    };
    (told, asked.iter().filter_map(sentence).collect())
}
