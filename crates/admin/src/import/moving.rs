//! Moving: what becomes of the clients' files when their servers are Toolcrib's from then on. Nothing is written here.

use clients::{Client, ClientFile, Origin, Server, Surroundings};

use super::plan::{Entry, Plan};
use crate::fault::Fault;

/// What we go by in clients' files.
const OUR_NAME: &str = "toolcrib";

/// A client's file, with its servers taken out.
pub struct MovedFile {
    /// The client.
    pub client: &'static Client,
    /// The file.
    pub place: ClientFile,
    /// What is taken out, by name.
    pub taken: Vec<String>,
    /// Whether Toolcrib is written in, so that the client goes on having these tools.
    pub gets_ours: bool,
    /// What stands in it now.
    pub before: String,
    /// What is to stand in it.
    pub after: String,
}

/// An entry that stays where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stays {
    /// The entry.
    pub entry: Entry,
    /// Why, as a sentence.
    pub why: &'static str,
}

/// What moving does to clients' files.
#[derive(Default)]
pub struct Moving {
    /// The files that change.
    pub files: Vec<MovedFile>,
    /// The entries that were taken over or are known, and stay there nevertheless.
    pub stays: Vec<Stays>,
}

impl Moving {
    /// What becomes of the files in which servers of the plan stand. Where a client's last ones are taken out and Toolcrib is
    /// not among its servers, `ours` goes in. Blocks on the disk.
    ///
    /// # Errors
    /// A file that cannot be read, or not be changed, with its path.
    pub fn of(plan: &Plan, ours: &Server, surroundings: &Surroundings) -> Result<Moving, Fault> {
        let mut moving = Moving::default();
        for entry in moving.entries_to_take(plan) {
            let client = clients::client(entry.client).expect("an entry is of a client that is known");
            let failed = |why: String| {
                Fault::failed(format!("{}: {why}; nothing was changed", entry.place.path.display()))
            };
            let known = moving.files.iter().position(|file| file.place.path == entry.place.path);
            let at = match known {
                Some(at) => at,
                None => {
                    moving.files.push(MovedFile::read(client, &entry.place).map_err(failed)?);
                    moving.files.len() - 1
                }
            };
            moving.files[at].take(&entry).map_err(failed)?;
        }
        let mut served: Vec<&str> = plan.own.iter().map(|entry| entry.client).collect();
        for file in &mut moving.files {
            if !served.contains(&file.client.id) {
                let path = file.place.path.display().to_string();
                file.put(ours, surroundings)
                    .map_err(|why| Fault::failed(format!("{path}: {why}; nothing was changed")))?;
                served.push(file.client.id);
            }
        }
        Ok(moving)
    }

    /// The entries that go; those that stay are noted.
    fn entries_to_take(&mut self, plan: &Plan) -> Vec<Entry> {
        let new = plan.add.iter().flat_map(|planned| {
            let is_ready = planned.findings.missing.is_empty();
            planned.entries.iter().map(move |entry| (entry, is_ready))
        });
        let known = plan.known.iter().map(|entry| (entry, true));
        let mut taken = Vec::new();
        for (entry, is_ready) in new.chain(known) {
            let why = match (entry.place.is_shared, is_ready) {
                (true, _) => {
                    "others who work on the project may use it; to take it out all the same, name the file"
                }
                (false, false) => "it works there, and here it still needs something",
                (false, true) => {
                    taken.push(entry.clone());
                    continue;
                }
            };
            self.stays.push(Stays { entry: entry.clone(), why });
        }
        taken
    }
}

impl MovedFile {
    fn read(client: &'static Client, place: &ClientFile) -> Result<MovedFile, String> {
        let before = clients::read(&place.path)?.ok_or("it is gone")?;
        let (place, taken, after) = (place.clone(), Vec::new(), before.clone());
        Ok(MovedFile { client, place, taken, gets_ours: false, before, after })
    }

    fn take(&mut self, entry: &Entry) -> Result<(), String> {
        let after = self.client.without(&self.after, &entry.table, &entry.name)?;
        self.after = after.ok_or_else(|| format!("`{}` is not in it any more", entry.name))?;
        self.taken.push(entry.name.clone());
        Ok(())
    }

