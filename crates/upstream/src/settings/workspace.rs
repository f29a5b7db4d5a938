//! `${workspace}` in a server's table: the folder of whichever workspace it is started for. What is written there is kept
//! beside what it comes to, since a person who accepts the server accepts what is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::text_file;

use super::check::key as key_of;
use super::checked::Settings;
use super::endpoint::Endpoint;
use super::sandbox::is_within;

impl Settings {
    /// The same for a workspace in `folder`, an absolute path without links, or the reason why there is none that a
    /// program may be given; then a server whose table has `${workspace}` cannot be started.
    ///
    /// Somebody else may have named the folder. Since it is absolute, no argument that begins with it is an option.
    #[must_use]
    pub fn working_in(mut self, folder: Result<&str, &str>) -> Settings {
        let Some(first) = self.workspace.first() else { return self };
        let Endpoint::Program(program) = &mut self.endpoint else { return self };
        let folder = match folder {
            Ok(folder) => folder,
            Err(why) => {
                let first = first.to_owned();
                return self.lacking(&first, why);
            }
        };
        let written = Arc::new(program.clone());
        let words = &self.workspace;
        for (nth, argument) in program.args.iter_mut().enumerate() {
            *argument = words.filled(&format!("args[{nth}]"), argument, folder);
        }
        for (name, value) in &mut program.env {
            *value = words.filled(&format!("env.{}", key_of(name)), value, folder);
        }
        if let Some(cwd) = program.cwd.as_mut().filter(|cwd| cwd.to_str().is_some()) {
            *cwd = PathBuf::from(words.filled("cwd", &cwd.to_string_lossy(), folder));
        }
        // Whoever accepts a server accepts its program: what it may touch is no part of that.
        self.workspace.written = (*written != *program).then_some(written);
        self.touching(folder)
    }

