//! How one server is doing, as a process says it, perhaps of another version: what that leaves out is nothing, and what
//! it says besides stays.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use upstream::{SandboxRefusal, SandboxState};

/// How a server is doing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ServerReport {
    /// In a word.
    pub state: ServerState,
    /// What else there is to say.
    #[serde(flatten)]
    pub facts: ServerFacts,
}

/// The same with the members of its state beside the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    /// How it is doing in a word.
    #[serde(flatten)]
    pub state: ServerState,
    /// What else there is to say.
    #[serde(flatten)]
    pub facts: ServerFacts,
}

/// How a server is doing in a word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerState {
    /// `connected`, `connecting`, `stopped`, `disabled`, `needs_auth`, `needs_client_registration` or `failed`.
    pub status: String,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is reported of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// In which workspace, unless that is the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How it is reached.
    pub transport: String,
    /// How many tools it offers.
    pub tools: Option<u64>,
    /// How many prompts it offers.
    pub prompts: Option<u64>,
    /// How many resources and resource templates it offers.
    pub resources: Option<u64>,
    /// How many things are not offered before a person accepts them.
    pub held_back: Option<u64>,
    /// How many and why, in a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back_why: Option<String>,
    /// True if what it offers was read longer ago than it stays good.
    pub stale: bool,
    /// When that was read, in milliseconds since 1970.
    pub fetched_at_ms: Option<i64>,
    /// How long its calls are still refused, in milliseconds, since too many in a row got no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_open_ms: Option<u64>,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// How its program is confined; nothing for what is no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxFacts>,
    /// What else it says.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How the program of a server is confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SandboxFacts {
    /// `confined`, `open`, or `degraded` for one that runs without some layers.
    pub profile: String,
    /// Layers that were missing and waived.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// What it was refused first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusalFacts>,
}

/// Something that a server tried or named, and did not get.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RefusalFacts {
    /// What, such as `connect db.internal:5432`.
    pub what: String,
    /// Why, as the end of a sentence.
    pub why: String,
    /// How often.
    pub times: u64,
    /// The command that allows it; nothing where none does, or none should.
    pub allow: Option<String>,
}

impl RefusalFacts {
    /// For people: what was blocked, why, and what to do about it.
    pub fn line(&self) -> String {
        let allow = self.allow.as_ref().map(|command| format!("; allow it with `{command}`"));
        format!("blocked: {} ({}){}", self.what, self.why, allow.unwrap_or_default())
    }
}

impl From<SandboxRefusal> for RefusalFacts {
    fn from(SandboxRefusal { what, why, times, allow }: SandboxRefusal) -> RefusalFacts {
        RefusalFacts { what, why, times, allow }
    }
}

impl From<SandboxState> for SandboxFacts {
    fn from(SandboxState { profile, without, refused }: SandboxState) -> SandboxFacts {
        SandboxFacts {
            profile: profile.to_owned(),
            without: without.into_iter().map(str::to_owned).collect(),
            refused: refused.into_iter().map(RefusalFacts::from).collect(),
        }
    }
}

impl ServerReport {
    /// What a report says. One that says something in another way than this version has its name at least.
    pub fn of(mut said: Value) -> ServerReport {
        let name = said["name"].as_str().unwrap_or_default().to_owned();
        let state = said.as_object_mut().and_then(|said| said.remove("state")).unwrap_or_default();
        ServerReport {
            state: serde_json::from_value(state).unwrap_or_default(),
            facts: serde_json::from_value(said)
                .unwrap_or_else(|_| ServerFacts { name, ..ServerFacts::default() }),
        }
    }
}

impl<'de> Deserialize<'de> for ServerReport {
    fn deserialize<D: Deserializer<'de>>(said: D) -> Result<ServerReport, D::Error> {
        Value::deserialize(said).map(ServerReport::of)
    }
}

impl From<ServerReport> for ServerStatus {
    fn from(ServerReport { state, facts }: ServerReport) -> ServerStatus {
        ServerStatus { state, facts }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_another_version_says_is_kept_as_far_as_that_goes() {
        let said = json!({ "name": "odd", "state": { "status": "sleeping" }, "mood": "fine", "tools": 3 });
        let report = ServerReport::of(said);
        assert_eq!((report.facts.tools, &report.facts.more["mood"]), (Some(3), &json!("fine")));
        let status = json!(ServerStatus::from(report));
        assert_eq!((&status["status"], status.get("state")), (&json!("sleeping"), None));
        let strange = ServerReport::of(json!({ "name": "odd", "state": "well", "tools": "many" }));
        assert_eq!((&*strange.facts.name, &*strange.state.status), ("odd", ""));
        assert_eq!(ServerReport::of(Value::Null), ServerReport::default());
    }
}
