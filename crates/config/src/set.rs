//! Changing what a server's table says, by command.

use std::path::{Path, PathBuf};

use admin::Fault;

use crate::edit::set_keys;
use crate::held::hold;
use crate::surroundings::Surroundings;
use crate::trial::{files_of_server, load_as_if};

/// A key of a server's table, and one of a table in it, as in `sandbox.network`.
const KEYS_MAX: usize = 2;

/// Gives keys of a server's table, or of a table in it, other values, as they are typed (`KEY=VALUE` or `TABLE.KEY=VALUE`,
/// the value in TOML or as a bare text), in the file that decides about the server; gives that file.
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
    // The user's own comes first, and governs: a folder's only tightens what it says of a server.
    let file = files.into_iter().next();
    let file = file.ok_or_else(|| {
        Fault::misused(format!("there is no server `{name}`; `toolcrib mcp list` names them"))
    })?;
    let unchanged = |why: &str| Fault::failed(format!("{}: {why}; nothing was changed", file.display()));
    let held = hold(&file).map_err(Fault::failed)?;
    let before = held.text().map_err(Fault::failed)?;
    let after = set_keys(&before, name, &values).map_err(|why| unchanged(&why))?;
    let problems = |text: &str| match load_as_if(named, surroundings, &file, text.to_owned()) {
        // What is passed over was set in vain.
        Ok(loaded) => loaded.passed_over,
        Err(problems) => problems.lines().to_vec(),
    };
    // A line more moves what stands below it.
    let told = |problem: &str| problem.split_once(": ").map_or(problem, |(_, what)| what).to_owned();
    let known: Vec<String> = problems(&before).iter().map(|problem| told(problem)).collect();
    let new: Vec<String> =
        problems(&after).into_iter().filter(|problem| !known.contains(&told(problem))).collect();
    if !new.is_empty() {
        return Err(Fault::misused(format!("{}\nnothing was changed", new.join("\n"))));
    }
    held.write(&after).map_err(Fault::failed)?;
    Ok(file)
}

fn read(typed: &str) -> Result<(&str, toml_edit::Value), String> {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_key = |key: &str| key.split('.').count() <= KEYS_MAX && key.split('.').all(is_word);
    let Some((key, value)) = typed.split_once('=').filter(|(key, _)| is_key(key)) else {
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
            &["sandbox.network=none"],
            Ok(&with("[mcp.b]\n", "[mcp.b]\nsandbox.network = \"none\"\n")),
        );
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

    #[test]
    fn the_users_file_is_changed_where_a_folders_only_tightens_and_nothing_is_set_in_vain() {
        let disk = tempfile::tempdir().expect("a folder");
        let (own, folder) = (disk.path().join("home/.config/toolcrib"), disk.path().join("home/project"));
        let [users, folders] = [&own, &folder].map(|folder| {
            std::fs::create_dir_all(folder).expect("a folder");
            folder.join("toolcrib.toml")
        });
        std::fs::write(&users, "[mcp.a]\ncommand = \"x\"\n").expect("writable");
        std::fs::write(&folders, "[log]\n[mcp.a]\nexclude = []\n[mcp.p]\ncommand = \"y\"\n")
            .expect("writable");
        let variables = [("HOME".into(), disk.path().join("home").into())].into();
        let surroundings = Surroundings { current_dir: folder, variables, ..Surroundings::default() };
        let set = |name: &str, typed: &str| {
            let done = set_server(None, &surroundings, name, &[typed.to_owned()]);
            done.map_err(|why| why.to_string())
        };
        assert_eq!(set("a", "sandbox.network=none"), Ok(users.clone()));
        assert_eq!(set("p", "sandbox.network=[\"a.example\"]"), Ok(folders.clone()));
        assert_eq!(set("a", "sandbox.profile=open"), Ok(users));
        let before = std::fs::read_to_string(&folders).expect("readable");
        let refused = set("p", "sandbox.profile=open").expect_err("a folder opens nothing");
        assert!(refused.contains("toolcrib.toml:5:9: mcp.p.sandbox.profile is passed over"), "{refused}");
        assert!(!refused.contains("log is passed over"), "that was so before: {refused}");
        assert_eq!(std::fs::read_to_string(&folders).expect("readable"), before);
    }
}
