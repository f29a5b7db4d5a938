//! What is configured or remembered, as words that a shell completes. Nothing is started for it, and what cannot be read has
//! no words: whoever presses a key asked for no error.

use std::ffi::OsString;
use std::path::PathBuf;

use admin::{By, Operation as _, approvals, keys};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use config::{Flags, Loaded, Surroundings, Unfollowed};
use daemon::administration;
use daemon::control::Neighbours;
use gate::Approvals;

/// The servers that are configured.
pub(super) fn servers() -> ArgValueCandidates {
    from(|line| Some(config::servers(line.config.as_deref(), &line.surroundings).ok()?.into_keys().collect()))
}

/// The clients that can be imported from and exported to.
pub(super) fn clients() -> ArgValueCandidates {
    from(|_| Some(clients::CLIENTS.iter().map(|client| client.id.to_owned()).collect()))
}

/// The tools of ours, and those that earlier runs remember of other servers.
pub(super) fn tools() -> ArgValueCandidates {
    from(|line| {
        let known = administration::policy(&line.loaded()?).tools.known().ok()?;
        Some(known.offer.tools.iter().map(|tool| tool.definition().name.to_string()).collect())
    })
}

/// The calls that wait for a person.
pub(super) fn waiting_calls() -> ArgValueCandidates {
    from(|line| approvals(&line.loaded()?, false))
}

/// The same with those that are settled.
pub(super) fn asked_calls() -> ArgValueCandidates {
    from(|line| approvals(&line.loaded()?, true))
}

/// What is allowed without asking again.
pub(super) fn grants() -> ArgValueCandidates {
    from(|line| {
        let kept = Approvals::new(line.loaded()?.settings.kept.store().clone());
        let found = approvals::Grants {}.perform(&kept, &By::owner()).ok()?;
        Some(found.grants.into_iter().map(|grant| grant.id.to_string()).collect())
    })
}

/// The names of API keys.
pub(super) fn keys() -> ArgValueCandidates {
    from(|line| {
        let part = administration::keys(&line.loaded()?.settings);
        let found = keys::List {}.perform(&part, &By::owner()).ok()?;
        Some(found.keys.into_iter().map(|key| key.name).collect())
    })
}

/// The names of secrets; none of them is opened.
pub(super) fn secrets() -> ArgValueCandidates {
    from(|line| {
        let (kept, _) = config::kept(line.config.as_deref(), &line.surroundings).ok()?;
        let sealed = kept.sealed();
        let is_there = sealed.may_have_named().ok()?;
        let names = if is_there { sealed.named_names().ok()? } else { Vec::new() };
        Some(names.iter().map(ToString::to_string).collect())
    })
}

fn approvals(loaded: &Loaded, all: bool) -> Option<Vec<String>> {
    let part = administration::trust(loaded, Neighbours::on(&loaded.settings.state));
    let found = approvals::List { all }.perform(&part, &By::owner()).ok()?;
    Some(found.approvals.into_iter().map(|approval| approval.id.to_string()).collect())
}

fn from(look: fn(&Line) -> Option<Vec<String>>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let words = Line::typed().and_then(|line| look(&line)).unwrap_or_default();
        words.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// What the line that is being typed says of the configuration.
struct Line {
    config: Option<PathBuf>,
    surroundings: Surroundings,
}

impl Line {
    fn typed() -> Option<Line> {
        // The shell's call comes first, and behind `--` the line.
        let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(2).collect();
        let flags = Flags { workspace: value_of(&words, "--workspace"), ..Flags::default() };
        Some(Line {
            config: value_of(&words, "--config"),
            surroundings: Surroundings::of_process(flags).ok()?,
        })
    }

    fn loaded(&self) -> Option<Loaded> {
        config::load(self.config.as_deref(), &self.surroundings, Unfollowed::IsPassedOver).ok()
    }
}

/// What an option says, in either way of writing it.
fn value_of(words: &[OsString], option: &str) -> Option<PathBuf> {
    let joined = |word: &OsString| Some(word.to_str()?.strip_prefix(option)?.strip_prefix('=')?.into());
    let apart = || {
        let at = words.iter().position(|word| word == option)?;
        Some(words.get(at + 1)?.into())
    };
    words.iter().find_map(joined).or_else(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_configuration_it_means() {
        for (line, expected) in [
            ("mcp get", None),
            ("--config a.toml mcp get", Some("a.toml")),
            ("mcp get --config=b.toml", Some("b.toml")),
            ("mcp get --config", None),
            ("mcp get --configure=x", None),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(value_of(&words, "--config"), expected.map(PathBuf::from), "{line}");
        }
    }
}
