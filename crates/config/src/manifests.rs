//! What files describe beside the user's own configuration and in a project: tools in folders of manifests, and skills; and what
//! is wrong with those that describe none. Each file stands for itself: a wrong one takes none of the others away.

mod project;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ::skills::Library;
use admin::folders::HeldBack;
use declared::{Beside, Format, KeptSecrets, Manifest};
use sandbox::text_file;
use serde_json::{Map, Value};
use tool_api::{AnyTool, Listing};
use upstream::NotFollowed;

use crate::find;
use crate::kept::Kept;
use crate::skills::SkillFolders;
use crate::surroundings::Surroundings;
use project::{Judged, Project};

/// What stands before the name of a tool that refers to something, where the places of a configuration are told.
pub const USED_BY_TOOL: &str = "tool.";

/// The folder, beside the user's own file.
const FOLDER: &str = "tools";

/// How the names of manifests end. The last two are YAML, which has few who keep a library for it: `rules` reads it.
const ENDINGS: [&str; 4] = [".toml", ".json", ".yaml", ".yml"];

/// A tool is described in a page; more is the wrong file.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// More tools than a model can choose from; and each start reads them all.
const MANIFESTS_MAX: usize = 256;

/// The names of our own tools, also of those that are not on offer.
static BUILT_IN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let tools = tools::all(&tools::Set::ALL, tools::Budgets::default(), &tools::SearchSettings::default());
    tools.iter().map(|tool| tool.definition().name.to_string()).collect()
});

/// The tools that files describe, and where those lie.
#[derive(Clone, Default)]
pub struct Manifests {
    /// Nothing for who has no home.
    pub(crate) folder: Option<PathBuf>,
    /// True where nobody looks there: a file of the configuration that was named stands alone.
    is_passed_over: bool,
    /// What the names of other tools begin with, by the server that has them.
    prefixes: BTreeMap<String, String>,
    /// Whose manifests wait for a person's agreement, if there are such.
    project: Option<Project>,
    /// Where secrets are kept that requests send.
    secrets: Option<Arc<dyn KeptSecrets>>,
    skill_folders: SkillFolders,
    /// Those of them that were there at the last look.
    watched_skills: Vec<PathBuf>,
    /// The skills.
    pub skills: Library,
    /// Those of sound manifests, in the order of their files.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// What is wrong with the others: a sentence each, that begins with the file.
    pub problems: Vec<String>,
    /// Those of a project to which no person has agreed.
    pub held: Vec<HeldBack>,
}

/// Kept secrets, for the hosts that a person has bound them to.
struct ForHosts(Kept);

impl KeptSecrets for ForHosts {
    fn for_host(&self, name: &str, host: &str) -> Result<String, String> {
        // Opened anew, since one may have been set meanwhile.
        let kept = self.0.clone();
        let value = kept.value(name).map_err(|why| match why {
            NotFollowed::Wrong(why) => why,
            // It is opened at each call, so nothing need be read anew.
            NotFollowed::Missing(_) => {
                kept.missing(name, &format!("toolcrib secrets set {name} --for {host}"))
            }
        })?;
        match self.0.is_for(name, "", Some(host.to_owned()))? {
            true => Ok(value),
            false => Err(format!(
                "the kept secret {name} is not for {host}; let it be sent there with `toolcrib secrets set {name} --for {host}`"
            )),
        }
    }
}

impl Manifests {
    /// Where they lie, with these folders of skills besides; none has been read.
    pub(crate) fn unread(surroundings: &Surroundings, skills: &[PathBuf]) -> Manifests {
        let folder = surroundings.config_folder().map(|folder| folder.join(FOLDER));
        let skill_folders = SkillFolders::of_user(surroundings, skills);
        Manifests { folder, skill_folders, ..Manifests::default() }
    }

    /// Those of a user who has these servers and folders of `skills`, and whose agreements and secrets are `kept`, and those of the
    /// project.
    pub(crate) fn read(
        named: Option<&Path>,
        surroundings: &Surroundings,
        upstreams: &[upstream::Settings],
        skills: &[PathBuf],
        kept: &Kept,
    ) -> Manifests {
        let is_passed_over = find::named(named, surroundings).is_some();
        let servers = upstreams.iter().filter(|upstream| !upstream.prefix().is_empty());
        let prefixes = servers.map(|upstream| (upstream.prefix().to_owned(), upstream.name().to_owned()));
        let (prefixes, project) = (prefixes.collect(), Project::found(surroundings, kept.state()));
        let project = project.filter(|_| !is_passed_over);
        let secrets = Some(Arc::new(ForHosts(kept.clone())) as Arc<dyn KeptSecrets>);
        let skill_folders = match is_passed_over {
            true => SkillFolders::default(),
            false => SkillFolders::found(surroundings, skills, kept.state()),
        };
        let unread = Manifests::unread(surroundings, skills);
        Manifests { is_passed_over, prefixes, project, secrets, skill_folders, ..unread }.again()
    }

