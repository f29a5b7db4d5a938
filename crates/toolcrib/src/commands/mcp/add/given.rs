//! A server from the options of the command line.

use std::collections::BTreeMap;

use clients::{Oauth, Server};
use terminal::Trouble;

use crate::cli::Add;

/// The server that the options name.
pub(super) fn new_server(add: &Add) -> Result<(String, Server), Trouble> {
    let Some(name) = add.name.clone() else { return Err(misused("the server needs a name")) };
    // Only one of them is given.
    let mut program = add.command.iter().chain(&add.args).chain(&add.program).cloned();
    let (command, args): (Option<String>, Vec<String>) = (program.next(), program.collect());
    if command.as_deref().is_some_and(|word| word.starts_with("http://") || word.starts_with("https://")) {
        return Err(misused("an address stands behind --url"));
    }
    let mut server = Server { command, args, url: add.url.clone(), ..Server::default() };
    if server.endpoint().is_empty() {
        return Err(misused("the server needs a program or an address"));
    }
    server.env = pairs(&add.env, environment)?;
    server.headers = pairs(&add.headers, header)?;
    server.destructive = add.destructive.map(super::destructive::word);
    if add.oauth {
        server.oauth = Some(Oauth::Switch(true));
    }
    if server.url.is_some() && !server.env.is_empty() {
        return Err(Trouble::Misused(
            "only a program has an environment; a server at an address has --header".to_owned(),
        ));
    }
    Ok((name, server))
}

fn misused(why: &str) -> Trouble {
    Trouble::Misused(format!(
        "{why}: `toolcrib mcp add NAME -- PROGRAM ARGUMENTS…` or `toolcrib mcp add NAME --url ADDRESS`"
    ))
}

/// A name and its value.
type Pair = (String, String);

fn pairs(
    given: &[String],
    read: fn(&str) -> Result<Pair, String>,
) -> Result<BTreeMap<String, String>, Trouble> {
    let mut all = BTreeMap::new();
    for text in given {
        let (name, value) = read(text).map_err(Trouble::Misused)?;
        if all.insert(name.clone(), value).is_some() {
            return Err(Trouble::Misused(format!("{name} is given twice")));
        }
    }
    Ok(all)
}

/// Reads `NAME=VALUE`, or a `NAME` alone, which refers to the variable of that name.
fn environment(text: &str) -> Result<Pair, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (text, format!("${{env:{text}}}")),
    };
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_letter) || name.starts_with(|c: char| c.is_ascii_digit()) {
        // What stands there may be a secret that slipped.
        return Err("an environment variable is written NAME=VALUE, or NAME alone".to_owned());
    }
    Ok((name.to_owned(), value))
}

/// Reads `Name=value` or, as it stands on the wire, `Name: value`.
fn header(text: &str) -> Result<Pair, String> {
    let Some(at) = text.find(['=', ':']).filter(|&at| at > 0) else {
        return Err("a header is written Name=value".to_owned());
    };
    let (name, value) = (text[..at].trim(), text[at + 1..].trim());
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)) {
        return Err("a header is written Name=value".to_owned());
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::cli::{Cli, Command, Mcp};

    /// The table that a command line makes, or what is wrong with it.
    #[track_caller]
    fn check(words: &[&str], expected: Expect) {
        let cli = Cli::try_parse_from(["toolcrib", "mcp", "add"].iter().chain(words))
            .expect("words that go together");
        let Ok(Command::Mcp(Mcp::Add(add))) = cli.action() else { panic!("another command") };
        expected.assert_eq(&match new_server(&add) {
            Ok((name, server)) => format!("{name}\n{}", server.to_table()),
            Err(trouble) => trouble.to_string(),
        });
    }

    #[test]
    fn options_make_a_server() {
        check(
            &["git", "--env", "TOKEN", "--env", "MODE=a=b", "--", "uvx", "mcp-git", "--repository", "."],
            expect![[r#"
                git
                command = "uvx"
                args = ["mcp-git", "--repository", "."]
                env = { MODE = "a=b", TOKEN = "${env:TOKEN}" }
            "#]],
        );
        check(
            &["time", "-e", "A=1", "uvx", "mcp-server-time", "--local", "UTC"],
            expect![[r#"
                time
                command = "uvx"
                args = ["mcp-server-time", "--local", "UTC"]
                env = { A = "1" }
            "#]],
        );
        check(
            &["git", "--command", "uvx", "--args", "mcp-git", "-v"],
            expect![[r#"
                git
                command = "uvx"
                args = ["mcp-git", "-v"]
            "#]],
        );
        check(
            &[
                "web",
                "--url",
                "https://host/mcp",
                "--header",
                "Authorization=Bearer ${env:X}",
                "--header",
                "X-A: b=c:d",
                "--oauth",
            ],
            expect![[r#"
                web
                url = "https://host/mcp"
                oauth = true
                headers = { Authorization = "Bearer ${env:X}", X-A = "b=c:d" }
            "#]],
        );
    }

    #[test]
    fn what_does_not_say_enough_or_too_much_is_refused() {
        let how = ": `toolcrib mcp add NAME -- PROGRAM ARGUMENTS…` or `toolcrib mcp add NAME --url ADDRESS`";
        for (words, expected) in [
            (&["--url", "https://x"][..], format!("the server needs a name{how}")),
            (&["x", "https://x"], format!("an address stands behind --url{how}")),
            (&["x"], format!("the server needs a program or an address{how}")),
            (&["x", "--env", "A", "--env", "A=1", "--command", "y"], "A is given twice".to_owned()),
            (
                &["x", "--env", "s3cret value", "--command", "y"],
                "an environment variable is written NAME=VALUE, or NAME alone".to_owned(),
            ),
            (&["x", "--url", "https://x", "--header", "s3cret"], "a header is written Name=value".to_owned()),
            (
                &["x", "--url", "https://x", "--env", "A=1"],
                "only a program has an environment; a server at an address has --header".to_owned(),
            ),
        ] {
            let cli = Cli::try_parse_from(["toolcrib", "mcp", "add"].iter().chain(words)).expect("words");
            let Ok(Command::Mcp(Mcp::Add(add))) = cli.action() else { panic!("another command") };
            let trouble = new_server(&add).err().map(|trouble| trouble.to_string());
            assert_eq!(trouble, Some(expected), "{words:?}");
        }
    }
}
