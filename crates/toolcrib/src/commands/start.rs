//! How a command begins: with the configuration loaded and the log started.

use config::Loaded;
use config::log::Level;
use redact::Known;
use terminal::{Trouble, log, print};

use super::load::{load, load_resting};
use super::trust;
use crate::cli::Cli;

/// How much of the log a command needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    /// As configured: the log of a server is what its owner reads.
    AsConfigured,
    /// Only our own failures, unless TOOLCRIB_LOG asks for more: the command tells the rest itself.
    Quiet,
}

/// Whether a command may ask the person at its terminal about what a folder declares.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Before it does anything.
    Here,
    /// Its standard input is not for that, or it starts nothing: what waits is told.
    Nobody,
}

/// Loads the configuration in effect and starts the log.
pub(super) fn start(cli: &Cli, log: Log, asking: Asking) -> Result<Loaded, Trouble> {
    let mut loaded = load(cli)?;
    begin(&loaded, log)?;
    match (asking, log) {
        (Asking::Here, _) => {
            if trust::agree_here(&loaded, cli.json)? {
                let begun = loaded.learner;
                loaded = load(cli)?;
                // What prints and logs goes by the configuration that it was begun with.
                begun.configured(loaded.settings.secrets.clone());
                know(&loaded, loaded.settings.kept.known().map_err(Trouble::Failed)?);
            }
        }
        (Asking::Nobody, Log::Quiet) => trust::line(&loaded.held).iter().for_each(|line| print::remark(line)),
        (Asking::Nobody, Log::AsConfigured) => {
            trust::line(&loaded.held).iter().for_each(|line| tracing::warn!("{line}"));
        }
    }
    if log == Log::Quiet {
        loaded.settings.too_wide.iter().for_each(|line| print::remark(line));
    }
    for line in loaded.passed_over.iter().chain(&loaded.settings.too_wide) {
        tracing::warn!("{line}");
    }
    // If it cannot be found out, whoever needs the state is told why.
    if let Ok(Some(lost)) = loaded.settings.kept.store().lost() {
        tracing::error!("{lost}");
    }
    Ok(loaded)
}

/// The same for what starts no server, and has to work in an emergency: neither a secret that is missing nor one that
/// cannot be opened stands in the way.
pub(super) fn start_nobody(cli: &Cli) -> Result<Loaded, Trouble> {
    let loaded = load_resting(cli)?;
    begin_resting(&loaded)?;
    Ok(loaded)
}

/// Starts the log of what starts no server.
pub(super) fn begin_resting(loaded: &Loaded) -> Result<(), Trouble> {
    let kept = loaded.settings.kept.known().unwrap_or_else(|why| {
        print::remark(&format!("the kept secrets are not struck out of this: {why}"));
        Vec::new()
    });
    begin_knowing(loaded, kept, Log::Quiet)
}

/// Starts the log. Before a word is said, what must not be said is known.
pub(super) fn begin(loaded: &Loaded, log: Log) -> Result<(), Trouble> {
    begin_knowing(loaded, loaded.settings.kept.known().map_err(Trouble::Failed)?, log)
}

/// Tells the redactor of the secrets that this configuration has.
fn know(loaded: &Loaded, kept: Vec<Known>) {
    loaded.learner.configured(loaded.settings.secrets.clone());
    loaded.learner.kept(kept);
}

fn begin_knowing(loaded: &Loaded, kept: Vec<Known>, log: Log) -> Result<(), Trouble> {
    let settings = &loaded.settings;
    know(loaded, kept);
    print::without_secrets(&settings.redactor);
    let mut config = loaded.settings.log.clone();
    if log == Log::Quiet {
        config.level = config.level.min(Level::Error);
    }
    let (text, sink) = (loaded.log_override.as_deref(), Box::new(log::to_stderr));
    let started = log::start(&config, text, &loaded.settings.redactor, sink);
    started.map_err(|error| Trouble::Misused(error.to_string()))
}
