//! The words of `toolcrib keys`.

use std::time::Duration;

use clap::Subcommand;
use policy::{Role, Scope, ScopeError};

/// The longest life of a key that is not for ever, in days.
const DAYS_MAX: u64 = 3_650;

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
    const WHAT: &str = "write a number and h (hours), d (days) or w (weeks), such as 90d";
    let unit = text.chars().last().ok_or(WHAT)?;
    let hours: u64 = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(WHAT.to_owned()),
    };
    let digits = &text[..text.len() - unit.len_utf8()];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = is_number.then(|| digits.parse().ok()).flatten().ok_or(WHAT)?;
    match count.checked_mul(hours) {
        Some(hours @ 1..) if hours <= DAYS_MAX * 24 => Ok(Duration::from_secs(hours * 60 * 60)),
        _ => {
            Err(format!("must be between an hour and {DAYS_MAX} days; leave it out for a key without an end"))
        }
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
            ("1 d", None),
            ("1ä", None),
            ("99999999999999999999w", None),
        ] {
            assert_eq!(life(text).ok().map(|life| life.as_secs() / 3600), hours, "{text}");
        }
    }
}
