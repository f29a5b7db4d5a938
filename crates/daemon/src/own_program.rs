//! Our own program, started again as something else, and the words that say as what. They are not for people, so not in
//! the help.

use sandbox::Launcher;
use terminal::Trouble;

/// The first argument of a process that is to guard another.
pub const GUARD: &str = "__guard";

/// The first argument of a process that starts confined programs.
pub const SPAWNER: &str = "__spawner";

/// The first argument of a confined process that tries to escape, for `toolcrib doctor`.
pub const PROBE: &str = "__probe";

/// The first argument of the process that serves all clients of a user, before the state folder.
pub const RESIDENT: &str = "__resident";

/// What starts programs confined: our own program again.
///
/// # Errors
/// It cannot be found.
pub fn confinement(word: &str) -> Result<Launcher, Trouble> {
    Ok(Launcher { guard_args: vec![word.to_owned()], ..launcher()? })
}

/// What starts programs under a guard.
///
/// # Errors
/// It cannot be found.
pub(crate) fn launcher() -> Result<Launcher, Trouble> {
    let guard = std::env::current_exe().map_err(|why| {
        Trouble::Failed(format!("the program's own file cannot be found, so nothing could be started: {why}"))
    })?;
    Ok(Launcher { guard, guard_args: vec![GUARD.to_owned()] })
}
