//! `mcp export`: writes Toolcrib into another client's file. Everything else in the file stays as it is, and a copy of
//! what was there stays beside it.

use std::path::{Path, PathBuf};

use admin::import;
use clients::{self, Client, ClientFile, Origin, Server};
use config::find;
use sandbox::text_file;
use serde_json::{Value, json};
use terminal::paint::Painted;
use terminal::{Ending, Trouble, print};

use super::{ask, client_file};
use crate::cli::{Cli, Export};
use crate::commands::load::{load_resting, surroundings};

pub(super) fn run(cli: &Cli, export: &Export) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let client = clients::client(&export.client).ok_or_else(|| import::unknown(&export.client))?;
    let seen = surroundings.for_clients();
    let place = place(client, export, &seen)?;
    let failed =
        |why: String| Trouble::Failed(format!("{}: {why}; nothing was written", place.path.display()));
    let before = clients::read(&place.path).map_err(failed)?;
    let named = config::named(cli.config.as_deref(), &surroundings);
    let server = match export.http {
        true => Server { url: Some(address(cli)?), ..Server::default() },
        false => ourselves(named.as_deref())?,
    };
    let folders = if named.is_none() { find::project(&surroundings) } else { None };
    let note = folders.map(|file| note(&file));
    let origin = Origin { place: &place, surroundings: &seen };
    let change = client.export(before.as_deref(), &export.name, &server, &origin).map_err(failed)?;
    if !cli.json {
        print::painted(&Painted::changes(&shown(client, &place.path, &export.name, &change)))?;
        note.iter().for_each(|note| print::remark(note));
    }
    let wanted = change.text.as_deref().filter(|_| !export.dry_run);
    let refused = wanted.is_some() && !export.yes && (cli.json || !ask::is_possible());
    let question = format!("write {}?", place.path.display());
    let agreed = match wanted {
        Some(text) if !refused && (export.yes || ask::confirm(&question)?) => Some(text),
        _ => None,
    };
    let backup = match agreed {
        Some(text) => client_file::write(&place.path, before.as_deref(), text)?.backup,
        None => None,
    };
    if cli.json {
        let mut report = to_json(client, &place, &export.name, &change);
        report["note"] = note.into();
        report["written"] = agreed.is_some().into();
        report["backup"] = backup.map(|path| path.display().to_string()).into();
        print::json(&report)?;
    } else if wanted.is_some() && !refused {
        print::line(&done(client, agreed.is_some(), backup))?;
    }
    match refused {
        true => Err(Trouble::Misused(
            "nothing was written, since nobody can be asked here; say --yes to write without asking"
                .to_owned(),
        )),
        false => Ok(Ending::Good),
    }
}

fn done(client: &Client, is_written: bool, backup: Option<PathBuf>) -> String {
    if !is_written {
        return "nothing was written".to_owned();
    }
    let kept = backup.map(|path| format!("; what was there is kept in {}", path.display()));
    format!("written{}; start {} again to have it take notice", kept.unwrap_or_default(), client.title)
}

fn to_json(client: &Client, place: &ClientFile, name: &str, change: &clients::FileChange) -> Value {
    let what = match (&change.text, change.replaces) {
        (None, _) => "none",
        (Some(_), false) => "added",
        (Some(_), true) => "replaced",
    };
    let (file, entry) = (place.path.display().to_string(), clients::to_json(&change.new));
    json!({ "client": client.id, "file": file, "name": name, "change": what, "entry": entry })
}

/// The file to write to.
fn place(
    client: &Client,
    export: &Export,
    surroundings: &clients::Surroundings,
) -> Result<ClientFile, Trouble> {
    if let Some(file) = &export.file {
        return Ok(ClientFile::named(surroundings.current_dir.join(file)));
    }
    if export.whose.project {
        let none = || Trouble::Misused(format!("{} has no file for projects", client.title));
        return client.project_target(surroundings).ok_or_else(none);
    }
    let path = client.target(surroundings).ok_or_else(|| {
        Trouble::Failed(format!("there is no home folder to look for {}; use --file", client.title))
    })?;
    Ok(ClientFile::users(path))
}

/// Where `serve` serves by this configuration.
fn address(cli: &Cli) -> Result<String, Trouble> {
    let server = load_resting(cli)?.settings.server;
    Ok(server.url(server.bind))
}

/// This program over standard streams, by its absolute path: clients start it in any folder and with any search path.
pub(super) fn ourselves(configuration: Option<&Path>) -> Result<Server, Trouble> {
    let unknown =
        |why: String| Trouble::Failed(format!("this program's own path cannot be written down: {why}"));
    let program = std::env::current_exe().map_err(|error| unknown(error.to_string()))?;
    let text =
        |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| unknown("it is no text".to_owned()));
    let mut args = vec!["stdio".to_owned()];
    if let Some(file) = configuration {
        if !text_file::is_file(file) {
            return Err(Trouble::Misused(format!("the configuration {} does not exist", file.display())));
        }
        args.extend(["--config".to_owned(), text(file)?]);
    }
    Ok(Server { command: Some(text(&program)?), args, ..Server::default() })
}

/// What is different for the client. To name the folder's file would be to obey whatever it says tomorrow.
fn note(folders: &Path) -> String {
    format!(
        "note: {} counts where the client starts Toolcrib in that folder, and as far as you have agreed to it; with \
         --config it would count everywhere, whatever it says later",
        folders.display()
    )
}

/// What changes, and nothing of what stands around it, which may be secret.
fn shown(client: &Client, path: &Path, name: &str, change: &clients::FileChange) -> String {
    let place = [change.table, &[name]].concat().join(".");
    let title = format!("{}: {}: {place}", client.title, path.display());
    if change.text.is_none() {
        return format!("{title}: it is there already");
    }
    let replaces = if change.replaces { ", in place of what stands there" } else { "" };
    let lines: Vec<String> = change.shown.lines().map(|line| format!("+ {line}")).collect();
    format!("{title}{replaces}\n{}", lines.join("\n"))
}
