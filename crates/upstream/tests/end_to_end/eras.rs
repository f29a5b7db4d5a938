//! Finding out in which era a server is met, over stdio.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tool_api::{Client, Context};
use upstream::Upstream;

use crate::world::*;

/// The upstream `it` of the scripted server with these habits, and the file in which that notes what it is told.
pub(crate) fn program(habits: &[&str], trace: Option<&Path>) -> Arc<Upstream> {
    let trace = trace.map(|trace| format!("trace={}", trace.display()));
    let habits: Vec<&str> = habits.iter().copied().chain(trace.as_deref()).collect();
    upstream(&script_table("eras.py", &habits))
}

pub(crate) async fn connected(habits: &[&str]) -> Arc<Upstream> {
    let it = program(habits, None);
    it.connect().await.expect("connected");
    it
}

/// A call of a client that declares `capabilities`.
pub(crate) fn of(conversation: u64, capabilities: &'static str) -> Context {
    let capabilities = Bytes::from_static(capabilities.as_bytes());
    Context { client: Client { capabilities, conversation, ..Client::default() }, ..context(None) }
}

/// What a server was told, of each process on a line of its own. Lists are left out.
pub(crate) struct Trace {
    _folder: tempfile::TempDir,
    pub(crate) file: PathBuf,
}

impl Trace {
    pub(crate) fn new() -> Trace {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trace");
        Trace { _folder: folder, file }
    }

    pub(crate) fn read(&self) -> String {
        let text = std::fs::read_to_string(&self.file).expect("a trace");
        let is_of_interest = |line: &&str| !line.ends_with("/list");
        let lines: Vec<_> = text.lines().filter(is_of_interest).collect();
        lines.join(" ").replace(" start", "\nstart")
    }
}

/// Meets a server with these habits, and again when it has been met.
async fn check(habits: &[&str], met_as: &str, first: &str, then: &str) {
    let trace = Trace::new();
    let it = program(habits, Some(&trace.file));
    it.connect().await.expect("connected");
    assert_eq!(state(&it), format!("connected to eras 1 ({met_as})"), "{habits:?}");
    assert_eq!(trace.read(), first, "{habits:?}");
    let definitions = it.offers().borrow().definitions.clone().expect("it has lists");
    it.end().await;

    let trace = Trace::new();
    let it = program(habits, Some(&trace.file));
    assert!(it.offer_cached(&definitions, 1));
    it.connect().await.expect("connected");
    assert_eq!(state(&it), format!("connected to eras 1 ({met_as})"), "again {habits:?}");
    assert_eq!(trace.read(), then, "again {habits:?}");
    it.end().await;
}

const IN_PLACE: &str = "start server/discover initialize notifications/initialized";
const AT_ONCE: &str = "start initialize notifications/initialized";

#[tokio::test]
async fn a_legacy_server_that_says_so_is_met_in_place_and_remembered() {
    check(&["legacy"], "2025-11-25", IN_PLACE, AT_ONCE).await;
    check(&["legacy", "version=2024-11-05"], "2024-11-05", IN_PLACE, AT_ONCE).await;
    // It names a revision that has no handshake.
    check(&["legacy", "version=2026-07-28"], "2025-11-25", IN_PLACE, AT_ONCE).await;
}

#[tokio::test]
async fn a_modern_server_is_offered_a_handshake_once_and_in_another_process() {
    let twice = "start server/discover\nstart initialize";
    check(&["modern"], "2026-07-28", twice, "start server/discover").await;
    check(&["locked"], "2026-07-28", twice, "start server/discover").await;
}

#[tokio::test]
async fn a_silent_server_is_met_with_a_handshake_in_the_same_process() {
    check(&["legacy", "silent"], "2025-11-25", IN_PLACE, AT_ONCE).await;
}

