//! Telling the Toolcribs that are running what a command has changed, and saying how they took it.

use std::io;
use std::path::Path;

use admin::servers::Reconnect;
use admin::{By, Operation as _, Told};
use config::Loaded;
use daemon::administration;
use daemon::control::Neighbours;
use serde_json::{Value, json};
use terminal::{Trouble, print};

/// What the running Toolcribs made of a change.
#[derive(Default)]
pub(crate) struct RunningAnswers {
    /// One line for each that has something to say.
    pub(crate) lines: Vec<String>,
    /// What each said.
    pub(super) told: Vec<Told>,
}

impl RunningAnswers {
    fn of(told: Vec<Told>, good: impl Fn(&Value) -> String) -> RunningAnswers {
        RunningAnswers { lines: told.iter().map(|one| line(one, &good)).collect(), told }
    }

    /// Prints what a command did, and what they made of it.
    pub(super) fn print(self, json: bool, mut did: Value, mut lines: Vec<String>) -> io::Result<()> {
        if json {
            did["running"] = json!(self.told);
            return print::json(&did);
        }
        lines.extend(self.lines);
        print::foreign(&lines.join("\n"))
    }
}

/// Has them read the configuration again.
pub(super) fn reload(state: &Path) -> io::Result<RunningAnswers> {
    let answers = Neighbours::on(state).reload()?;
    Ok(RunningAnswers::of(answers.into_iter().map(Told::from).collect(), has_reloaded))
}

/// Has them connect to a server anew.
pub(super) fn reconnect(loaded: &Loaded, name: &str) -> Result<RunningAnswers, Trouble> {
    let part = administration::servers(loaded, Neighbours::on(&loaded.settings.state));
    let done = Reconnect { server: name.to_owned() }.perform(&part, &By::owner())?;
    Ok(RunningAnswers::of(done.running, |report| match report["state"]["status"].as_str() {
        Some("connected") => "uses it from now on".to_owned(),
        Some(status) => format!("has connected to it anew: {status}"),
        None => "has connected to it anew".to_owned(),
    }))
}

/// Says how they took an agreement.
pub(crate) fn tell_reloaded(told: &[Told]) {
    told.iter().for_each(|one| print::remark(&line(one, has_reloaded)));
}

fn has_reloaded(reloaded: &Value) -> String {
    let is_empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    match ["added", "removed", "changed"].iter().all(|list| is_empty(&reloaded[*list])) {
        true => "has another configuration, and nothing changed there".to_owned(),
        false => "has taken it up".to_owned(),
    }
}

/// How one has taken up what was decided about a server's definitions.
pub(super) fn has_taken_up(report: &Value) -> String {
    match report["held_back"].as_u64() {
        Some(0) => "goes by it now; nothing is held back any more".to_owned(),
        Some(held) => format!("goes by it now; held back: {held}"),
        None => "goes by it now".to_owned(),
    }
}

/// A line for one that was told of a change.
pub(super) fn line(told: &Told, good: impl Fn(&Value) -> String) -> String {
    let outcome = match (&told.answer, &told.error) {
        (Some(answer), None) => good(answer),
        (_, why) => format!("has not: {}", why.as_deref().unwrap_or_default()),
    };
    format!("the running Toolcrib (process {}) {outcome}", told.pid)
}
