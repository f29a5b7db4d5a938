//! Which environment variables a program inherits: an allow-list, because the rest may hold secrets
//! and proxies that were not meant for it. Whose variables they are is for the caller to say: this process may act for
//! many clients, each with an environment of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Environment variables by their names.
pub type Variables = BTreeMap<OsString, OsString>;

/// What a program needs to find its user, its language, its folders, and the certificates that the machine trusts.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Families of the same.
const INHERITED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// What no program inherits, whatever its globs say: where the system puts what only we are to know.
const NEVER_INHERITED: [&str; 1] = ["CREDENTIALS_DIRECTORY"];

/// The variables that programs inherit: those that every program does, and what globs let through besides.
#[derive(Debug, Clone)]
pub struct InheritedNames {
    wanted: GlobSet,
}

impl InheritedNames {
    /// What every program inherits, and the names that match one of `globs`. Whoever configures a program has checked
    /// its globs; what is none lets nothing through.
    pub fn new<'g>(globs: impl IntoIterator<Item = &'g String>) -> InheritedNames {
        let mut set = GlobSetBuilder::new();
        for glob in globs.into_iter().filter_map(|glob| Glob::new(glob).ok()) {
            set.add(glob);
        }
        InheritedNames { wanted: set.build().unwrap_or_else(|_| GlobSet::empty()) }
    }

    /// What no program inherits, whatever its globs say.
    pub(crate) fn never() -> &'static [&'static str] {
        &NEVER_INHERITED
    }

    /// True if a variable of this name is inherited.
    pub fn has(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return false };
        (is_common(name) || self.wanted.is_match(name)) && !NEVER_INHERITED.contains(&name)
    }

    /// Those of `variables` that are inherited.
    pub fn of(&self, variables: &Variables) -> Variables {
        let inherited = variables.iter().filter(|(name, _)| self.has(name));
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

fn is_common(name: &str) -> bool {
    INHERITED.contains(&name) || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(globs: &[&str], name: &str, expected: bool) {
        let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        let names = InheritedNames::new(&globs);
        assert_eq!(names.has(OsStr::new(name)), expected, "{name} by {globs:?}");
        let variables = [(OsString::from(name), OsString::from("x"))].into();
        assert_eq!(names.of(&variables).len(), usize::from(expected));
    }

    #[test]
    fn inherits_by_list_only() {
        for name in ["PATH", "HOME", "LANG", "SSL_CERT_FILE", "LC_ALL", "LC_TIME", "TZ", "XDG_RUNTIME_DIR"] {
            check(&[], name, true);
        }
        for name in ["HTTP_PROXY", "https_proxy", "API_TOKEN", "LD_PRELOAD", "PATHS", "LC", "path", ""] {
            check(&[], name, false);
        }
    }

    #[test]
    fn globs_let_more_through() {
        check(&["HTTPS_PROXY", "AWS_*"], "AWS_PROFILE", true);
        check(&["HTTPS_PROXY", "AWS_*"], "HTTPS_PROXY", true);
        check(&["HTTPS_PROXY", "AWS_*"], "NO_AWS_PROFILE", false);
        check(&[], "AWS_PROFILE", false);
        // What is no glob takes nothing from the others and adds nothing.
        check(&["A[", "AWS_*"], "AWS_PROFILE", true);
        check(&["A["], "A[", false);
    }

    #[test]
    fn nobody_learns_where_the_system_keeps_what_we_are_to_know() {
        for name in NEVER_INHERITED {
            check(&["*"], name, false);
            check(&[name], name, false);
        }
    }
}
