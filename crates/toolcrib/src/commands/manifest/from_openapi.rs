//! `manifest from-openapi`: operations of an OpenAPI document as manifests in the user's own folder, to be read and changed.

use std::path::Path;

use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use super::new::write;
use crate::cli::{Cli, FromOpenapi};
use crate::commands::start::start_nobody;

/// The largest documents that are published have 12 MiB.
const DOCUMENT_BYTES_MAX: u64 = 32 * 1024 * 1024;

pub(super) fn run(cli: &Cli, asked: &FromOpenapi) -> Result<Ending, Trouble> {
    let FromOpenapi { file, operations, server } = asked;
    let manifests = start_nobody(cli)?.settings.manifests;
    let Some(folder) = manifests.own_folder() else {
        return Err(Trouble::Misused(super::new::NO_FOLDER.to_owned()));
    };
    let document = document(file).map_err(|why| Trouble::Misused(format!("{}: {why}", file.display())))?;
    let made = declared::manifests_from(&document, operations, server.as_deref());
    let made = made.map_err(|problems| Trouble::Misused(problems.join("\n")))?;
    let files: Vec<_> = made.iter().map(|one| (folder.join(format!("{}.json", one.id)), one)).collect();
    for (path, _) in &files {
        if config::text_of(path).map_err(Trouble::Failed)?.is_some() {
            return Err(Trouble::Misused(format!("{} is there already, and stays as it is", path.display())));
        }
    }
    let (mut words, mut facts) = (Vec::new(), Vec::new());
    for (path, one) in &files {
        let text = format!("{:#}\n", one.manifest);
        write(path, &text)
            .map_err(|why| Trouble::Failed(format!("{} cannot be written: {why}", path.display())))?;
        words.push(format!("written: {}", path.display()));
        facts.push(json!({ "manifest": path.display().to_string(), "notes": one.notes }));
        print::notes(&one.id, &one.notes);
    }
    print::found(cli.json, &facts, &words.join("\n"))
}

fn document(file: &Path) -> Result<Value, String> {
    let text = sandbox::text_file::read(file, DOCUMENT_BYTES_MAX).map_err(|error| error.to_string())?;
    let is_yaml = file.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    match is_yaml {
        true => rules::yaml_as_json(&text),
        false => declared::json(&text),
    }
}
