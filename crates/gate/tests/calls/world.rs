//! A gate under the rules of one case, and what comes of the call in words.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use artifacts::Artifacts;
use bytes::Bytes;
use gate::{
    Approvals, Block, Call, Caller, Cancel, Client, Failure, Gate, Input, Outcome, Parts, Payload,
    RateConfig, Rates, Redactor, Refusal, Ruleset, Via,
};
use redact::Known;
use serde_json::Value;

use crate::case::{Answered, Before, Brings, Broken, Case, What, impatient};
use crate::samples;

/// What a client says of itself that shows forms to its user.
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

/// The clock of approvals. It only goes forward, and by hand.
static NOW_MS: AtomicI64 = AtomicI64::new(1_800_000_000_000);

fn now_ms() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

fn pass(seconds: u64) {
    NOW_MS.fetch_add(i64::try_from(seconds).unwrap() * 1000, Ordering::SeqCst);
}

pub(crate) struct World {
    gate: Gate,
    caller: Caller,
    audit_log: Arc<audit::AuditLog>,
    /// The last state that a call gave out, and the last task.
    given: Option<Arc<str>>,
    task: String,
    /// The id of the last result that was cut.
    result: String,
    state: tempfile::TempDir,
    workspace: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(case: &Case) -> World {
        let (folder, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = folder.path().join("state");
        match case.broken {
            // A folder cannot be made where a file is, nor a database where a folder is.
            Some(Broken::AuditLog) => std::fs::write(&state, "").unwrap(),
            Some(Broken::Approvals) => std::fs::create_dir_all(state.join("toolcrib.db")).unwrap(),
            None => {}
        }
        let audit_log = Arc::new(audit::AuditLog::at(&state, || 0));
        let redactor = Redactor::new(&redact::Config::default());
        let known = |(name, value): (&String, &String)| Known {
            name: name.as_str().into(),
            value: value.as_str().into(),
        };
        redactor.know("test", case.secrets.iter().map(known).collect());
        link(workspace.path(), &case.links);
        let files = tool_api::Root::open(workspace.path(), tool_api::Access::ReadWrite).unwrap();
        let writable = sandbox::Writable::new(&case.writable).unwrap();
        files.protect(&sandbox::ProtectedPaths { writable, ..Default::default() });
        let store = Arc::new(store::SqliteStore::at(&state));
        let gate = Gate::new(Parts {
            catalog: samples::catalog(),
            ruleset: ruleset(case, workspace.path()),
            redactor,
            approvals: Approvals::with_clock(store.clone(), now_ms),
            audit_log: audit_log.clone(),
            files,
        })
        .unwrap();
        let artifacts = Artifacts::new(&state, store, artifacts::Limits::default(), now_ms);
        let gate = gate.with_artifacts(Arc::new(artifacts));
        let caller = case.who.caller();
        World {
            gate,
            caller,
            audit_log,
            given: None,
            task: String::new(),
            result: String::new(),
            state: folder,
            workspace,
        }
    }

    /// Makes the calls that come before, or tells what came of one that should have asked a person.
    pub(crate) async fn prepare(&mut self, case: &Case) -> Result<(), String> {
        if case.ai_rules_later {
            let without = Case { ai_rules: None, ..case.clone() };
            self.gate.govern(ruleset(&without, self.workspace.path()));
        }
        for before in &case.before {
            for nth in 0..before.times {
                self.make_before(before, nth).await?;
            }
        }
        if case.ai_rules_later {
            self.gate.govern(ruleset(case, self.workspace.path()));
        }
        link(self.workspace.path(), &case.links_later);
        pass(case.later_s);
        Ok(())
    }

    async fn make_before(&mut self, before: &Before, nth: u32) -> Result<(), String> {
        let arguments = before.what.arguments.as_ref().map(|text| text.replace('#', &nth.to_string()));
        let what = What { arguments, ..before.what.clone() };
        let made = self.make(&before.who.caller(), &what, None, Cancel::new()).await;
        if let Some(answered) = before.answer {
            let Err(Failure::Refused(Refusal::ApprovalPending(awaited))) = &made else {
                return Err(reply(&made));
            };
            let (approvals, person) = (self.gate.approvals(), Caller::local_user(Via::CommandLine));
            approvals.answer(&awaited.id, &answered.answer(), &person, None).unwrap();
            if let Answered::Revoked = answered {
                let grant = approvals.grants(&person).unwrap().remove(0);
                approvals.revoke(&grant.id, &person).unwrap();
            }
        }
        if let Some(id) = result_id(&reply(&made)) {
            self.result = id;
        }
        if let Ok(outcome) = made {
            match outcome.payload {
                Payload::InputRequired { state, .. } => self.given = state,
                Payload::Task { id, .. } => self.task = id.to_string(),
                Payload::Ours { .. } | Payload::Relayed { .. } => {}
            }
        }
        pass(before.later_s);
        Ok(())
    }

    pub(crate) async fn call(&self, case: &Case) -> Result<Outcome, Failure> {
        let cancel = Cancel::new();
        if case.cancelled {
            cancel.cancel();
        }
        self.make(&self.caller, &case.what, case.brings, cancel).await
    }

    async fn make(
        &self,
        caller: &Caller,
        what: &What,
        brings: Option<Brings>,
        cancel: Cancel,
    ) -> Result<Outcome, Failure> {
        let state = match brings {
            Some(Brings::Given) => Some(self.given.clone().expect("the call before gave one out")),
            Some(Brings::Forged) => Some("made-up".into()),
            Some(Brings::None) | None => None,
        };
        let input = brings.map(|_| Input { responses: Some(Bytes::from_static(b"{}")), state });
        let target = what.target(&self.task);
        let arguments = what.arguments.as_ref().map(|text| text.replace("RESULT", &self.result).into());
        let capabilities = if what.forms { FORMS.into() } else { Client::default().capabilities };
        let client = Client { capabilities, conversation: what.conversation, ..Client::default() };
        let meta = what.meta.clone().map(Bytes::from);
        let request_id = what.request_id.as_deref().map(Arc::from);
        let call = Call { target, meta, cancel, input, client, request_id, ..Call::tool("", arguments) };
        self.gate.call(caller, call).await
    }

    pub(crate) fn lists(&self, tool: &str) -> bool {
        let offer = self.gate.catalog().offer();
        let named = offer.tools.iter().find(|offered| offered.definition().name.as_str() == tool);
        named.is_some_and(|offered| self.gate.may_see(&self.caller, offered))
    }

    pub(crate) fn hears(&self, source: &str) -> bool {
        self.gate.may_hear(&self.caller, source)
    }

    /// The records in the audit log.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.audit_log.flush().unwrap();
        let text = std::fs::read_to_string(self.state.path().join("state").join(audit::FILE)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What the caller gets, with words for what is different each time.
    pub(crate) fn reply(&self, result: &Result<Outcome, Failure>) -> String {
        let told = reply(result);
        let asked = self.gate.approvals().approvals(&Caller::local_user(Via::CommandLine));
        let asked = asked.unwrap_or_default();
        let told = asked.iter().fold(told, |told, asked| {
            let until = gate::approvals::time(asked.expires_at_ms);
            told.replace(&*asked.id, "ID").replace(&until, "TIME")
        });
        let told = told.replace(&*self.workspace.path().to_string_lossy(), "WORKSPACE");
        result_id(&told).map_or_else(|| told.clone(), |id| told.replace(&id, "RESULT"))
    }
}

/// Whether a result names the artifacts that its record does.
pub(crate) fn names_its_artifacts(result: &Result<Outcome, Failure>, line: &Value) -> bool {
    let Ok(outcome) = result else { return true };
    let recorded = line["artifacts"].as_array().into_iter().flatten().filter_map(Value::as_str);
    recorded.eq(outcome.artifacts.iter().map(|artifact| artifact.id.as_str()))
}

/// The id of an artifact.
fn result_id(told: &str) -> Option<String> {
    let from = [" with id: ", "(id: "].iter().find_map(|before| Some(told.split_once(before)?.1))?;
    let id: String =
        from.trim_start_matches(['\\', '"']).chars().take_while(char::is_ascii_hexdigit).collect();
    Some(id)
}

fn link(workspace: &Path, links: &BTreeMap<String, String>) {
    for (name, target) in links {
        // There may be another one.
        let _ = std::fs::remove_file(workspace.join(name));
        std::os::unix::fs::symlink(target, workspace.join(name)).unwrap();
    }
}

fn ruleset(case: &Case, workspace: &Path) -> Ruleset {
    let (allow, deny, rules) = (case.allow.clone(), case.deny.clone(), case.rules.clone());
    let policy = policy::Config { allow, deny, rules, defaults: case.defaults, ..Default::default() };
    let rate = RateConfig { per_second: 1, burst: 3 };
    let limits = &case.limits;
    let rates = Rates::new(rate, &limits.callers, &limits.tools, &limits.upstreams).unwrap();
    let ai_rules = case.ai_rules.as_ref().map(|text| ai_rules(workspace, case, text));
    Ruleset {
        rules: Arc::new(ai_rules.unwrap_or_else(rules::Rules::none)),
        approvals: impatient(&case.approvals),
        ..Ruleset::new(policy::Policy::new(&policy).unwrap(), rates)
    }
}

/// Rules that stand in the workspace.
fn ai_rules(workspace: &Path, case: &Case, rules: &str) -> rules::Rules {
    std::fs::create_dir_all(workspace.join(".toolcrib")).unwrap();
    let text = format!("version: '1.0'\nrules:\n{rules}");
    std::fs::write(workspace.join(".toolcrib/ai-rules.yaml"), text).unwrap();
    let mode = case.ai.mode;
    // Of the words that the program hands over, the one that a case is about.
    let vocabulary = [("uri", rules::Holds::Other)].into_iter().collect();
    rules::Rules::new(rules::Settings {
        workspace: workspace.to_owned(),
        mode,
        vocabulary,
        ..Default::default()
    })
}

/// A record in one line: outcome, code, checks, what AI rules did, how much was struck out, whether something was sent beside
/// the arguments.
pub(crate) fn record(line: &Value) -> String {
    let verdicts = line["verdicts"].as_array().unwrap().iter().map(|verdict| {
        let mark = match verdict[1].as_str().unwrap() {
            "pass" => "",
            "ask" => "?",
            _ => "!",
        };
        format!("{mark}{}", verdict[0].as_str().unwrap())
    });
    let checks = verdicts.collect::<Vec<_>>().join(" ");
    let code = line["code"].as_str().map_or(String::new(), |code| format!(" {code}"));
    let of_rules: String =
        decided(line).filter_map(|one| Some(format!(" {}", one.strip_prefix("ai_rules ")?))).collect();
    let struck = line["redactions"].as_u64().map_or(String::new(), |count| format!(" struck {count}"));
    let kept = line["artifacts"].as_array().map_or(String::new(), |ids| format!(" kept {}", ids.len()));
    let beside = if line["meta_sha256"].is_string() { " beside" } else { "" };
    format!("{}{code} [{checks}]{of_rules}{struck}{kept}{beside}", line["outcome"].as_str().unwrap())
}

/// All that had a say: the rules, and the person who was asked.
pub(crate) fn decisions(line: &Value) -> Vec<String> {
    let text = |name: &str| line["approval"][name].as_str().map(str::to_owned);
    let person = (|| Some(format!("{} by {} through {}", text("answer")?, text("by")?, text("through")?)))();
    decided(line).chain(person).collect()
}

fn decided(line: &Value) -> impl Iterator<Item = String> {
    line["decisions"].as_array().into_iter().flatten().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap();
        format!("{} {}: {}", text("by"), text("rule"), text("effect"))
    })
}

fn reply(result: &Result<Outcome, Failure>) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match result {
        Ok(Outcome { payload: Payload::Ours { blocks, structured }, is_error: false, artifacts, .. }) => {
            let blocks: Vec<_> = blocks
                .iter()
                .map(|block| match block {
                    Block::Text(text) => text.clone(),
                    other => format!("{other:?}"),
                })
                .collect();
            let structured = structured.as_ref().map(|json| text(json));
            let made: String = artifacts.iter().map(|made| format!(" made {:?}", made.name)).collect();
            format!("{} {}{made}", blocks.join(" "), structured.unwrap_or_default())
        }
        Ok(Outcome { payload: Payload::Relayed { result, .. }, is_error, .. }) => {
            format!("{}{}", if *is_error { "error: " } else { "" }, text(result))
        }
        Ok(Outcome { payload: Payload::InputRequired { requests, .. }, .. }) => {
            format!("asks: {}", requests.as_ref().map(|json| text(json)).unwrap_or_default())
        }
        Ok(Outcome { payload: Payload::Task { .. }, .. }) => "a task".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(Failure::Internal(_)) => "internal: the log has the cause".to_owned(),
        Err(failure) => format!("{}: {failure}", failure.code()),
    }
}
