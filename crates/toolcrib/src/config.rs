//! The configuration: found, read, checked, resolved. In two steps: [`file::File`] is what was written,
//! [`Settings`] is what it means. All problems are told at once, each with its line and column.

mod check;
mod file;
mod find;
pub(crate) mod problem;
mod read;
mod reference;
mod secret;
mod settings;
mod show;
mod surroundings;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use check::nearest;
pub(crate) use settings::Settings;
pub(crate) use surroundings::Surroundings;

use problem::{Problem, Problems, Source};
use show::Show;
use tree::Node;

/// Overrides the level of the log.
const LOG_VARIABLE: &str = "TOOLCRIB_LOG";

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

impl Loaded {
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
