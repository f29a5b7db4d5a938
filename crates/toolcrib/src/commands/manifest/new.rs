//! `manifest new`: a manifest that works, beside its program.

use std::path::Path;
use std::{fs, io};

use serde_json::json;
use terminal::{Ending, Trouble, print};
use tool_api::ToolName;

use crate::cli::Cli;
use crate::commands::start::start_nobody;

/// What is written, with `NAME` for the tool's id.
const MANIFEST: &str = include_str!("new/manifest.toml");
const PROGRAM: &str = include_str!("new/program.sh");

/// What is said where no manifest would be read.
pub(super) const NO_FOLDER: &str = "there is no folder for it: the configuration was named, and stands alone; leave --config and TOOLCRIB_CONFIG out";

pub(super) fn run(cli: &Cli, name: &str) -> Result<Ending, Trouble> {
    if ToolName::parse(name).is_none_or(|name| name.as_str().contains('.')) {
        return Err(Trouble::Misused(format!("{name:?} is no name: 1 to 64 of `A-Z a-z 0-9 _ -`")));
    }
    let manifests = start_nobody(cli)?.settings.manifests;
    let Some(folder) = manifests.own_folder() else {
        return Err(Trouble::Misused(NO_FOLDER.to_owned()));
    };
    if let Some(why) = manifests.hides(name) {
        return Err(Trouble::Misused(why));
    }
    let files =
        [(folder.join(format!("{name}.toml")), MANIFEST), (folder.join(format!("{name}.sh")), PROGRAM)];
    for (path, _) in &files {
        if config::text_of(path).map_err(Trouble::Failed)?.is_some() {
            return Err(Trouble::Misused(format!("{} is there already, and stays as it is", path.display())));
        }
    }
    // The program first: a manifest is in force at once.
    for (path, text) in files.iter().rev() {
        write(path, &text.replace("NAME", name))
            .map_err(|why| Trouble::Failed(format!("{} cannot be written: {why}", path.display())))?;
    }
    let [(manifest, _), (program, _)] = files.map(|(path, text)| (path.display().to_string(), text));
    let next = format!("`toolcrib manifest run {manifest}` tries it");
    let words = format!("written: {manifest}\nwritten: {program}\n{next}");
    print::found(cli.json, &json!({ "manifest": manifest, "program": program }), &words)
}

/// Readable for others as this person's new files are: as root, programs run as another user.
#[expect(clippy::disallowed_methods, reason = "a person's own program, which holds no secret")]
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}