    /// The same, with the folder in the paths of its sandbox. What lies in a workspace may be somebody else's link to what is
    /// the user's; then the server is not started.
    fn touching(mut self, folder: &str) -> Settings {
        let sandbox = Arc::make_mut(&mut self.sandbox);
        for (key, paths) in sandbox.paths_mut() {
            for (nth, path) in paths.iter_mut().enumerate() {
                let place = format!("sandbox.{key}[{nth}]");
                let Some(written) = path.to_str().filter(|_| self.workspace.is_at(&place)) else { continue };
                let filled = PathBuf::from(self.workspace.filled(&place, written, folder));
                if !is_within(&filled, Path::new(folder)) {
                    let why = format!("{} leads out of the workspace", filled.display());
                    self.lacks
                        .get_or_insert_with(|| format!("mcp.{}.{place}: {why}", key_of(&self.name)).into());
                }
                *path = text_file::real(&filled);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    fn settle(table: &str) -> Result<Settings, Vec<String>> {
        let table: Config = toml::from_str(table).expect("a table by its form");
        table.settle("it", Duration::from_secs(1), &|_| Ok("value".to_owned()))
    }

    fn settled(table: &str, folder: &str) -> Settings {
        settle(table).expect("sound").working_in(Ok(folder))
    }

    /// What the program is given for a workspace in `/w s`.
    #[track_caller]
    fn check(table: &str, expected: &str) {
        let settings = settled(&format!("command = \"x\"\n{table}"), "/w s");
        let program = settings.program().expect("a program");
        let env = program.env.iter().map(|(name, value)| format!("{name}={value}"));
        let cwd = program.cwd.iter().map(|cwd| format!("in {}", cwd.display()));
        let words: Vec<String> = program.args.iter().cloned().chain(env).chain(cwd).collect();
        assert_eq!(words.join("|"), expected, "{table}");
    }

    #[test]
    fn it_stands_for_the_folder_wherever_it_may_be_written() {
        check(
            "args = ['-y', '${workspace}', '--root=${workspace}/a:${workspace}']",
            "-y|/w s|--root=/w s/a:/w s",
        );
        check(
            "env = { A = '${workspace}', B = '${env:B}-${workspace}', C = 'c' }",
            "A=/w s|B=value-/w s|C=c",
        );
        check("env.'a b' = 'x${workspace}'\ncwd = '${workspace}/sub'", "a b=x/w s|in /w s/sub");
        check(
            "args = ['$${workspace}', '{workspace}', '${Workspace}', '${workspace']",
            "${workspace}|{workspace}|${Workspace}|${workspace",
        );
        check(
            "args = ['$${workspace}${workspace}', '${env:X}${workspace}$${env:X}']",
            "${workspace}/w s|value/w s${env:X}",
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the tests write what stands in a workspace")]
    fn in_the_paths_of_the_sandbox_it_never_leads_out() {
        let (folder, elsewhere) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let folder = folder.path().canonicalize().expect("it is there");
        std::fs::create_dir(folder.join("data")).expect("a folder");
        std::fs::write(elsewhere.path().join("key"), "").expect("written");
        for (name, to) in [("out", elsewhere.path()), ("in", &folder.join("data"))] {
            std::os::unix::fs::symlink(to, folder.join(name)).expect("a link");
        }
        let touched = |path: &str| {
            let table = format!("command = 'x'\nsandbox.write = ['/fixed', '${{workspace}}{path}']");
            let settings = settled(&table, folder.to_str().expect("UTF-8"));
            let why = settings.lacks().and_then(|why| why.rsplit_once(' ')).map(|(_, end)| end.to_owned());
            (settings.sandbox().write[1].clone(), why, settings.trust_key())
        };
        let plain = settle("command = 'x'").expect("sound").trust_key();
        for (path, expected) in [("", ""), ("/data", "data"), ("/in", "data"), ("/new/file", "new/file")] {
            let expected = if expected.is_empty() { folder.clone() } else { folder.join(expected) };
            assert_eq!(touched(path), (expected, None, plain.clone()), "{path}");
        }
        for path in ["/out", "/out/key", "/..", "/data/../out", "-2"] {
            assert_eq!(touched(path).1.as_deref(), Some("workspace"), "{path}");
        }
    }

    #[test]
    fn elsewhere_it_is_a_mistake() {
        let why = "`${workspace}` may stand in `args`, `cwd`, `env` and the paths of `sandbox` alone; `$${workspace}` is the text itself";
        for (table, key) in [
            ("command = '${workspace}/x'", "command"),
            ("url = 'http://h/${workspace}'", "url"),
            ("url = 'http://h/'\nheaders.A = '${workspace}'", "headers.A"),
            ("socket = '/${workspace}'", "socket"),
            ("command = 'x'\n[tool.t]\ndefaults.a = '${workspace}'", "tool.t.defaults.a"),
            ("command = 'x'\nenabled = false\ntool.t.arguments.a = '${workspace}'", "tool.t.arguments.a"),
        ] {
            assert_eq!(settle(table).expect_err("a mistake"), [format!("mcp.it.{key}: {why}")], "{table}");
        }
    }

    #[test]
    fn without_a_folder_that_a_program_may_be_given_it_is_not_started() {
        let why = Err("the workspace is too wide");
        let lacks = |table: &str| settle(table).expect("sound").working_in(why).lacks().map(str::to_owned);
        assert_eq!(
            lacks("command = 'x'\nargs = ['a', '${workspace}']").as_deref(),
            Some("mcp.it.args[1]: the workspace is too wide")
        );
        assert_eq!(lacks("command = 'x'\nargs = ['$${workspace}']"), None);
    }

    #[test]
    fn each_workspace_has_a_server_of_its_own_which_is_accepted_once() {
        let table =
            "command = 'x'\nargs = ['-r', '${workspace}']\ncwd = '${workspace}'\nenv.A = '${workspace}'";
        let (one, other) = (settled(table, "/one"), settled(table, "/other"));
        assert!(one.same_as(&settled(table, "/one")) && !one.same_as(&other));
        assert_eq!(one.trust_key(), other.trust_key());
        assert_ne!(one.fingerprint(), other.fingerprint(), "what one lists is not what the other lists");
        // Neither the folder, written out, nor the word itself is the same thing.
        for args in ["'-r', '/one'", "'-r', '$${workspace}'"] {
            let table = format!("command = 'x'\nargs = [{args}]\nenv.A = 'a'");
            let meant = "command = 'x'\nargs = ['-r', '${workspace}']\nenv.A = 'a'";
            assert_ne!(settled(&table, "/one").trust_key(), settled(meant, "/one").trust_key());
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the tests write what stands in a workspace")]
    fn code_of_the_workspace_itself_is_another_server_in_each() {
        let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        for folder in [&one, &other] {
            for name in ["server.py", "data.db"] {
                std::fs::write(folder.path().join(name), "").expect("written");
            }
        }
        for (table, is_one) in [
            ("args = ['${workspace}/server.py']", false),
            ("args = ['--import=${workspace}/server.py']", false),
            ("args = ['server.py']\ncwd = '${workspace}'", false),
            ("args = ['${workspace}/data.db']", true),
            ("args = ['${workspace}/none.py']", true),
        ] {
            let keys = [&one, &other].map(|folder| {
                let folder = folder.path().to_str().expect("UTF-8");
                settled(&format!("command = 'python3'\n{table}"), folder).trust_key()
            });
            assert_eq!(keys[0] == keys[1], is_one, "{table}");
        }
    }
}
