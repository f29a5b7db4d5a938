//! Names and globs over names, checked and compiled once.

use globset::{Glob, GlobSet, GlobSetBuilder};

/// Lists are written by people; more than this is a program's mistake.
const GLOBS_MAX: usize = 1_024;

/// Longer than any name.
const GLOB_BYTES_MAX: usize = 256;

/// What rules call our own tools' owner, where a server's name would stand.
pub const BUILT_IN: &str = "built-in";

/// What stands between a server and its tools in a setting. No name of either has it.
pub(crate) const OF_SERVER: char = '/';

/// What globs are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Tool,
    /// `SERVER/TOOL`.
    ToolOfServer,
    Server,
    Caller,
}

/// The globs of one list, each beside its number in the list. Every one that cannot be used is told to `bad`, with its
/// number.
pub(crate) fn globs(listed: &[String], what: Named, mut bad: impl FnMut(usize, String)) -> Vec<Glob> {
    if let Some(first_over) = listed.get(GLOBS_MAX) {
        bad(GLOBS_MAX, format!("{first_over:?} cannot be used: there are more than {GLOBS_MAX} entries"));
        return Vec::new();
    }
    let mut globs = Vec::with_capacity(listed.len());
    for (nth, glob) in listed.iter().enumerate() {
        match checked(glob, what) {
            Ok(glob) => globs.push(glob),
            Err(why) => bad(nth, format!("{glob:?} cannot be used: {why}")),
        }
    }
    globs
}

/// Names that a rule speaks of. The first two cost nothing to make, unlike a set: the default policy has no other.
#[derive(Debug)]
pub(crate) enum Names {
    /// Of none.
    None,
    /// Of all.
    All,
    /// Of those that fit.
    Fitting(GlobSet),
}

impl Names {
    /// Those that fit one of these. Tells `bad` if together they are too much.
    pub(crate) fn of(globs: Vec<Glob>, bad: impl FnOnce(String)) -> Names {
        match globs.iter().any(|glob| glob.glob() == "*") {
            _ if globs.is_empty() => Names::None,
            true => Names::All,
            false => Names::Fitting(set(globs, bad)),
        }
    }

    /// Whether a name is one of them.
    pub(crate) fn contain(&self, name: &str) -> bool {
        match self {
            Names::None => false,
            Names::All => true,
            Names::Fitting(globs) => matches(globs, name),
        }
    }
}

/// The globs as one set. Tells `bad` if together they are too much.
pub(crate) fn set(globs: Vec<Glob>, bad: impl FnOnce(String)) -> GlobSet {
    // To make one looks at the machine's processors, which is slow.
    if globs.is_empty() {
        return GlobSet::empty();
    }
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(glob);
    }
    set.build().unwrap_or_else(|error| {
        bad(format!("the globs cannot be used together: {}", error.kind()));
        GlobSet::empty()
    })
}

/// An empty set is asked on every call, so it must cost nothing.
pub(crate) fn matches(globs: &GlobSet, name: &str) -> bool {
    !globs.is_empty() && globs.is_match(name)
}

/// Whether a text is a glob for more than one name.
pub(crate) fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn checked(glob: &str, what: Named) -> Result<Glob, String> {
    let word = match what {
        Named::Tool | Named::ToolOfServer => "tool",
        Named::Server => "server",
        Named::Caller => "caller",
    };
    if glob.is_empty() {
        return Err(format!("it is empty; write `*` for every {word}"));
    }
    if glob.contains(OF_SERVER) && matches!(what, Named::Tool | Named::Server) {
        let hint = if what == Named::Tool { "; name its server in `upstream`" } else { "" };
        return Err(format!("no {word}'s name has a `{OF_SERVER}`{hint}"));
    }
    if glob.len() > GLOB_BYTES_MAX {
        return Err(format!("it is longer than {GLOB_BYTES_MAX} bytes"));
    }
    Glob::new(glob).map_err(|error| error.kind().to_string())
}