#[tokio::test]
async fn a_server_that_exits_at_the_question_is_started_again() {
    let twice = "start server/discover\nstart initialize notifications/initialized";
    check(&["legacy", "exits"], "2025-11-25", twice, AT_ONCE).await;
    check(&["legacy", "exits", "sleep=3.5"], "2025-11-25", twice, AT_ONCE).await;
}

#[tokio::test]
async fn a_server_that_is_slow_to_start_still_answers_the_question_first() {
    let slow = "start server/discover initialize";
    let first = format!("{slow}\nstart initialize");
    check(&["modern", "sleep=3.5"], "2026-07-28", &first, slow).await;
    check(&["locked", "sleep=3.5"], "2026-07-28", &first, slow).await;
}

#[tokio::test]
async fn what_is_remembered_is_forgotten_when_it_proves_wrong() {
    let old = connected(&["legacy"]).await;
    let definitions = old.offers().borrow().definitions.clone().expect("it has lists");
    let trace = Trace::new();
    let it = program(&["modern"], Some(&trace.file));
    assert!(it.offer_cached(&definitions, 1));
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to eras 1 (2026-07-28)");
    assert_eq!(trace.read(), "start initialize server/discover");

    let new = connected(&["modern"]).await;
    let definitions = new.offers().borrow().definitions.clone().expect("it has lists");
    let trace = Trace::new();
    let it = program(&["legacy"], Some(&trace.file));
    assert!(it.offer_cached(&definitions, 1));
    it.connect().await.expect("connected");
    assert_eq!(trace.read(), IN_PLACE);
}

#[tokio::test]
async fn what_is_remembered_is_forgotten_when_the_start_fails() {
    let old = connected(&["legacy"]).await;
    let definitions = old.offers().borrow().definitions.clone().expect("it has lists");
    let trace = Trace::new();
    let it = program(&["modern", "exits at hello"], Some(&trace.file));
    assert!(it.offer_cached(&definitions, 1));
    it.connect().await.expect_err("it takes no handshake");
    it.connect().await.expect("connected");
    assert_eq!(trace.read(), "start initialize\nstart server/discover\nstart initialize");
}

#[tokio::test]
async fn a_server_of_the_future_is_told_apart_from_an_old_one() {
    let error = program(&["modern", "newer"], None).connect().await.expect_err("nothing in common");
    let expected = "it does not speak MCP as expected: it speaks the protocol versions 2031-01-01, none of which is supported";
    assert_eq!(error.to_string(), expected);
}

