//! Asking for a server, one thing after the other. Each answer is checked at once, and asked for again until it is good.

use std::io::BufRead;

use super::{NewServer, given};
use crate::clients::Server;
use crate::commands::mcp::ask::ask_in;
use crate::commands::mcp::draft::Draft;
use crate::commands::mcp::test::on_path;
use crate::ending::Trouble;
use crate::nearest::nearest;
use crate::print;

/// Whoever gives as many wrong answers in a row is a script.
const TRIES_MAX: usize = 20;

/// Stands in for a program while a name is checked.
const ANY_PROGRAM: &str = "true";

/// Asks for everything that a server needs.
pub(super) fn ask(draft: &Draft, name: Option<&str>, input: &mut dyn BufRead) -> Result<NewServer, Trouble> {
    let name = match name {
        Some(name) => good_name(draft, name).map_err(Trouble::Misused)?,
        None => {
            until_good("Name of the server (its tools will be offered as NAME_tool)", input, &mut |answer| {
                good_name(draft, answer)
            })?
        }
    };
    let mut server =
        until_good("Its program with arguments, or its address (https://…)", input, &mut |answer| {
            good_place(draft, &name, answer)
        })?;
    let (what, read): (_, given::ReadPair) = match server.url {
        Some(_) => ("A header it needs, as Name=value (an empty line goes on)", given::header),
        None => (
            "An environment variable it needs, as NAME=VALUE, or NAME to take it from the environment (an empty line goes on)",
            given::environment,
        ),
    };
    loop {
        let pair = until_good(what, input, &mut |answer| match answer {
            "" => Ok(None),
            answer => {
                let (key, value) = read(answer)?;
                let mut with = server.clone();
                let table = if with.url.is_some() { &mut with.headers } else { &mut with.env };
                table.insert(key, value);
                good(draft, &name, with).map(Some)
            }
        })?;
        match pair {
            Some(with) => server = with,
            None => return Ok(NewServer { name, server }),
        }
    }
}

/// Asks until the answer is good.
fn until_good<T>(
    question: &str,
    input: &mut dyn BufRead,
    read: &mut dyn FnMut(&str) -> Result<T, String>,
) -> Result<T, Trouble> {
    for _ in 0..TRIES_MAX {
        match read(&answer(question, input)?) {
            Ok(good) => return Ok(good),
            Err(why) => print::remark(&print::harmless(&format!("  {why}"))),
        }
    }
    Err(Trouble::Misused("too many answers that cannot be used; nothing was added".to_owned()))
}

fn answer(question: &str, input: &mut dyn BufRead) -> Result<String, Trouble> {
    match ask_in(input, &format!("{question}:")) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(Trouble::Misused(
            "the answers ended before everything was known; nothing was added".to_owned(),
        )),
        Err(error) => Err(Trouble::Failed(format!("the answer cannot be read: {error}"))),
    }
}

fn good_name(draft: &Draft, name: &str) -> Result<String, String> {
    draft.check_free(name).map_err(|trouble| trouble.to_string())?;
    let server = Server { command: Some(ANY_PROGRAM.to_owned()), ..Server::default() };
    good(draft, name, server).map(|_| name.to_owned())
}

fn good_place(draft: &Draft, name: &str, answer: &str) -> Result<Server, String> {
    if answer.contains("://") && !answer.contains(' ') {
        return good(draft, name, Server { url: Some(answer.to_owned()), ..Server::default() });
    }
    let words = shlex::split(answer).ok_or("a quotation mark has no second one")?;
    let mut words = words.into_iter();
    let command =
        words.next().ok_or("a program, such as `npx -y PACKAGE`, or an address, such as https://HOST/mcp")?;
    if !command.contains(['/', '$', '{']) {
        let programs = on_path();
        if !programs.contains(&command) {
            return Err(match nearest(&command, programs.iter().map(String::as_str)) {
                Some(near) => format!("there is no program `{command}` in PATH; did you mean `{near}`?"),
                None => format!(
                    "there is no program `{command}` in PATH; install it first, or give its full path"
                ),
            });
        }
    }
    good(draft, name, Server { command: Some(command), args: words.collect(), ..Server::default() })
}

fn good(draft: &Draft, name: &str, server: Server) -> Result<Server, String> {
    let problems = draft.problems(name, &server);
    if problems.is_empty() { Ok(server) } else { Err(problems.join("\n  ")) }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::config::Surroundings;

    /// What answers lead to.
    #[track_caller]
    fn check(answers: &str, expected: Expect) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("toolcrib.toml");
        let held = crate::config_edit::hold(&file).expect("free");
        held.write("[mcp.taken]\ncommand = \"x\"\n").expect("written");
        let variables = [("TOKEN".into(), "s3cret".into()), ("HOME".into(), folder.path().into())].into();
        let surroundings =
            Surroundings { current_dir: folder.path().to_owned(), variables, ..Surroundings::default() };
        let draft =
            Draft::new(Some(&file), surroundings).map_err(|trouble| trouble.to_string()).expect("a draft");
        expected.assert_eq(&match ask(&draft, None, &mut answers.as_bytes()) {
            Ok(new) => format!("{}\n{}", new.name, new.server.to_table()),
            Err(trouble) => trouble.to_string(),
        });
    }

    #[test]
    fn answers_are_checked_at_once_and_asked_for_again() {
        check(
            "taken\n\ngit\nno-such-program-anywhere\n'open\nsh -c 'echo \"a b\"'\nTOKEN\nMISSING\n1=2\nMODE=x y\n\n",
            expect![[r#"
                git
                command = "sh"
                args = ["-c", 'echo "a b"']
                env = { MODE = "x y", TOKEN = "${env:TOKEN}" }
            "#]],
        );
        check(
            "web\nftp://host/\nhttps://host/mcp\nAuthorization: Bearer ${env:TOKEN}\nBad Name=1\n\n",
            expect![[r#"
                web
                url = "https://host/mcp"
                headers = { Authorization = "Bearer ${env:TOKEN}" }
            "#]],
        );
    }

    #[test]
    fn answers_that_end_add_nothing() {
        let ended = expect!["the answers ended before everything was known; nothing was added"];
        check("git\nsh\n", ended);
        check(&"\n".repeat(TRIES_MAX), expect!["too many answers that cannot be used; nothing was added"]);
    }
}
