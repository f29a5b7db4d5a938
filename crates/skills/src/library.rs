//! `Library`: the skills of several folders. The first folder that has a name has it; each skill stands for itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sandbox::{Access, Inside, Kind, Root, text_file};
use serde_json::Map;
use tool_api::{SKILL_FILE, Skill, SkillSummary, Skills, ToolError, near_names};

use crate::front_matter::{NAME_RULE, is_name};
use crate::skill_folder;

/// Most skills of one folder: their names and descriptions are read by every agent.
const SKILLS_MAX: usize = 128;

/// The same of a project's: all their files are read at each start, before anybody has agreed to them.
const PROJECTS_MAX: usize = 32;

/// Bytes of all a project's skills together.
const PROJECTS_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How many are named to whoever asked for one that is not there.
const NAMED_MAX: usize = 20;

/// Whether a skill may be used, which is asked each time it is read; else why not, in a sentence for a model.
pub type Agreed = Arc<dyn Fn(&Skill) -> Result<(), String> + Send + Sync>;

/// A folder that has a folder for each skill.
#[derive(Clone)]
pub struct Place {
    /// Where it lies.
    pub folder: PathBuf,
    /// Whose skills need an agreement, which holds for their content; nothing where whoever runs us wrote them.
    pub agreed: Option<Agreed>,
}

/// The skills that were found.
#[derive(Clone, Default)]
pub struct Library {
    places: Arc<BTreeMap<String, (Place, PathBuf)>>,
    list: Arc<[SkillSummary]>,
    /// What is wrong with those that cannot be used: a sentence each, which begins with the file.
    pub problems: Vec<String>,
    /// Those that wait for an agreement.
    pub held: Vec<Skill>,
}

impl Library {
    /// The skills of these folders, as they are now. Blocks on the disk.
    pub fn read(places: &[Place]) -> Library {
        let mut library = Library::default();
        let (mut found, mut list) = (BTreeMap::new(), BTreeMap::new());
        let mut left = PROJECTS_BYTES_MAX;
        for place in places {
            let folders = folders(place, &mut library.problems);
            for folder in folders {
                match library.judged(place, &folder, &mut left) {
                    Err(why) => {
                        library.problems.push(format!("{}: {why}", folder.join(SKILL_FILE).display()));
                    }
                    Ok(Some(summary)) if !found.contains_key(&*summary.name) => {
                        found.insert(summary.name.to_string(), (place.clone(), folder));
                        list.insert(summary.name.clone(), summary);
                    }
                    Ok(_) => {}
                }
            }
        }
        library.places = Arc::new(found);
        library.list = list.into_values().collect();
        library
    }

    /// What is listed of the skill in a folder; nothing if it waits. `left` bytes may be read before anybody agrees.
    fn judged(
        &mut self,
        place: &Place,
        folder: &Path,
        left: &mut u64,
    ) -> Result<Option<SkillSummary>, String> {
        let Some(agreed) = &place.agreed else {
            let head = skill_folder::head(folder)?;
            return Ok(Some(SkillSummary {
                is_for_models: head.is_for_models(),
                is_for_people: head.is_for_people(),
                name: head.name.into(),
                description: head.description.into(),
            }));
        };
        within(place, folder)?;
        let (skill, _) = skill_folder::read(folder, None, *left)?;
        *left -= skill.files.iter().map(|file| file.bytes).sum::<u64>();
        if agreed(&skill).is_err() {
            self.held.push(Skill { body: String::new(), fields: Map::new(), ..skill });
            return Ok(None);
        }
        let Skill { name, description, is_for_models, is_for_people, .. } = skill;
        Ok(Some(SkillSummary { name, description, is_for_models, is_for_people }))
    }