/// What a server is told with a call, as text.
async fn meta(it: &Upstream, cx: &Context) -> String {
    let said = shown(tool(it, "it_meta").run(arguments("{}"), cx).await).replace("\\\"", "\"");
    said.split_once(r#""text": ""#)
        .and_then(|(_, meta)| meta.rsplit_once("\"}]"))
        .expect("a text")
        .0
        .to_owned()
}

#[tokio::test]
async fn a_modern_server_is_told_of_the_client_and_of_nothing_else() {
    let it = connected(&["modern"]).await;
    let ours = r#"{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "toolcrib-test", "version": "0"}, "io.modelcontextprotocol/clientCapabilities": {}}"#;
    assert_eq!(meta(&it, &Context { client: Client::default(), ..context(None) }).await, ours);
    let client = Client {
        capabilities: Bytes::from_static(br#"{"roots":{}}"#),
        info: Some(Bytes::from_static(br#"{"name":"far","version":"9"}"#)),
        log_level: Some("info"),
        conversation: 4,
        ..Client::default()
    };
    let passed_on =
        r#"{"traceparent":"00-1","progressToken":"theirs","io.modelcontextprotocol/protocolVersion":"x"}"#;
    let cx = Context {
        client,
        meta: Some(Bytes::from_static(passed_on.as_bytes())),
        ..context(Some(Arc::new(Reports::default())))
    };
    let theirs = r#"{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "far", "version": "9"}, "io.modelcontextprotocol/clientCapabilities": {"roots": {}}, "io.modelcontextprotocol/logLevel": "info", "progressToken": ID, "traceparent": "00-1"}"#;
    let said = meta(&it, &cx).await;
    let id = said
        .split_once(r#""progressToken": "#)
        .and_then(|(_, rest)| rest.split_once(','))
        .expect("a token")
        .0;
    assert!(id.parse::<u64>().is_ok(), "{said}");
    assert_eq!(said, theirs.replace("ID", id));

    let legacy = connected(&["legacy"]).await;
    assert_eq!(meta(&legacy, &context(None)).await, "null");
    let cx = Context { meta: Some(Bytes::from_static(passed_on.as_bytes())), ..context(None) };
    assert_eq!(meta(&legacy, &cx).await, r#"{"traceparent": "00-1"}"#);
}

#[tokio::test]
async fn a_modern_server_that_breaks_its_own_rules_is_not_followed() {
    let it = connected(&["modern"]).await;
    let said = shown(call(&it, "it_odd", "{}").await);
    assert!(
        said.starts_with("upstream_broken: the answer of `it` cannot be used: its result is of"),
        "{said}"
    );
    let said = shown(call(&it, "it_request", "{}").await);
    assert!(said.contains("-32600") && said.contains("send no requests"), "{said}");
}

#[tokio::test]
async fn a_flood_of_news_holds_nothing_up() {
    for era in ["legacy", "modern"] {
        let it = connected(&[era]).await;
        let flood = tool(&it, "it_flood");
        let cx = context(None);
        let (flooded, fast) = tokio::join!(flood.run(arguments("{}"), &cx), call(&it, "it_levels", "{}"));
        assert!(shown(flooded).contains("flooded"));
        assert!(shown(fast).contains("[]"));
        assert!(shown(call(&it, "it_levels", "{}").await).contains("[]"));
    }
}

#[tokio::test]
async fn a_modern_program_is_told_which_call_is_given_up() {
    let it = connected(&["modern"]).await;
    let (wait, cx) = (tool(&it, "it_wait"), of(1, "{}"));
    let mut waited = wait.run(arguments(r#"{"for":"ever"}"#), &cx);
    assert!(futures_util::poll!(&mut waited).is_pending());
    drop(waited);
    let said = shown(call(&it, "it_cancelled", "{}").await);
    // The question about its era was request 1, the lists 2 to 4.
    assert!(said.contains("\"[5]\""), "{said}");
}

#[tokio::test]
async fn log_messages_of_a_modern_program_reach_one_client_only() {
    let it = connected(&["modern"]).await;
    let client = |conversation| Client { log_level: Some("warning"), conversation, ..Client::default() };
    let (mine, theirs) = (Arc::new(Reports::default()), Arc::new(Reports::default()));
    let wait = tool(&it, "it_log_and_wait");
    let cx = Context { client: client(8), ..context(Some(theirs.clone())) };
    let waiting = tokio::spawn(async move { shown(wait.run(arguments(r#"{"for":"go"}"#), &cx).await) });
    let cx = Context { client: client(7), ..context(Some(mine.clone())) };
    assert!(shown(call(&it, "it_levels", "{}").await).contains("[]"), "the server has begun with the other");
    let log = tool(&it, "it_log");
    assert!(shown(log.run(arguments(r#"{"levels":["error"]}"#), &cx).await).contains("logged"));
    assert_eq!(*mine.0.lock().expect("sound"), [""; 0], "it could have been the other's");
    assert!(shown(call(&it, "it_go", r#"{"for":"go"}"#).await).contains("went"));
    assert!(waiting.await.expect("no panic").contains("waited"));
    assert!(shown(log.run(arguments(r#"{"levels":["info","error"]}"#), &cx).await).contains("logged"));
    assert_eq!(*mine.0.lock().expect("sound"), [r#"log {"level": "error", "data": "error"}"#]);
}