    fn put(&mut self, ours: &Server, surroundings: &Surroundings) -> Result<(), String> {
        let origin = Origin { place: &self.place, surroundings };
        let change = self.client.export(Some(&self.after), OUR_NAME, ours, &origin)?;
        if change.replaces {
            return Err(format!(
                "another server is called {OUR_NAME} in it; write Toolcrib in under another name first: `toolcrib mcp export \
                 {} --name NAME`",
                self.client.id
            ));
        }
        if let Some(text) = change.text {
            self.after = text;
            self.gets_ours = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use sandbox::text_file;

    use super::*;
    use crate::import::plan::Planned;

    const FILE: &str = r#"{
  // Mine.
  "mcpServers": {
    "git": { "command": "uvx", "args": ["git"] },
    "web": { "url": "https://a.example/mcp" }
  }
}
"#;

    fn entry(path: &std::path::Path, name: &str) -> Entry {
        let (place, table) = (ClientFile::users(path.to_owned()), vec!["mcpServers".to_owned()]);
        Entry { client: "cursor", place, table, name: name.to_owned() }
    }

    fn planned(entry: Entry, missing: &[&str]) -> Planned {
        let missing = missing.iter().map(|what| (*what).to_owned()).collect();
        let findings = clients::Findings { remarks: Vec::new(), missing };
        let (name, server) = (entry.name.clone(), Server::default());
        Planned { name, server, findings, from: Vec::new(), entries: vec![entry] }
    }

    /// What becomes of the file, what stays, or what is said.
    #[track_caller]
    fn check(text: &str, plan: impl FnOnce(&dyn Fn(&str) -> Entry) -> Plan, expected: Expect) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.json");
        text_file::replace(&path, text).expect("writable");
        let plan = plan(&|name| entry(&path, name));
        let ours = Server {
            command: Some("/bin/toolcrib".to_owned()),
            args: vec!["stdio".to_owned()],
            ..Server::default()
        };
        let said = match Moving::of(&plan, &ours, &Surroundings::default()) {
            Ok(Moving { files, stays }) => {
                let stays = stays.iter().map(|stays| format!("{}: {}\n", stays.entry.name, stays.why));
                files.iter().map(|file| file.after.clone()).chain(stays).collect()
            }
            Err(fault) => fault.message.replace(&path.display().to_string(), "FILE"),
        };
        expected.assert_eq(&said);
        assert_eq!(clients::read(&path), Ok(Some(text.to_owned())), "nothing is written");
    }

    #[test]
    fn entries_go_and_toolcrib_comes_once() {
        check(
            FILE,
            |of| Plan { add: vec![planned(of("git"), &[])], known: vec![of("web")], ..Plan::default() },
            expect![[r#"
                {
                  // Mine.
                  "mcpServers": {
                    "toolcrib": {
                      "command": "/bin/toolcrib",
                      "args": ["stdio"]
                    }
                  }
                }
            "#]],
        );
        check(
            FILE,
            |of| Plan { known: vec![of("git")], own: vec![of("crib")], ..Plan::default() },
            expect![[r#"
                {
                  // Mine.
                  "mcpServers": {
                    "web": { "url": "https://a.example/mcp" }
                  }
                }
            "#]],
        );
    }

    #[test]
    fn what_others_share_or_what_is_not_ready_stays() {
        check(
            FILE,
            |of| {
                let shared = Entry { place: ClientFile { is_shared: true, ..of("git").place }, ..of("git") };
                Plan { add: vec![planned(shared, &[]), planned(of("web"), &["a token"])], ..Plan::default() }
            },
            expect![[r#"
                git: others who work on the project may use it; to take it out all the same, name the file
                web: it works there, and here it still needs something
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_done_changes_nothing() {
        check(
            FILE,
            |of| Plan { known: vec![of("gone")], ..Plan::default() },
            expect!["FILE: `gone` is not in it any more; nothing was changed"],
        );
        check(
            &FILE.replace("web", "toolcrib"),
            |of| Plan { known: vec![of("git")], ..Plan::default() },
            expect![
                "FILE: another server is called toolcrib in it; write Toolcrib in under another name first: `toolcrib mcp export cursor --name NAME`; nothing was changed"
            ],
        );
    }
}
