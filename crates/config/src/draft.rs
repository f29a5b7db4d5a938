//! The configuration that servers are to be added to: how it is, and how it would be with them.

use std::path::{Path, PathBuf};

use admin::Fault;
use admin::import::Target;
use clients::Server;
use sandbox::text_file;

use crate::edit;
use crate::find;
use crate::held::hold;
use crate::load::Loaded;
use crate::problem::{Problems, without_place};
use crate::surroundings::Surroundings;
use crate::trial::{files_of_server, load_as_if, text_of};

/// Whose file a server goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The user's own, for all folders.
    User,
    /// That of the folder's project.
    Project,
}

/// The configuration as it is.
pub struct Draft {
    surroundings: Surroundings,
    named: Option<PathBuf>,
    /// The file that servers go into.
    pub target: PathBuf,
}

/// A change of the file that was written, and may be taken back.
#[derive(Debug)]
pub struct Saved {
    path: PathBuf,
    before: Option<String>,
    after: String,
}

impl Saved {
    /// Puts back what was there before, unless the file has changed since.
    ///
    /// # Errors
    /// A sentence with the path.
    pub fn undo(&self) -> Result<(), String> {
        let held = hold(&self.path)?;
        let path = self.path.display();
        if text_of(&self.path)?.as_ref() != Some(&self.after) {
            return Err(format!("{path} has changed meanwhile, and was left as it is"));
        }
        match &self.before {
            Some(before) => held.write(before),
            None => text_file::remove(&self.path)
                .map_err(|error| format!("{path} cannot be removed again: {error}")),
        }
    }
}

impl Draft {
    /// The configuration of this file, if one is named, in these surroundings.
    ///
    /// # Errors
    /// The user has no home to keep one in.
    pub fn new(named: Option<&Path>, surroundings: Surroundings) -> Result<Draft, Fault> {
        let target = edit::target(named, &surroundings).map_err(Fault::failed)?;
        Ok(Draft { surroundings, named: named.map(Path::to_owned), target })
    }

    /// The same for the user's own file, or for that of the folder's project.
    ///
    /// # Errors
    /// The user has no home to keep one in.
    pub fn in_file_of(self, whose: Whose) -> Result<Draft, Fault> {
        let target = match whose {
            Whose::User => find::user(&self.surroundings),
            Whose::Project => find::project(&self.surroundings)
                .or_else(|| Some(self.surroundings.current_dir.join(find::FILE))),
        };
        let none =
            || Fault::failed("there is no home folder to keep the configuration in; use --config FILE");
        Ok(Draft { target: target.ok_or_else(none)?, ..self })
    }

    /// Has a server start where its command line was typed, if that names something there; gives a note of it.
    pub fn place(&self, server: &mut Server) -> Option<String> {
        let here = &self.surroundings.current_dir;
        if !server.place_in(here) {
            return None;
        }
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        // A project's file may go to another machine.
        if text_file::real(folder) == text_file::real(here) {
            server.cwd = Some(".".to_owned());
        }
        Some(format!("it starts in {} (`cwd`), where its command line was typed", here.display()))
    }

    /// Makes sure that there is no server of this name.
    ///
    /// # Errors
    /// There is one, or the files cannot be read.
    pub fn check_free(&self, name: &str) -> Result<(), Fault> {
        if !text_file::exists(&self.target) && self.named.is_some() {
            return Ok(());
        }
        let files = files_of_server(self.named.as_deref(), &self.surroundings, name)
            .map_err(|problems| Fault::configuration(problems.to_string()))?;
        match files.first() {
            None => Ok(()),
            Some(file) => Err(Fault::misused(format!(
                "there is a server `{name}` already, in {}; choose another name, or take that one out with `toolcrib \
                 mcp remove {name}`",
                file.display()
            ))),
        }
    }

