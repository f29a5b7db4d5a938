//! The words of `toolcrib keys`.

use std::time::Duration;

use clap::Subcommand;
use policy::{Role, Scope, ScopeError};
use units::{NotWritten, Span};

/// The shortest life of a key.
const LIFE_MIN: Duration = Duration::from_secs(60 * 60);

/// The longest life of a key that is not for ever.
const LIFE_MAX: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);

/// What to do with API keys.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Keys {
    /// Create a key and print it. It is shown once: only a hash of it is kept.
    Create {
        /// Who will hold it, such as `ci` or `anna-laptop`; records and rules know the caller as key:NAME.
        name: String,
        /// What its holder is here: owner, maintainer, developer, auditor or agent. May be given several times; without
        /// it, an agent.
        #[arg(long = "role", value_name = "ROLE", value_parser = role)]
        roles: Vec<Role>,
        /// What its holder may do, such as read_workspace or git:call, in place of what the role says. May be given
        /// several times.
        #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
        scopes: Vec<Scope>,
        /// A person will hold it, and no agent: only by such a key approvals are answered over HTTP.
        #[arg(long)]
        person: bool,
        /// How long it is good, such as 12h, 90d or 2w; without it, until it is revoked.
        #[arg(long, value_name = "TIME", value_parser = life)]
        expires: Option<Duration>,
    },
    /// List the keys; of each only its beginning is known.
    List,
    /// Make a key worthless, within about a second and for every running toolcrib.
    Revoke {
        /// Its id, such as tc_AbCd12, or its name.
        key: String,
    },
}

fn role(word: &str) -> Result<Role, String> {
    let known = || Role::ALL.map(Role::as_str).join(", ");
    Role::parse(word).ok_or_else(|| format!("there is no such role; use one of {}", known()))
}

fn scope(name: &str) -> Result<Scope, ScopeError> {
    Scope::parse(name)
}

fn life(text: &str) -> Result<Duration, String> {
    let Span(life) = text.parse().map_err(|error: NotWritten| error.to_string())?;
    match (LIFE_MIN..=LIFE_MAX).contains(&life) {
        true => Ok(life),
        false => Err(format!(
            "must be between {} and {}; leave it out for a key without an end",
            Span(LIFE_MIN),
            Span(LIFE_MAX)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_in_hours() {
        for (text, hours) in [
            ("1h", Some(1)),
            ("12h", Some(12)),
            ("90d", Some(90 * 24)),
            ("2w", Some(14 * 24)),
            ("3650d", Some(3650 * 24)),
            ("3651d", None),
            ("0d", None),
            ("-1d", None),
            ("+1d", None),
            ("1.5d", None),
            ("d", None),
            ("", None),
            ("90", None),
            ("1y", None),
            ("1d 12h", Some(36)),
            ("59m", None),
            ("1ä", None),
            ("99999999999999999999w", None),
        ] {
            assert_eq!(life(text).ok().map(|life| life.as_secs() / 3600), hours, "{text}");
        }
    }
}
