//! Which entries of a listing are asked for by name: the glob.

use globset::{GlobBuilder, GlobMatcher};
use tool_api::ToolError;

/// Longer than any glob a person would write; bounds the work of compiling it.
const GLOB_BYTES_MAX: usize = 1024;

/// Tells by its path whether an entry is asked for.
#[derive(Debug, Clone)]
pub(super) enum NameFilter {
    /// Everything.
    All,
    /// A glob without `/` looks at the last name only.
    Name(GlobMatcher),
    /// Any other looks at the path below the listed folder.
    Path(GlobMatcher),
}

impl NameFilter {
    /// Reads a glob; `*` and `?` stay within one name, `**/` goes across folders.
    pub(super) fn new(glob: Option<&str>) -> Result<NameFilter, ToolError> {
        let Some(glob) = glob else {
            return Ok(NameFilter::All);
        };
        let invalid = |why: String| ToolError::new("invalid_glob", format!("the glob cannot be used: {why}"));
        if glob.len() > GLOB_BYTES_MAX {
            return Err(invalid(format!("it has more than {GLOB_BYTES_MAX} bytes")));
        }
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let matcher = GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map_err(|error| invalid(error.kind().to_string()))?
            .compile_matcher();
        Ok(if spans_folders(glob) { NameFilter::Path(matcher) } else { NameFilter::Name(matcher) })
    }

    /// `path` is relative to the listed folder, without a slash at its end.
    pub(super) fn fits(&self, path: &str) -> bool {
        match self {
            NameFilter::All => true,
            NameFilter::Name(glob) => glob.is_match(path.rsplit('/').next().unwrap_or(path)),
            NameFilter::Path(glob) => glob.is_match(path),
        }
    }
}

/// True for a glob that can only mean entries of folders below.
pub(super) fn spans_folders(glob: &str) -> bool {
    glob.strip_prefix("./").unwrap_or(glob).contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(glob: &str, fits: &[&str], others: &[&str]) {
        let filter = NameFilter::new(Some(glob)).expect(glob);
        for path in fits {
            assert!(filter.fits(path), "{glob} {path}");
        }
        for path in others {
            assert!(!filter.fits(path), "{glob} {path}");
        }
    }

    #[test]
    fn globs() {
        check("*.rs", &["a.rs", "src/a.rs", ".rs"], &["a.rs.txt", "rs", "a.rs/b"]);
        check("./*.rs", &["a.rs", "src/a.rs"], &["a.c"]);
        check("src/*.rs", &["src/a.rs"], &["a.rs", "src/sub/a.rs", "x/src/a.rs"]);
        check("**/*.rs", &["a.rs", "src/sub/a.rs"], &["a.c"]);
        check("src/**", &["src/a", "src/a/b"], &["src", "a"]);
        check("*.{md,txt}", &["a.md", "x/b.txt"], &["a.rs"]);
        check("[ab]?.c", &["ax.c"], &["a.c", "cx.c"]);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for glob in ["[a", "{a", &"a".repeat(GLOB_BYTES_MAX + 1)] {
            assert_eq!(NameFilter::new(Some(glob)).expect_err(glob).code(), "invalid_glob");
        }
    }
}
