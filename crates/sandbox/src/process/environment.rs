//! Which environment variables a program inherits: an allow-list, because the rest may hold secrets
//! and proxies that were not meant for it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::Program;

pub(super) type Environment = BTreeMap<OsString, OsString>;

/// What a program needs to find its user, its language and its folders.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];

/// Families of the same.
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The environment for `program`: what is inherited, overridden by what it asks for.
pub(super) fn of(program: &Program) -> Environment {
    let inherited = std::env::vars_os().filter(|(name, _)| is_inherited(name));
    let own = program.env.iter().map(|(name, value)| (name.into(), value.into()));
    inherited.chain(own).collect()
}

fn is_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    INHERITED.contains(&name) || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherits_by_list_only() {
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "LC_TIME", "TZ", "XDG_RUNTIME_DIR"] {
            assert!(is_inherited(OsStr::new(name)), "{name}");
        }
        for name in ["HTTP_PROXY", "https_proxy", "API_TOKEN", "LD_PRELOAD", "PATHS", "LC", "path", ""] {
            assert!(!is_inherited(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn the_program_has_the_last_word() {
        let env = [("PATH", "/mine"), ("TOKEN", "t")].map(|(name, value)| (name.into(), value.into()));
        let environment = of(&Program { env: env.into(), ..Program::default() });
        assert_eq!(environment.get(OsStr::new("PATH")), Some(&OsString::from("/mine")));
        assert_eq!(environment.get(OsStr::new("TOKEN")), Some(&OsString::from("t")));
    }
}
