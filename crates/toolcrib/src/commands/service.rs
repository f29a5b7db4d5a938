//! `service`: `toolcrib serve` as a service of the user's systemd, so that it is there whenever they are.

mod systemctl;
mod unit;

use std::io::ErrorKind;
use std::path::Path;

use config::{self, Surroundings, Unfollowed};
use sandbox::text_file;
use serde_json::json;
use terminal::{Ending, Trouble, print};

use super::load::surroundings;
use crate::cli::{Cli, Service};
use systemctl::UNIT;

/// Largest unit that is read, in bytes.
const UNIT_BYTES_MAX: u64 = 64 * 1024;

pub(super) fn run(cli: &Cli, command: Service) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let folder = surroundings.units_folder();
    let path =
        folder.ok_or_else(|| Trouble::Failed("there is no home folder for a unit".to_owned()))?.join(UNIT);
    let program = std::env::current_exe()
        .map_err(|why| Trouble::Failed(format!("the program's own file cannot be found: {why}")))?;
    match command {
        Service::Install { dry_run } => install(cli, surroundings, &path, &program, dry_run),
        Service::Status => status(cli, &path, &program),
        Service::Remove => remove(&path),
    }
}

fn install(
    cli: &Cli,
    surroundings: Surroundings,
    path: &Path,
    program: &Path,
    dry_run: bool,
) -> Result<Ending, Trouble> {
    let named = cli.config.as_deref().map(|file| surroundings.absolute(file));
    let search = surroundings.variable("PATH").unwrap_or_default().to_string_lossy().into_owned();
    let text = unit::text(program, named.as_deref(), &search)?;
    // As the service will find it: what is wrong is told now, and not in a log.
    let home = surroundings.home().map(Path::to_owned).unwrap_or_default();
    config::load(
        named.as_deref(),
        &Surroundings { current_dir: home, ..surroundings },
        Unfollowed::IsPassedOver,
    )?;
    if dry_run {
        print::line(&text)?;
        return Ok(Ending::Good);
    }
    systemctl::check()?;
    if read(path)?.is_some_and(|found| !unit::is_ours(&found)) {
        let path = path.display();
        return Err(Trouble::Failed(format!("{path} was not written by this command; move it away first")));
    }
    text_file::replace(path, &text).map_err(|why| unusable(path, &why))?;
    for words in [&["daemon-reload"][..], &["enable", UNIT], &["restart", UNIT]] {
        systemctl::act(words).inspect_err(|_| {
            print::remark("the unit is written; `toolcrib service remove` takes it away");
        })?;
    }
    print::line(&format!(
        "{} is written; the service is enabled for your sessions and started.\n\
         Its address and its log:   journalctl --user --unit {UNIT} --follow\n\
         To have it run while you are not logged in:   loginctl enable-linger\n\
         To take it away again:   toolcrib service remove",
        path.display()
    ))?;
    Ok(Ending::Good)
}

fn status(cli: &Cli, path: &Path, program: &Path) -> Result<Ending, Trouble> {
    let Some(text) = read(path)? else {
        match cli.json {
            true => print::json(&json!({ "installed": false }))?,
            false => print::line("no service is installed; `toolcrib service install` does that")?,
        }
        return Ok(Ending::Failed);
    };
    systemctl::check()?;
    let (enabled, active) = (systemctl::state("is-enabled")?, systemctl::state("is-active")?);
    let (command, is_this) = (unit::command(&text).unwrap_or_default(), unit::runs(&text, program));
    if cli.json {
        let facts = json!({
            "installed": true, "unit": path, "enabled": enabled, "active": active, "command": command,
            "is_this_program": is_this,
        });
        print::json(&facts)?;
    } else {
        let other = match is_this {
            true => String::new(),
            false => {
                let program = program.display();
                format!(
                    "\nThat is another program than this one, {program}; `toolcrib service install` exchanges it"
                )
            }
        };
        print::line(&format!(
            "unit     {}\nenabled  {enabled}\nactive   {active}\nruns     {command}{other}",
            path.display()
        ))?;
    }
    Ok(if active == "active" { Ending::Good } else { Ending::Failed })
}

fn remove(path: &Path) -> Result<Ending, Trouble> {
    match read(path)? {
        None => {
            print::line("no service is installed")?;
            return Ok(Ending::Good);
        }
        Some(text) if !unit::is_ours(&text) => {
            let path = path.display();
            return Err(Trouble::Failed(format!("{path} was not written by this command, and stays")));
        }
        Some(_) => {}
    }
    systemctl::check()?;
    systemctl::act(&["disable", "--now", UNIT])?;
    text_file::remove(path).map_err(|why| unusable(path, &why))?;
    systemctl::act(&["daemon-reload"])?;
    print::line(&format!("the service is stopped and disabled, and {} is removed", path.display()))?;
    Ok(Ending::Good)
}

/// What stands in the unit, if there is one.
fn read(path: &Path) -> Result<Option<String>, Trouble> {
    match text_file::read(path, UNIT_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn unusable(path: &Path, why: &std::io::Error) -> Trouble {
    Trouble::Failed(format!("{} cannot be changed or read: {why}", path.display()))
}
