//! How jobs stand, and whether those who are told of their ends can be told.

use std::collections::BTreeMap;
use std::path::PathBuf;

use config::Settings;
use daemon::administration;
use gate::jobs::State;
use serde_json::{Value, json};

/// What was found out about jobs.
pub(super) struct JobsReport {
    /// How many there are in each state; or why nobody knows.
    states: Result<BTreeMap<String, u64>, String>,
    state_folder: PathBuf,
    /// What keeps those from being told who are to be.
    faults: Vec<String>,
}

impl JobsReport {
    pub(super) async fn new(settings: &Settings) -> JobsReport {
        let states = administration::jobs(settings).jobs.kept().await;
        let faults = match &settings.jobs.notify {
            Some(notify) => notify.faults().await,
            None => Vec::new(),
        };
        let states = states.map_err(|refusal| refusal.to_string());
        JobsReport { states, state_folder: settings.state.clone(), faults }
    }

    pub(super) fn is_good(&self) -> bool {
        self.states.is_ok() && self.faults.is_empty()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut told = json!({ "folder": self.state_folder, "faults": self.faults });
        match &self.states {
            Ok(states) => told["states"] = json!(states),
            Err(why) => told["unread"] = json!(why),
        }
        told
    }

    /// One line, and one for each fault.
    pub(super) fn lines(&self) -> Vec<String> {
        let folder = self.state_folder.display();
        let line = match &self.states {
            Err(why) => why.clone(),
            Ok(states) if states.is_empty() => "none is kept".to_owned(),
            Ok(states) => {
                let is_over = |word: &str| State::parse(word).is_some_and(State::is_final);
                let running = states.get(State::Running.as_str()).copied().unwrap_or(0);
                let over: u64 = states.iter().filter(|(word, _)| is_over(word)).map(|(_, count)| count).sum();
                let waiting = states.values().sum::<u64>() - running - over;
                format!("{waiting} wait, {running} run, {over} are over and kept, in {folder}")
            }
        };
        let faults = self.faults.iter().map(|fault| format!("    {fault}"));
        std::iter::once(format!("jobs        {line}")).chain(faults).collect()
    }
}
