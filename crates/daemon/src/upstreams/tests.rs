//! What is listed and how upstreams are doing when they are announced, remembered and let go.

mod exchanged;
mod lacking;
mod shared;
pub mod small_server;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use config::Settings as AllSettings;
use gate::{Action, Call, Caller, Gate, Outcome, Parts, Payload, Target, ToolError, Via};
use store::{DefinitionStore as _, Definitions, SqliteStore, Store};
use terminal::times::now_ms;
use upstream::{Config, NotFollowed, State};

use super::*;
use crate::shared::world;
use small_server::SmallServer;

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// What every wait for an outcome is given; only a failing test needs it.
const PATIENCE: Duration = Duration::from_secs(20);

/// An upstream whose program does not exist: whoever starts it finds out.
fn program(prefix: &str) -> Config {
    let command = Some("/does/not/exist".to_owned());
    Config { command, prefix: Some(prefix.to_owned()), ..Config::default() }
}

fn missing() -> NotFollowed {
    NotFollowed::Missing("no secret KEY is kept here".to_owned())
}

fn settle(name: &str, config: &Config) -> Settings {
    config.settle(name, Duration::from_secs(1), &|_| Err(missing())).expect("a sound table")
}

/// Settled tables that know of each other.
fn settle_all(tables: &[(&str, Config)]) -> Vec<Settings> {
    let all: Vec<Settings> = tables.iter().map(|(name, config)| settle(name, config)).collect();
    all.iter().map(|settings| settings.clone().knowing(&all)).collect()
}

/// A workspace before a gate, with nothing on offer but its upstreams'.
struct World {
    servers: Arc<Servers>,
    upstreams: Upstreams,
    catalog: Arc<Catalog>,
    gate: Gate,
}

