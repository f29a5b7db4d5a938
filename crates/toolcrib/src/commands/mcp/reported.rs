//! How a server is doing, as a running process tells it, perhaps of another version: what is missing is left out.

use serde::Deserialize;
use serde_json::Value;

/// One server: what is reported of it, and what of that is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReportedServer {
    #[serde(skip)]
    pub(super) report: Value,
    name: String,
    workspace: Option<String>,
    state: ReportedState,
    transport: String,
    tools: Option<u64>,
    prompts: Option<u64>,
    resources: Option<u64>,
    held_back: Option<u64>,
    stale: bool,
    fetched_at_ms: Option<i64>,
    circuit_open_ms: Option<u64>,
    last_error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReportedState {
    status: String,
    error: Option<String>,
}

impl ReportedServer {
    /// What a report or a change says.
    pub(super) fn of(report: &Value) -> ReportedServer {
        // One that says something in another way than this version is shown as far as that goes.
        let server = serde_json::from_value(report.clone()).unwrap_or_default();
        ReportedServer { report: report.clone(), ..server }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same with its workspace, unless that is the default one.
    pub(super) fn label(&self) -> String {
        match &self.workspace {
            Some(workspace) => format!("{} ({workspace})", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether it does otherwise than before, or was connected to anew meanwhile.
    pub(super) fn is_other(&self, now: &ReportedServer) -> bool {
        let facts = |server: &ReportedServer| (server.status(), server.error(), server.fetched_at_ms);
        facts(self) != facts(now)
    }

    pub(super) fn is_good(&self) -> bool {
        !matches!(self.state.status.as_str(), "failed" | "needs_auth" | "needs_client_registration")
    }

    /// What is reported, with `{"status":…,"error":…}` in place of the `state` around them.
    pub(super) fn to_json(&self) -> Value {
        let mut report = self.report.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(state)) = report.remove("state") {
            report.extend(state);
        }
        report.into()
    }

    /// How it is doing, in words.
    pub(super) fn status(&self) -> String {
        match self.state.status.as_str() {
            "" => "unknown".to_owned(),
            status => status.replace('_', " "),
        }
    }

    /// What went wrong, and what to do about it.
    pub(super) fn error(&self) -> String {
        let ReportedServer { name, state, circuit_open_ms, last_error, .. } = self;
        let error = match (state.status.as_str(), &state.error) {
            (_, None) if circuit_open_ms.is_some() => {
                let wait_s = circuit_open_ms.unwrap_or_default().div_ceil(1000);
                format!("its calls get no answer; tried again in {wait_s} s")
            }
            ("needs_auth", _) => format!("run `toolcrib mcp auth {name}`"),
            ("failed", Some(error)) => format!("{error}; `toolcrib mcp test {name}` says more"),
            (_, Some(error)) => error.clone(),
            (_, None) => last_error.clone().unwrap_or_default(),
        };
        // One row is one line.
        error.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn row(&self, now_ms: i64) -> Vec<String> {
        let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
        let age = self.fetched_at_ms.map(|fetched| age(now_ms.saturating_sub(fetched)));
        let stale = if self.stale { ", stale" } else { "" };
        vec![
            self.label(),
            self.transport.clone(),
            self.status(),
            count(self.tools),
            count(self.prompts),
            count(self.resources),
            count(self.held_back),
            age.map_or("-".to_owned(), |age| format!("{age}{stale}")),
            self.error(),
        ]
    }

    /// How it is doing, for a cell of a table.
    pub(super) fn in_short(&self) -> String {
        let ReportedServer { state, tools, held_back, .. } = self;
        let status = self.status();
        match (status.as_str(), &state.error) {
            ("connected", _) => {
                let held = held_back.filter(|held| *held > 0).map(|held| format!(", {held} held back"));
                format!("connected, {}{}", counted(*tools), held.unwrap_or_default())
            }
            (_, Some(error)) => format!("{status}: {error}"),
            (_, None) => status,
        }
    }
}

pub(super) fn counted(tools: Option<u64>) -> String {
    match tools {
        Some(1) => "1 tool".to_owned(),
        Some(tools) => format!("{tools} tools"),
        None => "its tools unknown".to_owned(),
    }
}

/// How long ago something was, in the largest unit that fits.
pub(super) fn age(ms: i64) -> String {
    const MINUTE_MS: i64 = 60_000;
    const HOUR_MS: i64 = 60 * MINUTE_MS;
    const DAY_MS: i64 = 24 * HOUR_MS;
    match ms {
        ..MINUTE_MS => "new".to_owned(),
        MINUTE_MS..HOUR_MS => format!("{} min old", ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{} h old", ms / HOUR_MS),
        DAY_MS.. => format!("{} d old", ms / DAY_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_unit() {
        for (ms, expected) in [
            (-5, "new"),
            (60_000, "1 min old"),
            (3_599_999, "59 min old"),
            (3_600_000, "1 h old"),
            (86_400_000 * 9, "9 d old"),
        ] {
            assert_eq!(age(ms), expected);
        }
    }
}
