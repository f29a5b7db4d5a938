//! Loading: the files that are in effect become settings, or everything that is wrong with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::folders::HeldBack;
use serde_json::Value;

use crate::consent::Consent;
use crate::kept::{Kept, Learner};
use crate::manifests::Manifests;
use crate::problem::{self, Problem, Problems, Source};
use crate::reference::Unfollowed;
use crate::settings::{self, Settings, Settling};
use crate::show::Show;
use crate::surroundings::Surroundings;
use crate::tree::{self, Node};
use crate::uses::Uses;
use crate::{find, read};

/// Overrides the level of the log.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

/// A configuration with nothing wrong in it.
pub struct Loaded {
    /// What it means.
    pub settings: Settings,
    /// Has told the redactor what it is to strike out, once the log is begun.
    pub learner: Arc<Learner>,
    /// The text of TOOLCRIB_LOG.
    pub log_override: Option<String>,
    /// What a folder's file says in vain, and which file of it is not obeyed, in a sentence with its place each.
    pub passed_over: Vec<String>,
    /// What a folder declares that a person must agree to first.
    pub held: Vec<HeldBack>,
    /// The folders whose files were read, without links.
    pub folders: Vec<PathBuf>,
    /// What it was read with.
    pub surroundings: Surroundings,
    pub(crate) sources: Vec<Source>,
    pub(crate) tree: Node,
}

