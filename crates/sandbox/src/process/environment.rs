//! Which environment variables a program inherits: an allow-list, because the rest may hold secrets
//! and proxies that were not meant for it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::program::Program;

pub(super) type Environment = BTreeMap<OsString, OsString>;

/// What a program needs to find its user, its language and its folders.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"];

/// Families of the same.
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// What no program inherits, whatever its globs say: where the system puts what only we are to know.
const NEVER_INHERITED: [&str; 1] = ["CREDENTIALS_DIRECTORY"];

/// The environment for `program`: what is inherited, overridden by what it asks for.
pub(super) fn of(program: &Program) -> Environment {
    let wanted = wanted(&program.inherit);
    let is_wanted = |name: &OsStr| name.to_str().is_some_and(|name| wanted.is_match(name));
    let is_withheld = |name: &OsStr| {
        NEVER_INHERITED.iter().any(|never| name == *never)
            || program.withheld.iter().any(|withheld| name == withheld.as_str())
    };
    #[expect(clippy::disallowed_methods, reason = "programs inherit some of it")]
    let inherited =
        std::env::vars_os().filter(|(name, _)| (is_inherited(name) || is_wanted(name)) && !is_withheld(name));
    let own = program.env.iter().map(|(name, value)| (name.into(), value.into()));
    inherited.chain(own).collect()
}

/// What a program's user lets it inherit besides. Whoever configures it has checked the globs; what is none
/// lets nothing through.
fn wanted(globs: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in globs.iter().filter_map(|glob| Glob::new(glob).ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// Whether every program inherits the variable of this name.
pub fn is_inherited(name: &OsStr) -> bool {
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
    fn globs_let_more_through() {
        let inherits = |globs: &[&str], name: &str| {
            wanted(&globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>()).is_match(name)
        };
        assert!(inherits(&["HTTPS_PROXY", "AWS_*"], "AWS_PROFILE"));
        assert!(inherits(&["HTTPS_PROXY", "AWS_*"], "HTTPS_PROXY"));
        assert!(!inherits(&["HTTPS_PROXY", "AWS_*"], "NO_AWS_PROFILE"));
        assert!(!inherits(&[], "AWS_PROFILE"));
        // What is no glob takes nothing from the others and adds nothing.
        assert!(inherits(&["A[", "AWS_*"], "AWS_PROFILE") && !inherits(&["A["], "A["));
    }

    #[test]
    fn every_program_sees_what_it_may_inherit() {
        // Cargo sets this one for tests.
        let name = OsStr::new("CARGO_MANIFEST_DIR");
        assert!(!of(&Program::default()).contains_key(name));
        let program = Program { inherit: vec!["CARGO_*".to_owned()], ..Program::default() };
        assert!(of(&program).contains_key(name));
        let withheld = vec!["CARGO_MANIFEST_DIR".to_owned(), "PATH".to_owned()];
        let environment = of(&Program { withheld: withheld.clone(), ..program });
        assert!(withheld.iter().all(|name| !environment.contains_key(OsStr::new(name))));
        assert!(environment.contains_key(OsStr::new("CARGO_PKG_NAME")));
    }

    #[test]
    fn nobody_learns_where_the_system_keeps_what_we_are_to_know() {
        assert!(NEVER_INHERITED.iter().all(|name| wanted(&["*".to_owned()]).is_match(name)));
        let globs = Program { inherit: vec!["*".to_owned()], ..Program::default() };
        assert!(of(&globs).keys().all(|name| !NEVER_INHERITED.iter().any(|never| name == *never)));
    }

    #[test]
    fn the_program_has_the_last_word() {
        let env = [("PATH", "/mine"), ("TOKEN", "t")].map(|(name, value)| (name.into(), value.into()));
        let environment = of(&Program { env: env.into(), ..Program::default() });
        assert_eq!(environment.get(OsStr::new("PATH")), Some(&OsString::from("/mine")));
        assert_eq!(environment.get(OsStr::new("TOKEN")), Some(&OsString::from("t")));
    }
}
