//! The text of the unit: a template, and words as systemd reads them.

use std::path::Path;

use terminal::Trouble;

const TEMPLATE: &str = include_str!("toolcrib.service");

/// The line by which a unit is known to be ours.
const MARK: &str = "# Written by `toolcrib service install`";

/// The key of the command line.
const COMMAND: &str = "ExecStart=:";

/// The unit that runs `program`, with this configuration if one was named; it finds programs in `path`.
///
/// # Errors
/// If one of the words cannot stand in a unit.
pub(super) fn text(program: &Path, config: Option<&Path>, path: &str) -> Result<String, Trouble> {
    // Of its own: ending the service must not end the process that clients on stdio share.
    let mut command = vec![of_path(program)?, "serve".to_owned(), "--standalone".to_owned()];
    if let Some(config) = config {
        command.extend(["--config".to_owned(), of_path(config)?]);
    }
    let path = quoted(&format!("PATH={path}"))?;
    Ok(TEMPLATE.replace("{COMMAND}", &command.join(" ")).replace("{PATH}", &path))
}

/// Whether this command has written it.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// Whether a unit runs this program.
pub(super) fn runs(text: &str, program: &Path) -> bool {
    let Ok(program) = of_path(program) else { return false };
    command(text).is_some_and(|command| command.split(" serve").next() == Some(&program))
}

/// The command line of a unit.
pub(super) fn command(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(COMMAND))
}

fn of_path(path: &Path) -> Result<String, Trouble> {
    quoted(path.to_str().ok_or_else(|| unwritable(&path.to_string_lossy()))?)
}

/// A word in quotes. `%` begins a specifier; variables are not followed in a command that begins with a colon.
fn quoted(word: &str) -> Result<String, Trouble> {
    if word.chars().any(char::is_control) {
        return Err(unwritable(word));
    }
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{escaped}\""))
}

fn unwritable(word: &str) -> Trouble {
    let why =
        format!("{word:?} cannot stand in a unit of systemd: it is no text on one line; use another path");
    Trouble::Failed(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, config: Option<&str>, expected: &str) {
        let made = text(Path::new(program), config.map(Path::new), "/bin:/opt/100%").expect("a unit");
        assert_eq!(command(&made), Some(expected));
        assert!(made.contains("\nEnvironment=\"PATH=/bin:/opt/100%%\"\n"), "{made}");
        assert!(is_ours(&made) && runs(&made, Path::new(program)), "{made}");
        assert!(!runs(&made, Path::new("/opt/other")), "{made}");
        assert!(!made.contains('{'), "{made}");
    }

    #[test]
    fn words_are_as_systemd_reads_them() {
        check("/usr/bin/toolcrib", None, r#""/usr/bin/toolcrib" serve --standalone"#);
        check("/a b/50%/$X", Some(r#"/c"d\e"#), r#""/a b/50%%/$X" serve --standalone --config "/c\"d\\e""#);
        for bad in ["/a\nExecStart=/bin/evil", "/a\u{7f}"] {
            assert!(text(Path::new(bad), None, "").is_err(), "{bad:?}");
            assert!(text(Path::new("/a"), Some(Path::new(bad)), "").is_err(), "{bad:?}");
            assert!(text(Path::new("/a"), None, bad).is_err(), "{bad:?}");
        }
        assert!(!is_ours("[Unit]\n"));
    }
}