/// Loads the configuration in effect: the file that was named, or those that are found.
///
/// # Errors
/// Everything that is wrong.
pub fn load(
    named: Option<&Path>,
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<Loaded, Problems> {
    let found = find::find(named, surroundings)?;
    let loaded = loaded(found.sources, surroundings, unfollowed)?;
    let Settings { upstreams, skills, kept, .. } = &loaded.settings;
    let manifests = Manifests::read(named, surroundings, upstreams, skills, kept);
    let held = loaded.held.into_iter().chain(manifests.held.iter().cloned()).collect();
    let mut folders = loaded.folders;
    for folder in manifests.declaring_folders() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let wrong = manifests.problems.iter().map(|why| format!("{why}; this tool is left out"));
    let skills = manifests.skills.problems.iter().map(|why| format!("{why}; this skill is left out"));
    let wrong = wrong.chain(skills);
    let passed_over = found.refused.into_iter().chain(loaded.passed_over).chain(wrong).collect();
    Ok(Loaded { passed_over, held, folders, settings: loaded.settings.with_manifests(&manifests), ..loaded })
}

/// The secrets that are kept, and what refers to them, whatever else is wrong with the configuration: one that refers to
/// a missing secret cannot be used before that is set.
///
/// # Errors
/// If it is no TOML, or what is wrong with `[state]` and `[secrets]`.
pub fn kept(named: Option<&Path>, surroundings: &Surroundings) -> Result<(Kept, Uses), Problems> {
    let found = find::find(named, surroundings)?;
    // What is wrong with a folder's file stands in nobody's way who only looks after what is kept.
    let (kept, uses) = kept_by(&found.sources, surroundings).or_else(|_| {
        let own: Vec<Source> = found.sources.into_iter().filter(|source| !source.is_projects).collect();
        kept_by(&own, surroundings).map_err(|problems| Problems::new(&own, problems))
    })?;
    // The servers' names keep none of them from sending anything.
    let manifests = Manifests::read(named, surroundings, &[], &[], &kept);
    let uses = uses.and_sent(manifests.secrets());
    Ok((kept, uses))
}

fn kept_by(sources: &[Source], surroundings: &Surroundings) -> Result<(Kept, Uses), Vec<Problem>> {
    let read::Read { tree, .. } = read::tree(sources, surroundings, &consent(sources, surroundings)?)?;
    let (file, _) = read::file(&tree);
    let mut settling = Settling::new(&tree, sources, surroundings);
    let kept = settling.kept(&file).ok_or(settling.problems)?;
    Ok((kept, Uses::of(&tree, sources)))
}

pub(crate) fn loaded(
    sources: Vec<Source>,
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<Loaded, Problems> {
    let (sources, (settings, read), mistaken) = match settle(&sources, surroundings, unfollowed) {
        Ok(settled) => (sources, settled, Vec::new()),
        Err(problems) => without_strangers(sources, problems, surroundings, unfollowed)?,
    };
    let log_override = surroundings.variable(LOG_VARIABLE).map(|text| text.to_string_lossy().into_owned());
    let learner = Arc::new(Learner::new(&settings.redactor));
    let passed_over = passed_over(&sources, &read.folders.passed_over, surroundings);
    let folders = sources.iter().filter(|source| source.is_projects);
    let folders = folders.map(|source| find::declaring_folder(source, surroundings)).collect();
    Ok(Loaded {
        settings,
        learner,
        log_override,
        passed_over: mistaken.into_iter().chain(passed_over).collect(),
        held: read.folders.held,
        folders,
        surroundings: surroundings.clone(),
        sources,
        tree: read.tree,
    })
}

/// The configuration without the folder's files, if one of these has mistakes and nobody has ever agreed to anything of
/// them: a folder that somebody else wrote cannot keep a person's own servers from running. What is wrong is told.
fn without_strangers(
    sources: Vec<Source>,
    problems: Vec<Problem>,
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<(Vec<Source>, Settled, Vec<String>), Problems> {
    let consent = consent(&sources, surroundings);
    let is_strange = |source: &Source| {
        let folder = find::declaring_folder(source, surroundings);
        source.is_projects && consent.as_ref().is_ok_and(|consent| !consent.of_folder(&folder).is_any())
    };
    let strange: Vec<bool> = sources.iter().map(is_strange).collect();
    let is_at_fault =
        |problem: &Problem| problem.place.and_then(|place| strange.get(place.file)).copied().unwrap_or(false);
    if !problems.iter().any(is_at_fault) {
        return Err(Problems::new(&sources, problems));
    }
    let told = Problems::new(&sources, problems);
    let told = told.lines().iter().map(|line| format!("{line}; the folder's files are not obeyed"));
    let told: Vec<String> = told.collect();
    let own: Vec<Source> =
        sources.into_iter().zip(strange).filter(|(_, strange)| !strange).map(|(source, _)| source).collect();
    match settle(&own, surroundings, unfollowed) {
        Ok(settled) => Ok((own, settled, told)),
        Err(problems) => Err(Problems::new(&own, problems)),
    }
}

/// What a folder's file says in vain.
fn passed_over(
    sources: &[Source],
    passed_over: &[(tree::Place, String)],
    surroundings: &Surroundings,
) -> Vec<String> {
    let own = find::user(surroundings);
    let own = own.map_or_else(String::new, |own| format!(", {}", own.display()));
    let line = |(place, keys): &(tree::Place, String)| {
        let place = problem::spot(sources, *place).unwrap_or_default();
        format!(
            "{place}: {keys} is passed over, as it is not for a folder's file to say: what your own file says of it \
             holds, or the default; write it into your own file{own}, or name this one with --config"
        )
    };
    passed_over.iter().map(line).collect()
}

/// A configuration with nothing wrong in it, and how it came about.
type Settled = (Settings, read::Read);

fn settle(
    sources: &[Source],
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<Settled, Vec<Problem>> {
    let consent = consent(sources, surroundings)?;
    let read = read::tree(sources, surroundings, &consent)?;
    let (file, mut problems) = read::file(&read.tree);
    let mut settling = Settling::new(&read.tree, sources, surroundings);
    (settling.unfollowed, settling.folders) = (unfollowed, Some(&read.folders));
    match settings::settle(file, settling) {
        Ok(settings) if problems.is_empty() => Ok((settings, read)),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// Where agreements are looked up: in the state that the user's own file names, whatever a folder's says.
fn consent(sources: &[Source], surroundings: &Surroundings) -> Result<Consent, Vec<Problem>> {
    if surroundings.flags.trust_folder {
        return Ok(Consent::ForThisRun);
    }
    Ok(Consent::KeptIn(state_of(&read::users(sources)?, sources, surroundings)))
}

/// The state folder, whatever is wrong with the configuration beside it: who serves there can be stopped all the same.
///
/// # Errors
/// If a file that is in effect cannot be read, or there is no home to keep the state in.
pub fn state(named: Option<&Path>, surroundings: &Surroundings) -> Result<PathBuf, Problems> {
    let found = find::find(named, surroundings)?;
    let state = state_of(&read::legible(&found.sources), &found.sources, surroundings);
    Ok(state.ok_or(Problem::nowhere("there is no home folder to keep the state in"))?)
}

fn state_of(users: &Node, sources: &[Source], surroundings: &Surroundings) -> Option<PathBuf> {
    let (file, _) = read::file(users);
    Settling::new(users, sources, surroundings).state(file.state.dir.as_deref())
}

/// The JSON Schema of a configuration file.
pub fn schema() -> Value {
    read::schema()
}

impl Loaded {
    /// The files that were read.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.sources.iter().map(|source| &source.path)
    }

    /// What is in effect as TOML, with the place of every value and without secrets.
    pub fn to_toml(&self) -> String {
        self.with_show(|show| show.toml(&self.tree))
    }

    /// The same as a JSON object.
    pub fn to_json(&self) -> Value {
        self.with_show(|show| show.json(&self.tree))
    }

    fn with_show<T>(&self, work: impl FnOnce(&Show<'_>) -> T) -> T {
        let path = |path: &Path| path.display().to_string();
        let effective = BTreeMap::from([
            ("workspace.root", path(&self.settings.workspace)),
            ("state.dir", path(&self.settings.state)),
        ]);
        work(&Show { schema: &schema(), sources: &self.sources, effective })
    }
}

#[cfg(test)]
mod tests;
