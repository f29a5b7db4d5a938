//! The line that clients start us by, again and again. To read it in general all commands are made first, which is a fifth of
//! what a start costs.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Cli, Command, Serving};

impl Cli {
    /// The line, if it is `stdio` with the usual options and nothing else. Whatever is odd about it is told by who reads all
    /// lines.
    pub(super) fn of_client(mut words: impl Iterator<Item = OsString>) -> Option<Cli> {
        words.next().filter(|word| word == "stdio")?;
        let (mut cli, mut how) = (Cli::default(), Serving::default());
        while let Some(word) = words.next() {
            match word.to_str()? {
                "--standalone" if !how.standalone => how.standalone = true,
                "--config" if cli.config.is_none() => cli.config = Some(value(words.next()?)?),
                "--workspace" if cli.workspace.is_none() => cli.workspace = Some(value(words.next()?)?),
                _ => return None,
            }
        }
        cli.command = Some(Command::Stdio(how));
        Some(cli)
    }
}

/// The word, if it is no option and not empty.
fn value(word: OsString) -> Option<PathBuf> {
    let is_plain = word.as_encoded_bytes().first().is_some_and(|&first| first != b'-');
    is_plain.then(|| word.into())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn it_is_read_as_any_line_is() {
        let check = |line: &str, is_read: bool| {
            let words = || line.split(' ').map(OsString::from);
            let read = Cli::of_client(words());
            assert_eq!(read.is_some(), is_read, "{line}");
            let Some(read) = read else { return };
            let whole = Cli::try_parse_from([OsString::from("toolcrib")].into_iter().chain(words()));
            assert_eq!(
                format!("{read:?}"),
                format!("{:?}", whole.expect("a line that means something")),
                "{line}"
            );
        };
        check("stdio", true);
        check("stdio --standalone", true);
        check("stdio --config a.toml", true);
        check("stdio --standalone --workspace x --config a.toml", true);
        check("stdio --config a.toml --standalone", true);
        // Told by whoever reads all lines.
        for line in [
            "",
            "stdio ",
            "serve",
            "--standalone stdio",
            "stdio --standalone --standalone",
            "stdio --config",
            "stdio --config --standalone",
            "stdio --config - ",
            "stdio --config=a.toml",
            "stdio --workspace ",
            "stdio --json",
            "stdio more",
            "stdio --help",
        ] {
            check(line, false);
        }
    }
}
