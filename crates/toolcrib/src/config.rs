//! The configuration: found, read, checked, resolved. In two steps: [`file::File`] is what was written,
//! [`Settings`] is what it means. All problems are told at once, each with its line and column.

mod check;
pub(crate) mod edit;
mod file;
mod find;
mod held;
mod join;
pub(crate) mod problem;
mod read;
mod reference;
mod secret;
mod settings;
mod show;
mod surroundings;
pub(crate) mod text_file;
mod tree;
mod trial;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::secrets::{Kept, Learner};

pub(crate) use check::nearest;
pub(crate) use reference::Unfollowed;
pub(crate) use secret::{MASK, without_credentials_in};
pub(crate) use settings::Settings;
pub(crate) use surroundings::Surroundings;
pub(crate) use trial::{files_of_server, load_as_if, text_of};
pub(crate) use uses::Uses;

pub(crate) use problem::line_and_column;
use problem::{Problem, Problems, Source};
use show::Show;
use tree::Node;

/// Overrides the level of the log.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

/// The sections that decide about the upstreams, and take effect when they are read again.
const OF_UPSTREAMS: [&str; 2] = ["mcp", "experimental"];

/// The others that take effect when they are read again.
const TAKEN_UP: [&str; 9] =
    ["policy", "rules", "limits", "approvals", "redaction", "identity", "telemetry", "audit", "secrets"];

/// A key that does, of a section whose others take effect at the next start.
const TAKEN_UP_KEY: [&str; 2] = ["server", "open_on_loopback"];

/// A configuration with nothing wrong in it.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// Has told the redactor what it is to strike out, once the log is begun.
    pub(crate) learner: Arc<Learner>,
    /// The text of TOOLCRIB_LOG.
    pub(crate) log_override: Option<String>,
    /// What a project's file says in vain, in a sentence with its place each.
    pub(crate) passed_over: Vec<String>,
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
    let sources = find::find(named, surroundings).map_err(|problem| Problems::new(&[], vec![problem]))?;
    loaded(sources, surroundings, unfollowed)
}

/// The secrets that are kept, and what refers to them, whatever else is wrong with the configuration: one that refers to
/// a missing secret cannot be used before that is set.
///
/// # Errors
/// If it is no TOML, or what is wrong with `[state]` and `[secrets]`.
pub(crate) fn kept(named: Option<&Path>, surroundings: &Surroundings) -> Result<(Kept, Uses), Problems> {
    let sources = find::find(named, surroundings).map_err(|problem| Problems::new(&[], vec![problem]))?;
    let found = read::tree(&sources).and_then(|tree| {
        let (file, _) = read::file(&tree);
        let kept = settings::kept(&file, &tree, &sources, surroundings)?;
        Ok((kept, Uses::of(&tree, &sources)))
    });
    found.map_err(|problems| Problems::new(&sources, problems))
}

fn loaded(
    sources: Vec<Source>,
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<Loaded, Problems> {
    let settled = settle(&sources, surroundings, unfollowed);
    let (settings, tree) = settled.map_err(|problems| Problems::new(&sources, problems))?;
    let log_override = surroundings.variable(LOG_VARIABLE).map(|text| text.to_string_lossy().into_owned());
    let learner = Arc::new(Learner::new(&settings.redactor));
    let passed_over = passed_over(&sources, &tree, surroundings);
    Ok(Loaded { settings, learner, log_override, passed_over, sources, tree })
}

/// What a project's file says in vain.
fn passed_over(sources: &[Source], tree: &Node, surroundings: &Surroundings) -> Vec<String> {
    let own = find::user(surroundings);
    let own = own.map_or_else(String::new, |own| format!(", {}", own.display()));
    let line = |(place, keys): &(tree::Place, String)| {
        let place = problem::spot(sources, *place).unwrap_or_default();
        format!(
            "{place}: {keys} is passed over, as it is not for a project's file to say: what your own file says of it \
             holds, or the default; write it into your own file{own}, or name this one with --config"
        )
    };
    read::passed_over(sources, tree).iter().map(line).collect()
}

fn settle(
    sources: &[Source],
    surroundings: &Surroundings,
    unfollowed: Unfollowed,
) -> Result<(Settings, Node), Vec<Problem>> {
    let tree = read::tree(sources)?;
    let (file, mut problems) = read::file(&tree);
    match settings::settle(file, &tree, sources, surroundings, unfollowed) {
        Ok(settings) if problems.is_empty() => Ok((settings, tree)),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// The JSON Schema of a configuration file.
pub(crate) fn schema() -> Value {
    read::schema()
}

/// What is written in some sections.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sections(serde_json::Map<String, Value>);

impl Sections {
    /// Those that read differently in `other`, as `[name]` or `section.key`, in the order of their names.
    pub(crate) fn differing(&self, other: &Sections) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name)).cloned().collect()
    }
}

impl Loaded {
    /// All sections that take effect when the program starts.
    pub(crate) fn sections(&self) -> Sections {
        let mut sections = self.written();
        if let Some(Value::Object(keys)) = sections.get_mut(TAKEN_UP_KEY[0]) {
            keys.remove(TAKEN_UP_KEY[1]);
        }
        // A section in which nothing is left says no more than one that is not there.
        let is_empty = |section: &Value| section.as_object().is_some_and(serde_json::Map::is_empty);
        sections.retain(|name, section| {
            !OF_UPSTREAMS.contains(&&**name) && !TAKEN_UP.contains(&&**name) && !is_empty(section)
        });
        Sections(sections.into_iter().map(|(name, section)| (format!("[{name}]"), section)).collect())
    }

    /// Those that take effect when they are read again, beside those of the upstreams.
    pub(crate) fn sections_taken_up(&self) -> Sections {
        let mut sections = self.written();
        let [section, key] = TAKEN_UP_KEY;
        let apart = sections.get_mut(section).and_then(|section| section.get_mut(key)).map(Value::take);
        sections.retain(|name, _| TAKEN_UP.contains(&&**name));
        let whole = sections.into_iter().map(|(name, section)| (format!("[{name}]"), section));
        Sections(whole.chain(apart.map(|value| (format!("{section}.{key}"), value))).collect())
    }

    fn written(&self) -> serde_json::Map<String, Value> {
        match self.tree.to_json() {
            Value::Object(sections) => sections,
            _ => serde_json::Map::new(),
        }
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