    /// Whether both have the same skills from the same folders.
    pub fn is_like(&self, other: &Library) -> bool {
        let places = |library: &Library| {
            let of = |(name, (place, folder)): (&String, &(Place, PathBuf))| {
                (name.clone(), folder.clone(), place.agreed.is_some())
            };
            library.places.iter().map(of).collect::<Vec<_>>()
        };
        self.list == other.list && places(self) == places(other)
    }

    fn unknown(&self, name: &str) -> ToolError {
        let shown =
            if is_name(name) { format!("no skill `{name}`") } else { "no skill of this name".to_owned() };
        // One that is for people alone is no answer to a model.
        let known = self.list.iter().filter(|skill| skill.is_for_models).map(|skill| &*skill.name);
        let known: Vec<&str> = known.collect();
        let named = known.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let hint = match &near_names(name, known.iter().copied())[..] {
            _ if known.is_empty() => "there are no skills here".to_owned(),
            [] if known.len() <= NAMED_MAX => format!("there are {named}"),
            [] => format!("there are {named} and {} more", known.len() - NAMED_MAX),
            near => format!("the nearest are {}", near.join(", ")),
        };
        ToolError::new("unknown_skill", format!("there is {shown}; {hint}"))
    }
}

impl Skills for Library {
    fn list(&self) -> Arc<[SkillSummary]> {
        self.list.clone()
    }

    fn read(&self, name: &str, wanted: Option<&str>) -> Result<(Skill, Option<Vec<u8>>), ToolError> {
        let (place, folder) = self.places.get(name).ok_or_else(|| self.unknown(name))?;
        let unusable =
            |why| ToolError::new("skill_unusable", format!("the skill `{name}` cannot be used: {why}"));
        if place.agreed.is_some() {
            within(place, folder).map_err(unusable)?;
        }
        let (skill, file) = skill_folder::read(folder, wanted, u64::MAX).map_err(unusable)?;
        if let Some(agreed) = &place.agreed {
            agreed(&skill).map_err(unusable)?;
        }
        Ok((skill, file))
    }
}

/// A project's skills lie in it, wherever links lead.
fn within(place: &Place, folder: &Path) -> Result<(), String> {
    match text_file::real(folder).starts_with(text_file::real(&place.folder)) {
        true => Ok(()),
        false => Err("a link leads out of the folder of skills".to_owned()),
    }
}

/// The folders in it that have a skill, in the order of their names. In a project no link is followed.
fn folders(place: &Place, problems: &mut Vec<String>) -> Vec<PathBuf> {
    let folder = &place.folder;
    if !text_file::exists(folder) {
        return Vec::new();
    }
    let root = Root::open(folder, Access::Read).map_err(|error| error.to_string());
    let entries = root.and_then(|root| {
        root.folder(&Inside::root()).and_then(|folder| folder.entries()).map_err(|error| error.to_string())
    });
    let entries = match entries {
        Ok(entries) => entries,
        Err(why) => {
            problems.push(format!("{} cannot be read: {why}", folder.display()));
            return Vec::new();
        }
    };
    let is_meant = |kind| kind == Kind::Folder || (kind == Kind::Link && place.agreed.is_none());
    let has_skill = |name: &str| text_file::is_file(&folder.join(name).join(SKILL_FILE));
    let named = entries.iter().filter(|entry| is_meant(entry.kind) && !entry.name.starts_with('.'));
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for entry in named.filter(|entry| has_skill(&entry.name)) {
        match is_name(&entry.name) {
            true => found.push(folder.join(&entry.name)),
            false => wrong.push(&entry.name),
        }
    }
    if let Some(first) = wrong.first() {
        let folder = folder.display();
        problems.push(format!("{folder}: {first:?} can be no skill: its name must have {NAME_RULE}"));
    }
    let most = if place.agreed.is_some() { PROJECTS_MAX } else { SKILLS_MAX };
    if let Some(first) = found.get(most) {
        let first = first.display();
        problems.push(format!("{first}: more than {most} skills; it and those behind it are left out"));
        found.truncate(most);
    }
    found
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "prepares folders from outside")]
mod tests;
