//! The configuration: found, read, checked, resolved. In two steps: [`file::File`] is what was written,
//! [`Settings`] is what it means. All problems are told at once, each with its line and column.

mod check;
pub(crate) mod edit;
mod file;
mod find;
mod held;
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

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use check::nearest;
pub(crate) use secret::{MASK, without_credentials_in};
pub(crate) use settings::Settings;
pub(crate) use surroundings::Surroundings;
pub(crate) use trial::{files_of_server, load_as_if, text_of};

pub(crate) use problem::line_and_column;
use problem::{Problem, Problems, Source};
use show::Show;
use tree::Node;

/// Overrides the level of the log.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

/// The sections that decide about the upstreams, and take effect when they are read again.
const OF_UPSTREAMS: [&str; 2] = ["mcp", "experimental"];

/// A configuration with nothing wrong in it.
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The text of TOOLCRIB_LOG.
    pub(crate) log_override: Option<String>,
    sources: Vec<Source>,
    tree: Node,
}

/// Loads the configuration in effect: the file that was named, or those that are found.
///
/// # Errors
/// Everything that is wrong.
pub(crate) fn load(named: Option<&Path>, surroundings: &Surroundings) -> Result<Loaded, Problems> {
    let sources = find::find(named, surroundings).map_err(|problem| Problems::new(&[], vec![problem]))?;
    loaded(sources, surroundings)
}

fn loaded(sources: Vec<Source>, surroundings: &Surroundings) -> Result<Loaded, Problems> {
    let settled = settle(&sources, surroundings);
    let (settings, tree) = settled.map_err(|problems| Problems::new(&sources, problems))?;
    let log_override = surroundings.variable(LOG_VARIABLE).map(|text| text.to_string_lossy().into_owned());
    Ok(Loaded { settings, log_override, sources, tree })
}

fn settle(sources: &[Source], surroundings: &Surroundings) -> Result<(Settings, Node), Vec<Problem>> {
    let tree = read::tree(sources)?;
    let (file, mut problems) = read::file(&tree);
    match settings::settle(file, &tree, sources, surroundings) {
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

/// What is written in the sections that take effect when the program starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sections(serde_json::Map<String, Value>);

impl Sections {
    /// Those that read differently in `other`, as `[name]`, in the order of their names.
    pub(crate) fn differing(&self, other: &Sections) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differ = names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name));
        differ.map(|name| format!("[{name}]")).collect()
    }
}

impl Loaded {
    /// All sections but those that decide about the upstreams.
    pub(crate) fn sections(&self) -> Sections {
        let mut sections = match self.tree.to_json() {
            Value::Object(sections) => sections,
            _ => serde_json::Map::new(),
        };
        sections.retain(|name, _| !OF_UPSTREAMS.contains(&name.as_str()));
        Sections(sections)
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