    /// The configuration as it would be with the server.
    ///
    /// # Errors
    /// What is wrong with it then, or was before.
    pub fn with(&self, name: &str, server: &Server) -> Result<Loaded, Fault> {
        let refused = |why: &str| Fault::misused(format!("{why}\nnothing was added"));
        let text = self.text()?;
        let loaded = match self.loaded(self.text_with(&text, &[(name, server)])?) {
            Ok(loaded) => loaded,
            Err(problems) => {
                let known = self.loaded(text).err();
                return Err(known.map_or_else(
                    || refused(&what(problems.lines()).join("\n")),
                    |known| Fault::configuration(known.to_string()),
                ));
            }
        };
        let settings = loaded.settings.upstreams.iter().find(|settings| settings.name() == name);
        match settings.and_then(|settings| settings.lacks()) {
            Some(why) => Err(refused(why)),
            None => Ok(loaded),
        }
    }

    /// Writes the servers into the file as it is now, which others may have changed meanwhile: all of them, or none if
    /// it does not bear them.
    ///
    /// # Errors
    /// Why nothing was written.
    pub fn save(&self, new: &[(&str, &Server)]) -> Result<Saved, Fault> {
        let held = hold(&self.target).map_err(Fault::failed)?;
        let before = text_of(&self.target).map_err(Fault::failed)?;
        let (after, problems) = self.check(before.as_deref().unwrap_or_default(), new)?;
        if let Some(problem) = problems.first() {
            return Err(self.failed(problem));
        }
        held.write(&after).map_err(Fault::failed)?;
        Ok(Saved { path: self.target.clone(), before, after })
    }

    /// Makes sure that the configuration as it lies there now can be used, and serves each of these that is not off.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self, new: &[(&str, &Server)]) -> Result<(), Fault> {
        let loaded = self.loaded(self.text()?);
        let loaded = loaded.map_err(|problems| Fault::configuration(problems.to_string()))?;
        for (name, _) in new.iter().filter(|(_, server)| server.enabled != Some(false)) {
            let settings = loaded.settings.upstreams.iter().find(|settings| settings.name() == *name);
            let lacks = settings.map_or(Some("it is not read as a server"), |settings| settings.lacks());
            if let Some(why) = lacks {
                return Err(Fault::failed(format!("mcp.{name}: {why}")));
            }
        }
        Ok(())
    }

    fn text_with(&self, text: &str, new: &[(&str, &Server)]) -> Result<String, Fault> {
        edit::add_servers(text, new).map_err(|why| self.failed(&why))
    }

    fn loaded(&self, text: String) -> Result<Loaded, Problems> {
        load_as_if(self.named.as_deref(), &self.surroundings, &self.target, text)
    }

    /// What is wrong with the later text and was not with the earlier one.
    pub(crate) fn new_problems(&self, before: &str, after: &str) -> Vec<String> {
        let problems = |text: &str| what(&lines(&self.loaded(text.to_owned())));
        let mut wrong = problems(after);
        if !wrong.is_empty() {
            let known = problems(before);
            wrong.retain(|problem| !known.contains(problem));
        }
        wrong
    }

    pub(crate) fn failed(&self, why: &str) -> Fault {
        Fault::failed(format!("{}: {why}; nothing was added", self.target.display()))
    }
}

impl Target for Draft {
    fn path(&self) -> &Path {
        &self.target
    }

    fn text(&self) -> Result<String, Fault> {
        Ok(text_of(&self.target).map_err(Fault::failed)?.unwrap_or_default())
    }

    /// Nothing counts that was wrong without them, such as a variable that is not set here.
    fn check(&self, text: &str, new: &[(&str, &Server)]) -> Result<(String, Vec<String>), Fault> {
        let after = self.text_with(text, new)?;
        let problems = self.new_problems(text, &after);
        Ok((after, problems))
    }
}

fn lines(loaded: &Result<Loaded, Problems>) -> Vec<String> {
    loaded.as_ref().err().map(|problems| problems.lines().to_vec()).unwrap_or_default()
}

