//! `mcp import --move`: what clients have configured becomes Toolcrib's, and Toolcrib theirs.

use std::path::{Path, PathBuf};

use admin::import::{Entry, ImportPart, Moving, Plan, SealedKey, Taken, seal_keys};
use admin::secrets::SecretPart;
use clients::{Server, Surroundings as Seen};
use config::{Draft, Loaded, Surroundings, Unfollowed, find};
use daemon::administration;
use daemon::control::Neighbours;
use sandbox::text_file;
use serde_json::{Value, json};
use terminal::paint::Painted;
use terminal::{Ending, Trouble, print};

use super::carry_out::carry_out;
use super::show;
use crate::cli::{Cli, Import};
use crate::commands::load::surroundings;
use crate::commands::mcp::running::{self, RunningAnswers};
use crate::commands::mcp::{ask, export};

pub(super) fn run(cli: &Cli, import: &Import) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let (file, loaded) = own_configuration(cli, &surroundings)?;
    let bind = loaded.as_ref().map_or(server::Config::default().bind, |loaded| loaded.settings.server.bind);
    let part = administration::import(Some(&file), &surroundings, bind)?;
    let kept = secrets(loaded.is_some().then_some(file.as_path()), &surroundings)?;
    let ours = export::ourselves(config::named(cli.config.as_deref(), &surroundings).as_deref())?;
    let (gathered, mut plan) = part.plan(&import.from)?;
    let keys = seal_keys(&mut plan, &kept)?;
    let mut change = Change { plan, keys, moving: Moving::default(), ours, seen: surroundings.for_clients() };
    change.settle()?;
    let mut report =
        serde_json::to_value(part.report(&gathered, &change.plan)).expect("it has text for keys");
    report["move"] = change.to_json();
    if !cli.json {
        print::foreign(&show::text(&gathered, &change.plan, &Taken::default(), part.target.path()))?;
        let shown = show::moving(&change.moving, &change.keys);
        if !shown.is_empty() {
            print::painted(&Painted::changes(&shown))?;
        }
    }
    gathered.errors.iter().for_each(|error| print::remark(&print::harmless(error)));
    let wanted = !import.dry_run && !change.is_empty();
    let refused = wanted && !import.yes && (cli.json || !ask::is_possible());
    let agreed = wanted && !refused && (import.yes || change.choose(&part)?);
    let draft = Draft::new(Some(&file), surroundings)?;
    let backups = match agreed {
        true => carry_out(&change.plan, &change.keys, &change.moving.files, &kept, &draft)?,
        false => Vec::new(),
    };
    let answers = match &loaded {
        Some(loaded) if agreed => running::reload(&loaded.settings.state)?,
        Some(_) | None => RunningAnswers::default(),
    };
    if cli.json {
        let added = change.plan.add.iter().filter(|_| agreed).map(|planned| planned.name.as_str());
        report["added"] = added.collect();
        report["backups"] = backups.iter().flatten().map(|path| path.display().to_string()).collect();
        report["running"] = json!(answers.told);
        print::json(&report)?;
    } else if wanted && !refused {
        let done = if agreed { change.done(&file, &backups) } else { vec!["nothing was moved".to_owned()] };
        print::foreign(&[done, answers.lines].concat().join("\n"))?;
    }
    match (refused, gathered.errors.is_empty()) {
        (true, _) => Err(Trouble::Misused(
            "nothing was moved, since nobody can be asked here; say --yes to move without asking".to_owned(),
        )),
        (false, true) => Ok(Ending::Good),
        (false, false) => Ok(Ending::Failed),
    }
}

/// The file that serves wherever a client starts Toolcrib: the one that was named, else the user's own, which need not
/// exist. A folder's would serve in that folder alone, and the clients would miss their tools elsewhere.
pub(super) fn own_configuration(
    cli: &Cli,
    surroundings: &Surroundings,
) -> Result<(PathBuf, Option<Loaded>), Trouble> {
    let none = || Trouble::Failed("there is no home folder to keep the configuration in".to_owned());
    let named = config::named(cli.config.as_deref(), surroundings);
    let file = named.or_else(|| find::user(surroundings)).ok_or_else(none)?;
    let is_there = text_file::is_file(&file);
    let loaded = is_there.then(|| config::load(Some(&file), surroundings, Unfollowed::FailsItsServer));
    Ok((file, loaded.transpose()?))
}

