//! The configuration: found, read, checked, resolved. In two steps: [`file::File`] is what was written,
//! [`Settings`] is what it means. All problems are told at once, each with its line and column.

mod check;
pub(crate) mod consent;
mod declaration;
mod file;
pub(crate) mod find;
mod folder;
pub(crate) mod held;
mod instructions;
pub(crate) mod problem;
pub(crate) mod read;
mod reference;
mod secret;
mod settings;
mod show;
mod surroundings;
pub(crate) mod text_file;
mod tighten;
mod tree;
mod trial;
mod uses;
mod workspaces;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::secrets::{Kept, Learner};
use consent::Consent;

pub(crate) use consent::Agreement;
pub(crate) use declaration::Declaration;
#[cfg(test)]
pub(crate) use declaration::Line;
pub(crate) use folder::HeldBack;
pub(crate) use reference::Unfollowed;
pub(crate) use secret::{MASK, without_credentials_in};
pub(crate) use settings::Settings;
pub(crate) use surroundings::{Flags, Surroundings};
pub(crate) use trial::{files_of_server, load_as_if, text_of};
pub(crate) use uses::Uses;

pub(crate) use problem::line_and_column;
use problem::{Problem, Problems, Source};
use settings::Settling;
use show::Show;
use tree::Node;

/// Overrides the level of the log.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

/// The sections that decide about the upstreams, and take effect when they are read again.
const OF_UPSTREAMS: [&str; 2] = ["mcp", "experimental"];

/// What else takes effect when it is read again; the other sections do at the next start.
const TAKEN_UP: [&str; 11] = [
    "[policy]",
    "[rules]",
    "[limits]",
    "[approvals]",
    "[redaction]",
    "[identity]",
    "[telemetry]",
    "[audit]",
    "[secrets]",
    "[workspaces]",
    "server.open_on_loopback",
];

/// A key that is taken up by itself.
const KEY_APART: [&str; 2] = ["server", "open_on_loopback"];

/// A configuration with nothing wrong in it.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// Has told the redactor what it is to strike out, once the log is begun.
    pub(crate) learner: Arc<Learner>,
    /// The text of TOOLCRIB_LOG.
    pub(crate) log_override: Option<String>,
    /// What a folder's file says in vain, and which file of it is not obeyed, in a sentence with its place each.
    pub(crate) passed_over: Vec<String>,
    /// What a folder declares that a person must agree to first.
    pub(crate) held: Vec<HeldBack>,
    /// The folders whose files were read, without links.
    pub(crate) folders: Vec<PathBuf>,
    /// What it was read with.
    pub(crate) surroundings: Surroundings,
    sources: Vec<Source>,
    tree: Node,
}

/// Loads the configuration in effect: the file that was named, or those that are found.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn load(
    named: Option<&Path>,
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<Loaded, Problems> {
    let found = find::find(named, surroundings)?;
    let loaded = loaded(found.sources, surroundings, unfollowed)?;
    Ok(Loaded { passed_over: found.refused.into_iter().chain(loaded.passed_over).collect(), ..loaded })
}

/// The secrets that are kept, and what refers to them, whatever else is wrong with the configuration: one that refers to
/// a missing secret cannot be used before that is set.
///
/// # Errors
/// If it is no TOML, or what is wrong with `[state]` and `[secrets]`.
pub(crate) fn kept(named: Option<&Path>, surroundings: &Surroundings) -> Result<(Kept, Uses), Problems> {
    let found = find::find(named, surroundings)?;
    // What is wrong with a folder's file stands in nobody's way who only looks after what is kept.
    kept_by(&found.sources, surroundings).or_else(|_| {
        let own: Vec<Source> = found.sources.into_iter().filter(|source| !source.is_projects).collect();
        kept_by(&own, surroundings).map_err(|problems| Problems::new(&own, problems))
    })
}

fn kept_by(sources: &[Source], surroundings: &Surroundings) -> Result<(Kept, Uses), Vec<Problem>> {
    let read::Read { tree, .. } = read::tree(sources, surroundings, &consent(sources, surroundings)?)?;
    let (file, _) = read::file(&tree);
    let mut settling = Settling::new(&tree, sources, surroundings);
    let kept = settling.kept(&file).ok_or(settling.problems)?;
    Ok((kept, Uses::of(&tree, sources)))
}

fn loaded(
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
    (settling.unfollowed, settling.folders) = (unfollowed, Some(&read.folders.servers));
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
    let users = read::users(sources)?;
    let (file, _) = read::file(&users);
    let state = Settling::new(&users, sources, surroundings).state(file.state.dir.as_deref());
    Ok(Consent::KeptIn(state))
}

/// The JSON Schema of a configuration file.
pub(crate) fn schema() -> Value {
    read::schema()
}

/// What is written in the sections but those of the upstreams, as `[name]` or `section.key`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sections(BTreeMap<String, Value>);

impl Sections {
    /// Those that read differently in `other`, in the order of their names: the ones that are taken up when they are
    /// read again, or the others.
    pub(crate) fn differing(&self, other: &Sections, taken_up: bool) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differs = |name: &&String| {
            TAKEN_UP.contains(&name.as_str()) == taken_up && self.0.get(*name) != other.0.get(*name)
        };
        names.into_iter().filter(differs).cloned().collect()
    }

    /// Those that a workspace holds to from its start, whatever is read later, as text to be compared.
    pub(crate) fn of_start(&self) -> String {
        format!("{:?}", ["[tools]", "[workspace]"].map(|name| self.0.get(name)))
    }
}

/// What a configuration came to, to be compared and not shown.
#[derive(Clone, PartialEq)]
pub(crate) struct Reading {
    tree: Value,
    secrets: Vec<(Arc<str>, Arc<str>)>,
}

impl Loaded {
    /// What is written in the sections.
    pub(crate) fn sections(&self) -> Sections {
        let Value::Object(mut sections) = self.tree.to_json() else { return Sections(BTreeMap::new()) };
        let [section, key] = KEY_APART;
        let keys = sections.get_mut(section).and_then(Value::as_object_mut);
        let apart = keys.and_then(|keys| keys.remove(key)).map(|value| (KEY_APART.join("."), value));
        // A section in which nothing is left says no more than one that is not there.
        sections.retain(|name, section| {
            !OF_UPSTREAMS.contains(&&**name) && section.as_object().is_none_or(|section| !section.is_empty())
        });
        let whole = sections.into_iter().map(|(name, section)| (format!("[{name}]"), section));
        Sections(whole.chain(apart).collect())
    }

    /// All that is written and all that it refers to, to see whether it reads differently than before.
    pub(crate) fn reading(&self) -> Reading {
        let secrets = self.settings.secrets.iter().map(|known| (known.name.clone(), known.value.clone()));
        Reading { tree: self.tree.to_json(), secrets: secrets.collect() }
    }

    /// The files that were read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.sources.iter().map(|source| &source.path)
    }

    /// What is in effect as TOML, with the place of every value and without secrets.
    pub(crate) fn to_toml(&self) -> String {
        self.with_show(|show| show.toml(&self.tree))
    }

    /// The same as a JSON object.
    pub(crate) fn to_json(&self) -> Value {
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
