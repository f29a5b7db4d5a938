//! Where skills are looked for, and whose need a person's agreement.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::skills::{Library, Place};
use admin::folders::{Agreement, Declaration, HeldBack, Line};
use sandbox::text_file;
use tool_api::Skill;

use crate::consent::{Consent, FolderConsent};
use crate::find;
use crate::surroundings::Surroundings;

/// The folder beside the user's own file.
const FOLDER: &str = "skills";

/// Those of other agents' in the user's home.
const OF_HOME: [&str; 2] = [".claude/skills", ".agents/skills"];

/// Those of a project.
const OF_PROJECT: [&str; 3] = [".toolcrib/skills", ".claude/skills", ".agents/skills"];

/// The folders that skills are looked for in, the ones that win a name first.
#[derive(Clone, Default)]
pub(crate) struct SkillFolders {
    projects: Vec<OfProject>,
    own: Vec<PathBuf>,
}

/// A folder of skills that a project has.
#[derive(Clone)]
struct OfProject {
    /// How it is called in the project.
    name: &'static str,
    folder: PathBuf,
    /// The project's own folder, without links.
    project: PathBuf,
    consent: Consent,
}

impl SkillFolders {
    /// Those of the user alone, with `more` that their settings name.
    pub(crate) fn of_user(surroundings: &Surroundings, more: &[PathBuf]) -> SkillFolders {
        let of_config = surroundings.config_folder().map(|folder| folder.join(FOLDER));
        let of_home = surroundings.home().into_iter().flat_map(|home| OF_HOME.map(|name| home.join(name)));
        let own = of_config.into_iter().chain(of_home).chain(more.iter().cloned()).collect();
        SkillFolders { projects: Vec::new(), own }
    }

    /// Those of whoever starts here, with `more` that their settings name, for a user whose agreements are in `state`.
    pub(crate) fn found(surroundings: &Surroundings, more: &[PathBuf], state: &Path) -> SkillFolders {
        let SkillFolders { own, .. } = SkillFolders::of_user(surroundings, more);
        let consent = match surroundings.flags.trust_folder {
            true => Consent::ForThisRun,
            false => Consent::KeptIn(Some(state.to_owned())),
        };
        let found = OF_PROJECT.into_iter().filter_map(|name| {
            let folder = find::project_skills(surroundings, name, &own)?;
            let project = text_file::real(folder.parent()?.parent()?);
            // A link may lead to what is somebody else's.
            let is_inside = text_file::real(&folder).starts_with(&project);
            is_inside.then(|| OfProject { name, folder, project, consent: consent.clone() })
        });
        let projects = found.collect();
        SkillFolders { projects, own }
    }

    /// Those of the user, whose skills need nobody's agreement.
    pub(crate) fn own(&self) -> &[PathBuf] {
        &self.own
    }

    /// Those that are there, to be watched.
    pub(crate) fn watched(&self) -> impl Iterator<Item = PathBuf> {
        let projects = self.projects.iter().map(|found| &found.folder);
        projects.chain(&self.own).filter(|folder| text_file::exists(folder)).cloned()
    }

    /// The projects whose skills a person agrees to.
    pub(crate) fn declaring_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.projects.iter().map(|found| found.project.clone())
    }

    /// The skills, and those that wait. Blocks on the disk.
    pub(crate) fn library(&self) -> (Library, Vec<HeldBack>) {
        let own = self.own.iter().map(|folder| Place { folder: folder.clone(), agreed: None });
        let places: Vec<Place> = self.projects.iter().map(OfProject::place).chain(own).collect();
        let library = Library::read(&places);
        let held = library.held.iter().filter_map(|skill| {
            let found = self.projects.iter().find(|found| skill.folder.starts_with(&found.folder))?;
            let declaration = found.declaration(skill);
            let why = found.consent.of_folder(&found.project).to(&declaration);
            Some(HeldBack { declaration, why })
        });
        let held = held.collect();
        (library, held)
    }
}

impl OfProject {
    fn place(&self) -> Place {
        let of_project = self.clone();
        let agreed = move |skill: &Skill| {
            let consent: FolderConsent = of_project.consent.of_folder(&of_project.project);
            match consent.to(&of_project.declaration(skill)) {
                Agreement::Given { .. } => Ok(()),
                Agreement::Changed { .. } => Err(wanted("it has changed since a person agreed to it")),
                Agreement::Unknown => Err(wanted("no person has agreed to it")),
                Agreement::Unreadable(why) => {
                    Err(format!("what a person has agreed to cannot be read: {why}"))
                }
            }
        };
        Place { folder: self.folder.clone(), agreed: Some(Arc::new(agreed)) }
    }

    fn declaration(&self, skill: &Skill) -> Declaration {
        let bytes: u64 = skill.files.iter().map(|file| file.bytes).sum();
        let lines = [
            format!("tells agents how to: {}", skill.description),
            format!("files: {}, with {bytes} bytes, in {}", skill.files.len(), skill.folder.display()),
        ];
        Declaration {
            folder: self.project.clone(),
            key: format!("{} skill.{}", self.name, skill.name),
            place: format!("{}/{}", self.name, skill.name),
            sha256: skill.sha256.clone(),
            lines: lines.map(|line| Line { shown: line.clone(), kept: line }).into(),
            secrets: Vec::new(),
        }
    }
}

fn wanted(why: &str) -> String {
    format!("{why}; `toolcrib trust` shows it and asks")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "prepares a home from outside")]
mod tests;