fn secrets(file: Option<&Path>, surroundings: &Surroundings) -> Result<SecretPart, Trouble> {
    let (kept, uses) = config::kept(file, surroundings)?;
    Ok(administration::secrets(&kept, &uses, Neighbours::on(kept.state())))
}

/// What a move would do.
struct Change {
    plan: Plan,
    keys: Vec<SealedKey>,
    moving: Moving,
    ours: Server,
    seen: Seen,
}

impl Change {
    fn is_empty(&self) -> bool {
        self.plan.add.is_empty() && self.moving.files.is_empty()
    }

    /// Finds out what becomes of the clients' files by the plan as it is now, and which keys it needs.
    fn settle(&mut self) -> Result<(), Trouble> {
        self.moving = Moving::of(&self.plan, &self.ours, &self.seen)?;
        let used: Vec<String> =
            self.plan.add.iter().flat_map(|planned| planned.server.references()).collect();
        self.keys.retain(|key| used.contains(&format!("${{store:{}}}", key.name)));
        Ok(())
    }

    /// Asks which of it to do, and leaves that. Whether there is any.
    fn choose(&mut self, part: &ImportPart) -> Result<bool, Trouble> {
        let files = self.moving.files.iter().map(|file| file.place.path.display().to_string());
        let mut what: Vec<String> = files.map(|file| format!("change {file}")).collect();
        if !self.plan.add.is_empty() {
            let count = print::counted(self.plan.add.len(), "server");
            what.insert(0, format!("add {count} to {}", part.target.path().display()));
        }
        let question = print::harmless(&format!("{}? [y]es, [N]o, [c]hoose", what.join(", ")));
        match ask::ask(&question)?.unwrap_or_default().to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "c" | "choose" => {}
            _ => return Ok(false),
        }
        let add = std::mem::take(&mut self.plan.add);
        self.plan.add = ask::chosen(add, |planned| format!("move {}?", planned.name))?;
        let mut known: Vec<Entry> = Vec::new();
        for entry in std::mem::take(&mut self.plan.known) {
            let question = format!("take {} out of {}?", entry.name, entry.place.path.display());
            if entry.place.is_shared || ask::confirm(&print::harmless(&question))? {
                known.push(entry);
            }
        }
        self.plan.known = known;
        self.settle()?;
        Ok(!self.is_empty())
    }

    fn to_json(&self) -> Value {
        let files = self.moving.files.iter().map(|file| {
            let path = file.place.path.display().to_string();
            json!({ "client": file.client.id, "file": path, "takes_out": file.taken, "writes_toolcrib": file.gets_ours })
        });
        let stays = self.moving.stays.iter().map(|stays| {
            let Entry { client, place, name, .. } = &stays.entry;
            json!({ "client": client, "file": place.path.display().to_string(), "name": name, "why": stays.why })
        });
        let keys = self.keys.iter().map(|key| json!({ "name": key.name, "place": key.place }));
        json!({ "files": Vec::from_iter(files), "stays": Vec::from_iter(stays), "secrets": Vec::from_iter(keys) })
    }

    /// What was done, and what is next.
    fn done(&self, target: &Path, backups: &[Option<PathBuf>]) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.plan.add.is_empty() {
            let count = print::counted(self.plan.add.len(), "server");
            lines.push(format!("added {count} to {}", target.display()));
        }
        if !self.keys.is_empty() {
            let count = print::counted(self.keys.len(), "key");
            lines.push(format!("keeps {count} sealed; `toolcrib secrets list` shows them"));
        }
        for (file, backup) in self.moving.files.iter().zip(backups) {
            let backup = backup.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
            lines.push(format!(
                "changed {}; what was there is kept in {backup}, with the keys that were in it; start {} again to have it \
                 take notice",
                file.place.path.display(),
                file.client.title
            ));
        }
        lines.push("now run `toolcrib mcp test` to see whether they work".to_owned());
        lines
    }
}