impl World {
    fn new(folder: &Path, settings: Vec<Settings>, start: Start) -> World {
        let state = folder.join("state");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::at(&state));
        let world = world(store::Secrets::new(store.clone(), &state)).expect("a program");
        World::sharing(&Servers::new(world, store), folder, settings, start)
    }

    /// One workspace of several.
    fn sharing(servers: &Arc<Servers>, folder: &Path, settings: Vec<Settings>, start: Start) -> World {
        let state = folder.join("state");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::at(&state));
        let catalog = Catalog::new(Vec::new());
        let AllSettings { policy, rates, redactor, .. } = AllSettings::for_selftest(folder);
        let upstreams = Upstreams::start(settings, servers, &catalog, &redactor, start);
        let files = sandbox::Root::open(folder, sandbox::Access::Read).expect("a folder");
        let audit_log = Arc::new(audit::AuditLog::at(&state, now_ms));
        let ruleset = gate::Ruleset::new(policy, rates);
        let approvals = gate::Approvals::new(store.clone());
        let parts = Parts { catalog: catalog.clone(), ruleset, redactor, approvals, audit_log, files };
        World { servers: servers.clone(), upstreams, catalog, gate: Gate::new(parts).expect("randomness") }
    }

    fn tools(&self) -> Vec<String> {
        self.catalog.offer().tools.iter().map(|tool| tool.definition().name.to_string()).collect()
    }

    async fn call(&self, tool: &str) -> Result<String, String> {
        let caller = Caller::local_user(Via::CommandLine);
        let calls = async {
            loop {
                match self.gate.call(&caller, Call::tool(tool, None)).await {
                    // As clients do that are told so.
                    Err(failure) if failure.code() == ToolError::GONE => {}
                    done => return done,
                }
            }
        };
        match tokio::time::timeout(PATIENCE, calls).await.expect("an answer in time") {
            Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
                Ok(String::from_utf8_lossy(&result).into_owned())
            }
            Ok(other) => Err(format!("{other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }

    async fn until_connected(&self, name: &str) {
        let upstream = self.upstreams.get(name).expect("it is there");
        let mut offers = upstream.offers();
        let connected = offers.wait_for(|offer| matches!(offer.state, State::Connected { .. }));
        drop(tokio::time::timeout(PATIENCE, connected).await.expect("in time").expect("it lives"));
        // And carried into the catalogue.
        tokio::time::timeout(PATIENCE, self.catalog.settled()).await.expect("in time");
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    terminal::runtime::run(work).expect("a runtime")
}

/// What is listed and how each upstream is doing, once every source has reported.
#[track_caller]
fn check(tables: &[(&str, Config)], remembered: &[(&str, i64)], start: Start, expected: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settle_all(tables);
    let store = SqliteStore::at(&folder.path().join("state"));
    for (name, age_ms) in remembered {
        let fingerprint =
            settings.iter().find(|settings| settings.name() == *name).expect("a name").fingerprint();
        let tools_json = r#"[{"name":"a","inputSchema":{}}]"#.to_owned();
        let fetched_at_ms = now_ms() - age_ms;
        let definitions =
            Definitions { upstream: (*name).to_owned(), fingerprint, tools_json, fetched_at_ms };
        store::wait(store.keep_definitions(definitions)).expect("a store");
    }
    let found = run(async {
        let world = World::new(folder.path(), settings, start);
        let offer = world.catalog.settled().await;
        let tools = offer.tools.iter().map(|tool| tool.definition().name.to_string());
        let states = world.upstreams.iter().map(|upstream| {
            let state = upstream.offers().borrow().state.to_string();
            format!("{} {}", upstream.name(), state.split(':').next().unwrap_or_default())
        });
        let left_out = offer.collisions.iter().map(|one| format!("{} has no {}", one.source, one.name));
        let found: Vec<String> = tools.chain(states).chain(left_out).collect();
        world.upstreams.end().await;
        found
    });
    assert_eq!(found, expected);
}

#[test]
fn what_is_remembered_is_listed_and_nothing_starts() {
    // One that is stale is asked anew, but not before it is listed.
    for age_ms in [0, HOUR_MS - 60_000, HOUR_MS + 60_000, 30 * DAY_MS - 60_000] {
        let expected = ["x_a", "x stopped (starts on demand)"];
        check(&[("x", program("x"))], &[("x", age_ms)], Start::WhenWanted, &expected);
    }
}

#[test]
fn what_was_remembered_too_long_ago_is_asked_for_anew() {
    for age_ms in [30 * DAY_MS, -60_000] {
        check(&[("x", program("x"))], &[("x", age_ms)], Start::WhenWanted, &["x failed"]);
    }
}

#[test]
fn one_that_fails_keeps_nobody_waiting() {
    check(&[("x", program("x"))], &[], Start::WhenWanted, &["x failed"]);
    check(&[("x", program("x"))], &[], Start::AtOnce, &["x failed"]);
}

#[test]
fn one_that_starts_on_demand_is_started_only_to_see_what_it_has() {
    let table = Config { on_demand: true, ..program("x") };
    let idle = ["x_a", "x stopped (starts on demand)"];
    check(&[("x", table.clone())], &[("x", 2 * HOUR_MS)], Start::AtOnce, &idle);
    check(&[("x", table.clone())], &[("x", 0)], Start::WhenWanted, &idle);
    check(&[("x", table)], &[], Start::AtOnce, &["x failed"]);
}

#[test]
fn one_that_is_switched_off_is_not_waited_for() {
    let off = Config { enabled: upstream::Enabled(false), ..program("off") };
    let both = [("off", off), ("x", program("x"))];
    check(&both, &[("x", 0)], Start::WhenWanted, &["x_a", "off disabled", "x stopped (starts on demand)"]);
}

#[test]
fn the_first_by_name_wins_a_tool() {
    let both = [("x", program("")), ("y", program(""))];
    let expected = ["a", "x stopped (starts on demand)", "y stopped (starts on demand)", "y has no a"];
    check(&both, &[("x", 0), ("y", 0)], Start::WhenWanted, &expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_and_stale_is_asked_for_anew_behind_that() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settle_all(&[("fresh", program("fresh")), ("stale", program("stale"))]);
    let store = SqliteStore::at(&folder.path().join("state"));
    for (settings, age_ms) in settings.iter().zip([0, 2 * HOUR_MS]) {
        let definitions = Definitions {
            upstream: settings.name().to_owned(),
            fingerprint: settings.fingerprint(),
            tools_json: r#"[{"name":"a","inputSchema":{}}]"#.to_owned(),
            fetched_at_ms: now_ms() - age_ms,
        };
        store::wait(store.keep_definitions(definitions)).expect("a store");
    }
    let world = World::new(folder.path(), settings, Start::WhenWanted);
    let mut stale = world.upstreams.get("stale").expect("it is there").offers();
    // Its program does not exist, and that is found out.
    stale.wait_for(|offer| offer.state != State::Stopped).await.expect("it is tried");
    let fresh = world.upstreams.get("fresh").expect("it is there").offers();
    assert_eq!(fresh.borrow().state, State::Stopped);
    assert_eq!(world.tools(), ["fresh_a", "stale_a"]);
    world.upstreams.end().await;
}

#[test]
fn settings_are_compared_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let off = |prefix: &str| Config { enabled: upstream::Enabled(false), ..program(prefix) };
    let slow = |prefix: &str| Config {
        timeout: toml::from_str::<Config>("timeout = 5").expect("sound").timeout,
        ..program(prefix)
    };
    let tables = |all: Vec<(&'static str, Config)>| all;
    let before = tables(vec![
        ("a", program("a")),
        ("b", program("b")),
        ("c", program("c")),
        ("d", off("d")),
        ("e", program("e")),
        ("f", off("f")),
    ]);
    let after = tables(vec![
        ("a", program("a")),
        ("aa", program("aa")),
        ("b", slow("b")),
        ("d", program("d")),
        ("e", off("e")),
        ("f", off("f")),
    ]);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    run(async {
        let world = World::new(folder.path(), settle_all(&before), Start::WhenWanted);
        let unchanged = world.upstreams.get("a").expect("it is there");
        let changes = world.upstreams.replace(settle_all(&after));
        let expected = Changes {
            added: names(&["aa"]),
            removed: names(&["c"]),
            changed: names(&["b", "d", "e"]),
            unchanged: names(&["a", "f"]),
        };
        assert_eq!(changes, expected);
        assert!(Arc::ptr_eq(&unchanged, &world.upstreams.get("a").expect("it is there")));
        let states: Vec<String> = world
            .upstreams
            .iter()
            .map(|upstream| format!("{} {}", upstream.name(), upstream.offers().borrow().state))
            .collect();
        let idle = "stopped (starts on demand)";
        let expected =
            [("a", idle), ("aa", idle), ("b", idle), ("d", idle), ("e", "disabled"), ("f", "disabled")];
        assert_eq!(states, expected.map(|(name, state)| format!("{name} {state}")));
        let sources: Vec<String> =
            world.catalog.settled().await.sources.iter().map(|source| source.name.to_string()).collect();
        assert_eq!(sources, ["built-in", "a", "aa", "b", "d"]);
        world.upstreams.end().await;
    });
}

#[test]
fn one_that_goes_takes_its_tools_along_and_frees_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let (one, two) = (SmallServer::new(folder.path(), "one"), SmallServer::new(folder.path(), "two"));
        let both = settle_all(&[("one", one.table()), ("two", two.table())]);
        let world = World::new(folder.path(), both, Start::AtOnce);
        world.until_connected("one").await;
        world.until_connected("two").await;
        assert_eq!(world.catalog.offer().collisions.len(), 2, "both have the tool and the resource");
        let changes = world.catalog.changes().borrow().tools;
        world.upstreams.replace(settle_all(&[("two", two.table())]));
        assert!(world.catalog.changes().borrow().tools > changes, "clients hear of it");
        two.answers.add_permits(1);
        assert!(world.call("wait").await.expect("the other has it now").contains("\"two\""));
        // And back again: who comes first by name wins, whoever was there before.
        world.upstreams.replace(settle_all(&[("one", one.table()), ("two", two.table())]));
        world.until_connected("one").await;
        one.answers.add_permits(1);
        assert!(world.call("wait").await.expect("it is back").contains("\"one\""));
        world.upstreams.end().await;
    });
}

#[test]
fn what_others_are_called_decides_what_an_unchanged_one_may_offer() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::offering(folder.path(), "it", "b_wait");
        let alone = || vec![("it", server.table())];
        let world = World::new(folder.path(), settle_all(&alone()), Start::AtOnce);
        world.until_connected("it").await;
        assert_eq!(world.tools(), ["b_wait"]);
        let it = world.upstreams.get("it").expect("it is there");
        let with_b = vec![("b", program("b")), ("it", server.table())];
        for (tables, expected) in [(with_b, vec![]), (alone(), vec!["b_wait"])] {
            let mut changes = world.catalog.changes();
            assert_eq!(world.upstreams.replace(settle_all(&tables)).unchanged, ["it"]);
            let as_expected = changes.wait_for(|_| world.tools() == expected);
            drop(tokio::time::timeout(PATIENCE, as_expected).await.expect("in time").expect("it lives"));
            assert!(matches!(it.offers().borrow().state, State::Connected { .. }));
        }
        world.upstreams.end().await;
    });
}

#[test]
fn connecting_anew_says_how_it_went() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let off = Config { enabled: upstream::Enabled(false), ..program("off") };
        let tables = [("bad", program("bad")), ("it", server.table()), ("off", off)];
        let world = World::new(folder.path(), settle_all(&tables), Start::WhenWanted);
        let mut said = Vec::new();
        for name in ["bad", "it", "off", "nobody"] {
            said.push(match world.upstreams.reconnect(name, PATIENCE).await {
                Ok(report) => format!("{} {}", report.name, report.state.word()),
                Err(why) => why,
            });
        }
        let expected =
            ["bad failed", "it connected", "its server `off` is disabled", "it has no server `nobody`"];
        assert_eq!(said, expected);
        assert_eq!(
            world.upstreams.iter().map(|one| one.name().to_owned()).collect::<Vec<_>>(),
            ["bad", "it", "off"]
        );
        world.upstreams.end().await;
    });
}
