//! `secrets`: keeping secrets for tools. Values come in and never go out.

mod given;
mod list;
mod name;
mod rekey;
mod remove;
mod set;
mod tell;

use super::load::surroundings;
use crate::cli::{Cli, Secrets};
use crate::config;
use crate::ending::{Ending, Trouble};
use name::ON_THE_LINE;

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
