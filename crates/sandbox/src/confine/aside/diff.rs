//! Changes as a unified diff, as `git apply` and people read it.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::str::from_utf8;
use std::time::Duration;

use rustix::fs::FileType;
use similar::{Algorithm, TextDiff};

use super::changes::{CHANGES_MAX, Changes};
use crate::change::{Change, Content};

/// Two long files that have nothing in common are shown as they are instead of being searched for longer.
const TIME_MAX: Duration = Duration::from_millis(500);

/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// Stands where there is no file.
const NOTHING: &str = "/dev/null";

impl Display for Changes {
    /// One diff after the other.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.all.iter().try_for_each(|change| write!(out, "{change}"))?;
        if self.is_cut {
            writeln!(
                out,
                "more than {CHANGES_MAX} files would change, or they lie too deep: the rest is not shown"
            )?;
        }
        Ok(())
    }
}

impl Display for Change {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        writeln!(out, "diff --git a/{path} b/{path}")?;
        match (&self.before, &self.after) {
            (None, Some(after)) => writeln!(out, "new file mode {:o}", git_mode(after))?,
            (Some(before), None) => writeln!(out, "deleted file mode {:o}", git_mode(before))?,
            (Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
                writeln!(out, "old mode {:o}\nnew mode {:o}", git_mode(before), git_mode(after))?;
            }
            _ => {}
        }
        let is_same = |one: &Content, other: &Content| one.sha256 == other.sha256;
        if self.before.as_ref().zip(self.after.as_ref()).is_some_and(|(one, other)| is_same(one, other)) {
            return Ok(());
        }
        let before = (self.before.as_ref().map(Content::text), format!("a/{path}"));
        let after = (self.after.as_ref().map(Content::text), format!("b/{path}"));
        match (before, after) {
            ((Some(None), _), _) | (_, (Some(None), _)) => {
                writeln!(out, "Binary files a/{path} and b/{path} differ")
            }
            ((before, old), (after, new)) => {
                let text = |text: Option<Option<&str>>| text.flatten().unwrap_or_default().to_owned();
                let name = |text: Option<_>, name| if text.is_some() { name } else { NOTHING.to_owned() };
                let (old, new) = (name(before, old), name(after, new));
                let (before, after) = (text(before), text(after));
                let mut diff = TextDiff::configure();
                let diff = diff.algorithm(Algorithm::Patience).timeout(TIME_MAX).diff_lines(&before, &after);
                write!(out, "{}", diff.unified_diff().context_radius(CONTEXT_LINES).header(&old, &new))
            }
        }
    }
}

impl Content {
    /// As text, if it is one.
    fn text(&self) -> Option<&str> {
        self.shown.as_deref().filter(|bytes| !bytes.contains(&0)).and_then(|bytes| from_utf8(bytes).ok())
    }
}

/// The modes that `git` knows.
fn git_mode(content: &Content) -> u32 {
    match FileType::from_raw_mode(content.mode) {
        FileType::Symlink => 0o120_000,
        _ if content.mode & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}

/// A name must not look like a line of its own.
fn shown(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.chars().any(char::is_control) { format!("{path:?}") } else { path.into_owned() }
}
