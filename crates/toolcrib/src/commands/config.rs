//! `config`: whether the configuration is right, what it may hold, and what is in effect.

use admin::chain;
use admin::secrets::{is_struck_out, weakness};
use config::{self, Told, Unfollowed};
use daemon::assemble::{identity, open_workspace};
use serde_json::json;
use terminal::{Ending, Trouble, print, runtime};
use upstream::Settings;

use super::load::{load_resting, load_with};
use super::misplaced::misplaced;
use super::trust;
use crate::cli::{Cli, Config};

pub(super) fn run(cli: &Cli, command: Config) -> Result<Ending, Trouble> {
    match command {
        Config::Check => check(cli),
        Config::Schema => Ok(print::json(&config::schema()).map(|()| Ending::Good)?),
        Config::Openapi => Ok(print::line(server::http::OPENAPI).map(|()| Ending::Good)?),
        Config::Show => show(cli),
    }
}

fn check(cli: &Cli) -> Result<Ending, Trouble> {
    match load_with(cli, Unfollowed::IsWrong) {
        Ok(loaded) => {
            let files: Vec<String> = loaded.files().map(|path| path.display().to_string()).collect();
            // Calls are refused while one of the rules files cannot be used.
            let mut problems = rules::Rules::new(loaded.settings.rules.clone()).problems();
            // Nothing is served without it.
            problems.extend(open_workspace(&loaded.settings.workspace).err().map(|error| error.to_string()));
            // Nor without the key, once a secret is kept.
            let key = loaded.settings.kept.sealed().check_key();
            problems.extend(key.err().map(|error| format!("secrets.key: {}", chain(&error))));
            // Nor at an address that `serve` would not take.
            let known = identity(&loaded.settings);
            let reach = runtime::run(server::http::check(&loaded.settings.server, &known))?;
            problems.extend(reach.err().map(|error| error.to_string()));
            match (problems.is_empty(), cli.json) {
                (true, _) => {}
                (false, true) => {
                    let told: Vec<Told> = problems.into_iter().map(Told::plain).collect();
                    print::json(&json!({ "problems": told }))?;
                    return Ok(Ending::Misused);
                }
                (false, false) => return Err(Trouble::Misused(problems.join("\n"))),
            }
            let upstreams = &loaded.settings.upstreams;
            let notes: Vec<String> = upstreams
                .iter()
                .filter_map(missing_folder)
                .chain(loaded.settings.absent_paths())
                .chain(upstreams.iter().filter_map(|upstream| misplaced(upstream, &loaded.settings)))
                .chain(loaded.passed_over.iter().cloned())
                .chain(trust::line(&loaded.held))
                .chain(loaded.settings.too_wide.clone())
                .chain(upstreams.iter().flat_map(ordinary))
                .chain(upstreams.iter().flat_map(too_short))
                .chain(upstreams.iter().flat_map(withheld))
                .chain(super::policy::unknown_names(&loaded)?)
                .collect();
            if !cli.json {
                print::notes("note", &notes);
            }
            let words = match files.is_empty() {
                true => "there is no configuration file; the defaults are good".to_owned(),
                false => format!("{}: good", files.join(", ")),
            };
            print::found(cli.json, &json!({ "files": files, "problems": [], "notes": notes }), &words)
        }
        Err(Trouble::Config(problems)) if cli.json => {
            print::json(&json!({ "problems": problems.told() }))?;
            Ok(Ending::Misused)
        }
        Err(trouble) => Err(trouble),
    }
}

/// What a server will fail with that is to run in a folder which is not there. Only a note: it may come in time, and no
/// other server needs it.
#[expect(clippy::disallowed_methods, reason = "a server's folder lies anywhere")]
fn missing_folder(settings: &Settings) -> Option<String> {
    let folder = settings.program()?.cwd.as_ref().filter(|folder| !folder.is_dir())?;
    Some(format!("mcp.{}.cwd: there is no folder {}", settings.name(), folder.display()))
}

/// Variables that a table refers to as to secrets, and that are not struck out.
fn ordinary(settings: &Settings) -> impl Iterator<Item = String> {
    settings.ordinary_variables().map(|variable| {
        format!(
            "mcp.{}: what the environment variable {variable} says is short, a word, a number or a path, so it is not \
             taken for a secret and not struck out; `toolcrib secrets set` keeps one that always is",
            settings.name()
        )
    })
}

/// Secrets of a table that are too short to be struck out.
fn too_short(settings: &Settings) -> impl Iterator<Item = String> {
    let short = settings.secrets().filter(|(_, value)| !is_struck_out(value));
    short.filter_map(|(name, value)| {
        Some(format!("mcp.{}: {name} is a poor secret: {}", settings.name(), weakness(value)?))
    })
}

/// What a server would inherit, and does not.
fn withheld(settings: &Settings) -> impl Iterator<Item = String> {
    settings.withheld().map(|variable| {
        format!(
            "mcp.{}.inherit: {variable} holds the key of [secrets], and no server inherits that",
            settings.name()
        )
    })
}

fn show(cli: &Cli) -> Result<Ending, Trouble> {
    let loaded = load_resting(cli)?;
    let notes = loaded.passed_over.iter().cloned().chain(trust::line(&loaded.held));
    print::notes("note", notes);
    print::found(cli.json, &loaded.to_json(), loaded.to_toml().trim_end())
}
