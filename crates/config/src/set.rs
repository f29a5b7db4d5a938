//! Changing what a server's table says, by command.

use std::path::{Path, PathBuf};

use admin::Fault;

use crate::edit::set_keys;
use crate::held::hold;
use crate::surroundings::Surroundings;
use crate::trial::{files_of_server, load_as_if};

/// Gives keys of a server's table other values, as they are typed (`KEY=VALUE`, the value in TOML or as a bare text), in
/// the file that decides about the server; gives that file.
///
/// # Errors
/// Why nothing was changed: there is no such server, or the configuration would have something wrong that it has not now.
pub fn set_server(
    named: Option<&Path>,
    surroundings: &Surroundings,
    name: &str,
    typed: &[String],
) -> Result<PathBuf, Fault> {
    let values =
        typed.iter().map(|typed| read(typed)).collect::<Result<Vec<_>, _>>().map_err(Fault::misused)?;
    let files = files_of_server(named, surroundings, name)
        .map_err(|problems| Fault::configuration(problems.to_string()))?;
    let file = files.into_iter().next_back();
    let file = file.ok_or_else(|| {
        Fault::misused(format!("there is no server `{name}`; `toolcrib mcp list` names them"))
    })?;
    let unchanged = |why: &str| Fault::failed(format!("{}: {why}; nothing was changed", file.display()));
    let held = hold(&file).map_err(Fault::failed)?;
    let before = held.text().map_err(Fault::failed)?;
    let after = set_keys(&before, name, &values).map_err(|why| unchanged(&why))?;
    let problems = |text: &str| match load_as_if(named, surroundings, &file, text.to_owned()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.lines().to_vec(),
    };
    let known = problems(&before);
    let new: Vec<String> = problems(&after).into_iter().filter(|problem| !known.contains(problem)).collect();
    if !new.is_empty() {
        return Err(Fault::misused(format!("{}\nnothing was changed", new.join("\n"))));
    }
    held.write(&after).map_err(Fault::failed)?;
    Ok(file)
}

fn read(typed: &str) -> Result<(&str, toml_edit::Value), String> {
    let is_plain = |key: &&str| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let Some((key, value)) = typed.split_once('=').filter(|(key, _)| !key.is_empty() && is_plain(key)) else {
        return Err(format!("{typed:?} is no KEY=VALUE, such as `timeout=60000`"));
    };
    // What is no value in TOML is a text that nobody wanted to quote for the shell.
    Ok((key, value.parse().unwrap_or_else(|_| value.into())))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a file to be changed")]

    use super::*;

    const BEFORE: &str = "# mine\n[mcp.a] # it\ncommand = \"x\" # runs\n\n[mcp.b]\ncommand = \"y\"\n[mcp]\nc = { command = \"z\" }\ne.command = \"q\"\n";

    /// What becomes of the file, or what is said.
    #[track_caller]
    fn check(name: &str, typed: &[&str], expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("toolcrib.toml");
        std::fs::write(&file, BEFORE).expect("writable");
        let variables = [("HOME".into(), folder.path().into())].into();
        let surroundings =
            Surroundings { current_dir: folder.path().to_owned(), variables, ..Surroundings::default() };
        let typed: Vec<String> = typed.iter().map(|typed| (*typed).to_owned()).collect();
        let done = set_server(Some(&file), &surroundings, name, &typed);
        let now = std::fs::read_to_string(&file).expect("readable");
        match expected {
            Ok(expected) => {
                done.expect("it is changed");
                assert_eq!(now, expected, "{name} {typed:?}");
            }
            Err(expected) => {
                let said = done.expect_err("it is refused").to_string();
                assert_eq!(said.replace(&file.display().to_string(), "FILE"), expected, "{name} {typed:?}");
                assert_eq!(now, BEFORE, "nothing was changed");
            }
        }
    }

    #[test]
    fn a_value_is_put_where_it_belongs() {
        let with = |from: &str, to: &str| BEFORE.replace(from, to);
        check("a", &["command=\"y\""], Ok(&with("\"x\"", "\"y\"")));
        check("a", &["destructive=session"], Ok(&with("# it\n", "# it\ndestructive = \"session\"\n")));
        check("c", &["enabled=false"], Ok(&with("\"z\" }", "\"z\", enabled = false }")));
        check("c", &["command=a b"], Ok(&with("\"z\"", "\"a b\"")));
        check(
            "b",
            &["timeout=5", "args=[\"-v\"]"],
            Ok(&with("[mcp.b]\n", "[mcp.b]\nargs = [\"-v\"]\ntimeout = 5\n")),
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let no_way = "FILE: it is written in a way that this command cannot change; change it by hand; nothing was changed";
        check("e", &["timeout=5"], Err(no_way));
        check("d", &["timeout=5"], Err("there is no server `d`; `toolcrib mcp list` names them"));
        check("a", &["timeout"], Err("\"timeout\" is no KEY=VALUE, such as `timeout=60000`"));
        check(
            "a",
            &["timeout=0"],
            Err("FILE:3:11: mcp.a.timeout: a call's time is between 1 ms and 24 h\nnothing was changed"),
        );
        check(
            "a",
            &["timout=5"],
            Err("FILE:3:1: unknown key `timout` in [mcp.a]; did you mean `timeout`?\nnothing was changed"),
        );
    }
}
