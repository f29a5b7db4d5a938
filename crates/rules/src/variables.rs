//! Paths as shells and many programs read them: `~` and `$HOME` are the user's folder, other variables nobody knows here.

use std::path::Path;

/// The variable that names the user's folder.
const HOME: &str = "HOME";

/// How a path is spelt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spelt {
    /// Without any of this.
    Plain,
    /// By the user's folder; this is the path.
    ByHome(String),
    /// By something of which only the program that opens it knows what it stands for.
    Unknown,
}

/// Reads a path. Names of files may have a `$` in them (`$id.tsx`), so what is no call of a program and has no braces is a
/// variable only if it is written in capitals, as those of systems are.
pub(crate) fn read(text: &str, home: Option<&Path>) -> Spelt {
    let home = home.map(|home| home.to_string_lossy());
    let (mut out, mut left) = (String::new(), text);
    if let Some(rest) = text.strip_prefix('~') {
        match (rest.find('/').or(rest.is_empty().then_some(0)), &home) {
            (Some(0), Some(home)) => {
                out.push_str(home);
                left = rest;
            }
            // The folder of another user, or one that is not known.
            (Some(_), _) => return Spelt::Unknown,
            // The name of a file.
            (None, _) => {}
        }
    }
    while let Some(at) = left.find(['$', '`']) {
        out.push_str(&left[..at]);
        let rest = &left[at + 1..];
        if left[at..].starts_with('`') || rest.starts_with('(') {
            return Spelt::Unknown;
        }
        let (name, after) = match rest.strip_prefix('{') {
            Some(braced) => match braced.split_once('}') {
                Some(found) => found,
                None => return Spelt::Unknown,
            },
            None => rest.split_at(rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len())),
        };
        let is_braced = rest.starts_with('{');
        let is_variable = is_braced
            || (name.contains(|c: char| c.is_ascii_uppercase())
                && !name.contains(|c: char| c.is_ascii_lowercase()));
        match &home {
            Some(home) if name == HOME => out.push_str(home),
            _ if is_variable => return Spelt::Unknown,
            _ => {
                out.push('$');
                left = rest;
                continue;
            }
        }
        left = after;
    }
    out.push_str(left);
    if out == text { Spelt::Plain } else { Spelt::ByHome(out) }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folder_is_known_and_nothing_else() {
        let by_home = |path: &str| Spelt::ByHome(path.to_owned());
        for (text, expected) in [
            ("a/b", Spelt::Plain),
            ("", Spelt::Plain),
            ("~", by_home("/home/u")),
            ("~/a", by_home("/home/u/a")),
            ("~bob/a", Spelt::Unknown),
            ("~$report.docx", Spelt::Plain),
            ("a/~/b", Spelt::Plain),
            ("$HOME/a", by_home("/home/u/a")),
            ("${HOME}/a", by_home("/home/u/a")),
            ("file://$HOME/a", by_home("file:///home/u/a")),
            ("/x/..$HOME/../$HOME", by_home("/x/../home/u/..//home/u")),
            ("$HOMER/a", Spelt::Unknown),
            ("$XDG_CONFIG_HOME/a", Spelt::Unknown),
            ("${dir}/a", Spelt::Unknown),
            ("${HOME:-/x}/a", Spelt::Unknown),
            ("${HOME", Spelt::Unknown),
            ("$(pwd)/a", Spelt::Unknown),
            ("`pwd`/a", Spelt::Unknown),
            ("routes/$id.tsx", Spelt::Plain),
            ("routes/$postId/$HOME", by_home("routes/$postId//home/u")),
            ("routes/$.tsx", Spelt::Plain),
            ("a$", Spelt::Plain),
            ("5$", Spelt::Plain),
            ("$5", Spelt::Plain),
        ] {
            assert_eq!(read(text, Some(Path::new("/home/u"))), expected, "{text}");
        }
        for text in ["~", "~/a", "$HOME", "${HOME}/a"] {
            assert_eq!(read(text, None), Spelt::Unknown, "{text}");
        }
    }
}