/// Problems without their places, which are in a text that nobody has written.
fn what(problems: &[String]) -> Vec<String> {
    problems.iter().map(|line| without_place(line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# mine\n";

    /// What becomes of the file, or what is said, if it is changed while the new server is tested.
    #[track_caller]
    fn check(env: &str, meanwhile: Option<&str>, expected: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("toolcrib.toml");
        let write = |text: &str| hold(&file).and_then(|held| held.write(text)).expect("writable");
        write(BEFORE);
        let variables = [("HOME".into(), folder.path().into())].into();
        let surroundings =
            Surroundings { current_dir: folder.path().to_owned(), variables, ..Surroundings::default() };
        let failed = |fault: Fault| fault.to_string();
        let draft = Draft::new(Some(&file), surroundings).map_err(failed).expect("a draft");
        let mut server = Server { command: Some("x".to_owned()), ..Server::default() };
        server.env.insert("A".to_owned(), env.to_owned());
        let saved = draft.with("new", &server).and_then(|_| {
            meanwhile.iter().for_each(|text| write(text));
            draft.save(&[("new", &server)]).map(drop)
        });
        let now = text_of(&file).expect("readable").expect("it is there");
        if saved.is_err() {
            assert_eq!(now, meanwhile.unwrap_or(BEFORE), "nothing was changed");
        }
        let said = saved.map_err(failed).map_or_else(|said| said, |()| now);
        assert_eq!(said.replace(&file.display().to_string(), "FILE"), expected);
    }

    #[test]
    fn what_others_wrote_meanwhile_stays() {
        let table = "[mcp.new]\ncommand = \"x\"\nenv = { A = \"1\" }\n";
        check("1", None, &format!("# mine\n\n{table}"));
        check("1", Some("# yours\n"), &format!("# yours\n\n{table}"));
        check("1", Some("mcp.a.command = \"x\"\n"), &format!("mcp.a.command = \"x\"\n\n{table}"));
        check(
            "1",
            Some("[mcp.new]\ncommand = \"other\"\n"),
            "FILE: it has a server \"new\" already; nothing was added",
        );
        check(
            "1",
            Some("[mcp.new\n"),
            "FILE: line 1, column 9: this is no TOML: unclosed table, expected `]`; nothing was added",
        );
        // What others broke is not the newcomer's fault.
        check("1", Some("[sever]\n"), &format!("[sever]\n\n{table}"));
    }

    #[test]
    fn what_was_saved_can_be_taken_back() {
        for (before, meanwhile, expected) in [
            (Some(BEFORE), None, Some(BEFORE)),
            (None, None, None),
            (Some(BEFORE), Some("# yours\n"), Some("# yours\n")),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let file = folder.path().join("toolcrib.toml");
            let write = |text: &str| hold(&file).and_then(|held| held.write(text)).expect("writable");
            before.iter().for_each(|text| write(text));
            let variables = [("HOME".into(), folder.path().into())].into();
            let surroundings =
                Surroundings { current_dir: folder.path().to_owned(), variables, ..Surroundings::default() };
            let draft = Draft::new(Some(&file), surroundings).expect("a draft");
            let server = Server { command: Some("x".to_owned()), ..Server::default() };
            let saved = draft.save(&[("new", &server)]).expect("it can be saved");
            draft.verify(&[("new", &server)]).expect("it is there");
            assert!(draft.verify(&[("other", &server)]).is_err(), "nobody wrote it");
            meanwhile.iter().for_each(|text| write(text));
            assert_eq!(saved.undo().is_ok(), meanwhile.is_none());
            assert_eq!(text_of(&file).expect("readable").as_deref(), expected);
            assert!(meanwhile.is_some() || draft.verify(&[("new", &server)]).is_err(), "it is gone");
        }
    }

    #[test]
    fn what_is_wrong_with_a_new_server_has_no_place() {
        check(
            "${env:NONE}",
            None,
            "mcp.new.env.A: the environment variable NONE is not set\nnothing was added",
        );
    }
}
