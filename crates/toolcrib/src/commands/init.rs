//! `init`: writes a configuration with comments, to be filled in.

use admin::Fault;
use config::find;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::load::surroundings;
use crate::cli::{Cli, Whose};

/// A person's own file. Each setting that is commented out stands at its default.
const OWN: &str = include_str!("init/own.toml");

/// A project's file, in which servers alone can be declared.
const PROJECTS: &str = include_str!("init/project.toml");

pub(super) fn run(cli: &Cli, whose: Whose) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let path = match (&cli.config, whose.project) {
        (Some(file), _) => surroundings.absolute(file),
        (None, true) => surroundings.current_dir.join(find::FILE),
        (None, false) => {
            let none =
                || Fault::failed("there is no home folder to keep the configuration in; use --config FILE");
            find::user(&surroundings).ok_or_else(none)?
        }
    };
    if config::text_of(&path).map_err(Trouble::Failed)?.is_some() {
        return Err(Trouble::Misused(format!(
            "{} is there already, and stays as it is; `toolcrib config show` prints what is in effect",
            path.display()
        )));
    }
    let text = if whose.project { PROJECTS } else { OWN };
    config::hold(&path).and_then(|held| held.write(text)).map_err(Trouble::Failed)?;
    let next = "`toolcrib mcp add` adds a server, `toolcrib mcp import` takes over those of other clients";
    let words = format!("written: {}\n{next}", path.display());
    print::found(cli.json, &json!({ "file": path.display().to_string() }), &words)
}
