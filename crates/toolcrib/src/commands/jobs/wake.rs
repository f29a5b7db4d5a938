//! Handing a job to the process that serves its folder: the command that takes it ends, and runs none.

use config::Loaded;
use daemon::assemble::{Crib, assemble};
use daemon::front::{self, Alone};
use daemon::resident::Door;
use daemon::upstreams::Start;
use gate::jobs::Job;
use terminal::{Trouble, print, runtime};

use crate::cli::Cli;
use crate::commands::load::load;
use crate::commands::start::{Asking, Log, start};

/// Does `work`, which takes a job, and has the user's process run it.
pub(in crate::commands) fn submitted<E>(
    cli: &Cli,
    work: impl AsyncFnOnce(&Crib) -> Result<Result<Job, E>, Trouble>,
) -> Result<Result<Job, E>, Trouble> {
    let loaded = start(cli, Log::Quiet, Asking::Here)?;
    runtime::run(async {
        let crib = assemble(loaded.settings.clone(), Start::WhenWanted)?;
        let taken = work(&crib).await;
        crib.close().await;
        let taken = taken?;
        if taken.is_ok() {
            call_process(cli, &loaded).await;
        }
        Ok(taken)
    })?
}

/// Has the process of this folder look for jobs, if the job is of this folder; false if it is of another.
pub(in crate::commands) fn wake(cli: &Cli, job: &Job) -> Result<bool, Trouble> {
    // The command has begun its log already.
    let loaded = load(cli)?;
    let is_of_here = *job.workspace == *loaded.settings.workspace.to_string_lossy();
    if is_of_here {
        runtime::run(call_process(cli, &loaded))?;
    }
    Ok(is_of_here)
}

/// A job that nobody runs now is kept all the same, so no trouble is one of the command's.
async fn call_process(cli: &Cli, loaded: &Loaded) {
    let why = match front::attach(loaded, cli.config.clone(), Door::Jobs).await {
        Ok(Ok(_)) => return,
        Ok(Err(Alone(why))) => why,
        Err(trouble) => trouble.to_string(),
    };
    print::remark(&format!("the job waits until a Toolcrib serves this folder: {why}"));
}
