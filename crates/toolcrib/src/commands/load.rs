//! Loading the configuration that a command goes by.

use config::{Loaded, Surroundings, Unfollowed};
use terminal::Trouble;

use crate::cli::Cli;

/// Loads the configuration in effect.
pub(super) fn load(cli: &Cli) -> Result<Loaded, Trouble> {
    load_with(cli, Unfollowed::FailsItsServer)
}

/// The same where no server is started.
pub(super) fn load_resting(cli: &Cli) -> Result<Loaded, Trouble> {
    load_with(cli, Unfollowed::IsPassedOver)
}

pub(super) fn load_with(cli: &Cli, unfollowed: Unfollowed) -> Result<Loaded, Trouble> {
    Ok(config::load(cli.config.as_deref(), &surroundings(cli)?, unfollowed)?)
}

/// The process's surroundings, with what the command line says of the configuration.
pub(super) fn surroundings(cli: &Cli) -> Result<Surroundings, Trouble> {
    Surroundings::of_process(cli.flags())
        .map_err(|error| Trouble::Failed(format!("the current folder cannot be found: {error}")))
}
