//! `import scorpiox`: moves over from scorpiox code: its servers, and what its settings are here.

use config::Draft;
use daemon::administration;
use terminal::{Ending, Trouble};

use super::{How, moves, take_over};
use crate::cli::{Cli, ImportSystem};
use crate::commands::load::surroundings;

pub(in crate::commands) fn run(cli: &Cli, import: &ImportSystem) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    let (file, loaded) = moves::own_configuration(cli, &surroundings)?;
    let bind = loaded.as_ref().map_or(server::Config::default().bind, |loaded| loaded.settings.server.bind);
    let part = administration::import(Some(&file), &surroundings, bind)?;
    let (gathered, plan, taken) = part.plan_scorpiox()?;
    let draft = Draft::new(Some(&file), surroundings)?;
    let taken = draft.lacking(taken)?;
    let how = How { dry_run: import.dry_run, yes: import.yes };
    take_over(cli, how, &part, &draft, loaded.as_ref(), (gathered, plan, taken))
}