    /// This tool and no other, from no folder.
    pub fn only(tool: Arc<dyn AnyTool>) -> Manifests {
        Manifests { tools: vec![tool], ..Manifests::default() }
    }

    /// How many files describe no tool for what is wrong with them: each has a sentence or several.
    pub fn wrong_files(&self) -> usize {
        let file = |why: &'_ String| why.split_once(": ").map_or(why.clone(), |(file, _)| file.to_owned());
        self.problems.iter().map(file).collect::<BTreeSet<_>>().len()
    }

    /// The kept secrets that its tools send, each with the tool, as `tool.issue`.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = (&str, String)> {
        self.tools.iter().flat_map(|tool| {
            let (name, listing) = (&tool.definition().name, &tool.definition().listing);
            let sent = match listing {
                Listing::Declared(described) => &described.secrets[..],
                Listing::Ours(_) | Listing::Relayed(_) => &[],
            };
            sent.iter().map(move |secret| (secret.as_str(), format!("{USED_BY_TOOL}{name}")))
        })
    }

    /// The user's folder, if its files are obeyed.
    pub fn own_folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.is_passed_over)
    }

    /// The user's folders of skills.
    pub(crate) fn skill_folders(&self) -> &[PathBuf] {
        self.skill_folders.own()
    }

    /// Every folder whose changes change them.
    pub fn watched(&self) -> Vec<PathBuf> {
        let project = self.project.as_ref().map(|project| project.tools.as_path());
        let of_tools = self.own_folder().into_iter().chain(project).map(Path::to_owned);
        of_tools.chain(self.watched_skills.iter().cloned()).collect()
    }

    /// The folders, without links, of which a person agrees to what their files describe.
    pub(crate) fn declaring_folders(&self) -> impl Iterator<Item = PathBuf> {
        let of_tools = self.project.as_ref().map(|project| project.folder.clone());
        of_tools.into_iter().chain(self.skill_folders.declaring_folders())
    }

    /// The same, as the files are now. Blocks on the disk.
    #[must_use]
    pub fn again(&self) -> Manifests {
        let (skills, held) = self.skill_folders.library();
        let (tools, problems) = Default::default();
        let watched_skills = self.skill_folders.watched().collect();
        let mut manifests = Manifests { tools, problems, held, skills, watched_skills, ..self.clone() };
        let mut names = BTreeMap::new();
        let own = self.own_folder().map(|folder| manifests.of_folder(folder, &mut names));
        manifests.tools.extend(own.into_iter().flatten().map(|(_, tool)| tool));
        // Behind the user's: no name of theirs is a project's.
        let Some(project) = &self.project else { return manifests };
        let consent = project.consent();
        for (path, tool) in manifests.of_folder(&project.tools, &mut names) {
            match project.judged(&path, &*tool, &consent) {
                Judged::Agreed => manifests.tools.push(tool),
                Judged::Held(held) => manifests.held.push(held),
                Judged::Wrong(why) => manifests.problems.push(format!("{}: {why}", path.display())),
            }
        }
        manifests
    }

    /// The tools of the sound files of a folder; what is wrong with the others is kept. No name is had twice.
    fn of_folder(
        &mut self,
        folder: &Path,
        names: &mut BTreeMap<String, PathBuf>,
    ) -> Vec<(PathBuf, Arc<dyn AnyTool>)> {
        let files = match files(folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.problems.push(format!("{} cannot be read: {error}", folder.display()));
                return Vec::new();
            }
        };
        match text_file::folder_exposure(folder) {
            Ok(None) => {}
            Ok(Some(why)) => {
                self.problems.push(format!("{why}; none of its manifests is obeyed until then"));
                return Vec::new();
            }
            Err(error) => {
                self.problems.push(format!("{} cannot be looked at: {error}", folder.display()));
                return Vec::new();
            }
        }
        if let Some(first) = files.get(MANIFESTS_MAX) {
            let why = format!(
                "{}: more than {MANIFESTS_MAX} manifests; it and those behind it are left out",
                first.display()
            );
            self.problems.push(why);
        }
        let mut tools = Vec::new();
        for path in files.into_iter().take(MANIFESTS_MAX) {
            match self.accepted(&path, names) {
                Ok(tool) => {
                    names.insert(tool.definition().name.as_str().to_owned(), path.clone());
                    tools.push((path, tool));
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        tools
    }

    /// The tool of one file, unless one of `others` has its name.
    fn accepted(
        &self,
        path: &Path,
        others: &BTreeMap<String, PathBuf>,
    ) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let tool = self.check(path)?;
        match others.get(tool.definition().name.as_str()) {
            None => Ok(tool),
            Some(other) => Err(vec![format!("{}: id: {} has it already", path.display(), other.display())]),
        }
    }

    /// The tool that a file describes, wherever it lies.
    ///
    /// # Errors
    /// Everything that is wrong with it, each in a sentence that begins with the file.
    pub fn check(&self, path: &Path) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let told = |problems: Vec<String>| {
            problems.into_iter().map(|why| format!("{}: {why}", path.display())).collect::<Vec<_>>()
        };
        if !ENDINGS.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            let near = self.named(path).map(|file| format!("; there is {}", file.display()));
            let why = format!("a manifest ends with {}{}", ENDINGS.join(", "), near.unwrap_or_default());
            return Err(told(vec![why]));
        }
        let text = match text_file::read_own(path, MANIFEST_BYTES_MAX) {
            Ok(Ok(text)) => text,
            Ok(Err(exposed)) => {
                // It may have been mended in this moment.
                let told_of = text_file::exposure(path).ok().flatten();
                return Err(vec![told_of.unwrap_or_else(|| format!("{}: it {exposed}", path.display()))]);
            }
            Err(error) => return Err(told(vec![format!("it cannot be read: {error}")])),
        };
        let folder = text_file::real(path);
        let (text, format) = match Format::of(path) {
            Some(format) => (text, format),
            None => (rules::yaml_as_json(&text).map_err(|why| told(vec![why]))?.to_string(), Format::Value),
        };
        let folder = folder.parent().unwrap_or(path);
        self.tool(&text, format, folder).map_err(told)
    }

    /// The user's own manifest that has this name, for who has typed a tool's name in place of a file's.
    fn named(&self, name: &Path) -> Option<PathBuf> {
        let is_plain = name.components().count() == 1;
        let folder = self.own_folder().filter(|_| is_plain)?;
        let files = ENDINGS.iter().map(|ending| folder.join(format!("{}{ending}", name.display())));
        files.into_iter().find(|file| text_file::is_file(file))
    }

    /// The tool that a text in JSON describes, as if it lay in the folder of manifests.
    ///
    /// # Errors
    /// Everything that is wrong with it, each in a sentence.
    pub fn check_json(&self, text: &str) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let folder = self.folder.as_deref().unwrap_or_else(|| Path::new("/"));
        self.tool(text, Format::Value, folder)
    }

    /// The tool that a text describes, as if it lay in this folder.
    fn tool(&self, text: &str, format: Format, folder: &Path) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let also = |manifest: &Manifest| -> Vec<String> {
            self.hides(&manifest.id).into_iter().chain(misfits(manifest)).collect()
        };
        declared::tool(text, format, Beside { folder, secrets: self.secrets.clone(), also: Some(&also) })
    }

    /// Why a name is not a manifest's own: people and rules would take it for another's.
    pub fn hides(&self, name: &str) -> Option<String> {
        if BUILT_IN.contains(name) {
            return Some(format!("id: {name:?} is a tool of ours; choose another"));
        }
        let is_its = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'));
        let (prefix, server) = self.prefixes.iter().find(|(prefix, _)| is_its(prefix))?;
        Some(format!(
            "id: {name:?} reads as a tool of the server {server:?}, whose tools begin with {prefix:?}; choose another"
        ))
    }
}

/// What does not fit together in it: its schemas with what a schema is, and its examples with them.
fn misfits(manifest: &Manifest) -> Vec<String> {
    let examples: Vec<Value> = manifest.example_invocations.iter().cloned().map(Value::Object).collect();
    let faults = |schema: &Map<String, Value>, examples: &[Value]| {
        let schema = Value::Object(schema.clone()).to_string();
        gate::schema::faults(schema.as_bytes(), examples).err()
    };
    let inputs = faults(&manifest.inputs, &examples);
    let outputs = manifest.outputs.as_ref().and_then(|outputs| faults(outputs, &[]));
    let keyed = |key: &'static str, faults: Option<Vec<String>>| {
        faults.into_iter().flatten().map(move |why| format!("{key}: {why}"))
    };
    keyed("inputs", inputs).chain(keyed("outputs", outputs)).collect()
}

/// The manifests of a folder, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for ending in ENDINGS {
        files.extend(text_file::with_ending(folder, ending)?);
    }
    files.retain(|path| !is_hidden(path));
    files.sort();
    Ok(files)
}

/// What an editor keeps beside a file that it writes.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The JSON Schema of a manifest, for editors.
pub fn manifest_schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<declared::Manifest>().to_value()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "prepares a home from outside")]
mod tests;
