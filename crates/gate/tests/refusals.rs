//! Whoever is refused without end does not fill the audit log: what is turned away is counted, and told once a second.

#![expect(clippy::disallowed_methods, reason = "the test reads the audit log it made")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use gate::{
    Approvals, Call, Caller, CallerKind, Catalog, Gate, Parts, RateConfig, Redactor, Role, Ruleset, Via,
};
use serde_json::Value;

/// Calls of a tool that there is not.
const CALLS: usize = 20_000;

struct World {
    gate: Gate,
    audit_log: Arc<audit::AuditLog>,
    folder: tempfile::TempDir,
}

impl World {
    fn new(per_second: u32) -> World {
        let folder = tempfile::tempdir().unwrap();
        let audit_log = Arc::new(audit::AuditLog::at(folder.path(), || 0));
        let policy = policy::Policy::new(&policy::Config::default()).unwrap();
        let gate = Gate::new(Parts {
            catalog: Catalog::new(Vec::new()),
            ruleset: Ruleset::new(policy, RateConfig { per_second, burst: 2 }),
            redactor: Redactor::new(&redact::Config::default()),
            approvals: Approvals::new(Arc::new(store::SqliteStore::at(folder.path()))),
            audit_log: audit_log.clone(),
            files: tool_api::Root::open(folder.path(), tool_api::Access::Read).unwrap(),
        });
        World { gate: gate.unwrap(), audit_log, folder }
    }

    async fn call(&self, caller: &Caller) -> String {
        self.gate.call(caller, Call::tool("nosuch", None)).await.unwrap_err().code().to_owned()
    }

    fn records(&self) -> Vec<Value> {
        self.audit_log.flush().unwrap();
        let text = std::fs::read_to_string(self.folder.path().join(audit::FILE)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_refusals_is_a_handful_of_records() {
    let world = World::new(1);
    let local = Caller::local_user(Via::Stdio);
    let mut codes = std::collections::BTreeMap::<String, usize>::new();
    for _ in 0..CALLS {
        *codes.entry(world.call(&local).await).or_default() += 1;
    }
    assert_eq!(world.call(&local).await, "rate_limited");
    // Others are not turned away for it.
    let agent = Role::Agent;
    let other = Caller::new("key:b".into(), CallerKind::Key, agent.into(), agent.scopes(), Via::Http);
    assert_eq!(world.call(&other).await, "unknown_tool");
    tokio::time::sleep(Duration::from_secs(2)).await;

    let records = world.records();
    let (unknown, told): (Vec<&Value>, Vec<&Value>) =
        records.iter().partition(|record| record["code"] == "unknown_tool");
    assert_eq!(unknown.len(), codes["unknown_tool"] + 1, "each has its record");
    assert!(unknown.len() < 500, "{}", unknown.len());
    let count: usize = told
        .iter()
        .map(|record| {
            assert_eq!((&record["code"], &record["tool"]), (&"rate_limited".into(), &"*".into()), "{record}");
            let effect = record["decisions"][0]["effect"].as_str().unwrap();
            effect.strip_suffix(" further calls turned away").unwrap().parse::<usize>().unwrap()
        })
        .sum();
    assert_eq!(count, codes["rate_limited"] + 1, "nobody is forgotten");
    assert!(told.len() < 10, "{}", told.len());
}

#[tokio::test]
async fn without_a_limit_every_refusal_has_its_record() {
    let world = World::new(0);
    for _ in 0..1_000 {
        assert_eq!(world.call(&Caller::local_user(Via::Stdio)).await, "unknown_tool");
    }
    assert_eq!(world.records().len(), 1_000);
}
