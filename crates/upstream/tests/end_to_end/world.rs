//! What the tests have in common: an upstream from a TOML table, calls as the gate would make them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oauth::{InMemory, TokenStore};
use sandbox::confine::Confiner;
use sandbox::{Access, Client, Launcher, Root};
use tool_api::{
    AnyTool, Arguments, CallId, Cancel, Context, Listener, Outcome, Payload, Permit, Progress, ToolError,
};
use upstream::{Config, Confinement, Offer, Upstream, World};
use wire::initialize::Ourselves;

/// What every wait for an outcome is given; only a failing test needs it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The upstream `it` of a table. References read `***` and their own name.
pub(crate) fn upstream(table: &str) -> Arc<Upstream> {
    upstream_keeping(table, Arc::new(InMemory::default()))
}

/// The same, which keeps what it is signed in with in `keeper`.
pub(crate) fn upstream_keeping(table: &str, keeper: Arc<dyn TokenStore>) -> Arc<Upstream> {
    let config: Config = toml::from_str(table).expect("a table");
    let settings = config.settle("it", Duration::from_secs(30), &|_| Ok("s3cret".to_owned()));
    let launcher = Launcher { guard: guard(), guard_args: Vec::new() };
    let ourselves = Ourselves { name: "toolcrib-test", version: "0" };
    let spawner = Launcher { guard_args: vec!["spawner".to_owned()], ..launcher.clone() };
    let confiner = Arc::new(Confiner::new(spawner));
    let client = Client::new();
    let world = World { launcher, confiner, client, ourselves, keeper, pins: None, trace: None, watch: None };
    let settings = settings.expect("sound").inheriting(&std::env::vars_os().collect(), Path::new("/"));
    // The tests look at what servers write in temporary folders.
    let confinement = Confinement { write: vec![std::env::temp_dir()], ..Confinement::default() };
    Upstream::new(settings.confined_by(&Arc::new(confinement)), world)
}

/// The upstream `it` of the scripted server with these habits.
pub(crate) fn fixture(habits: &[&str]) -> Arc<Upstream> {
    upstream(&fixture_table(habits))
}

/// The same with our rights, so that its process numbers are ours.
pub(crate) fn open_fixture(habits: &[&str]) -> Arc<Upstream> {
    upstream(&opened(&fixture_table(habits)))
}

/// A table of a server that is not confined.
pub(crate) fn opened(table: &str) -> String {
    format!("{table}\nsandbox.profile = \"open\"")
}

/// The table of the scripted server with these habits.
pub(crate) fn fixture_table(habits: &[&str]) -> String {
    format!("{}\nenv = {{ KEY = {{ env = \"X\" }} }}", script_table("server.py", habits))
}

/// The table of a script among the fixtures, with these arguments.
pub(crate) fn script_table(script: &str, habits: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(script);
    let mut args = vec!["-S".to_owned(), "-u".to_owned(), script.display().to_string()];
    args.extend(habits.iter().map(|&habit| habit.to_owned()));
    format!("command = \"python3\"\nargs = {args:?}")
}

/// The guard that is built beside the tests.
fn guard() -> PathBuf {
    let tests = std::env::current_exe().expect("a running test");
    let built = tests.parent().and_then(Path::parent).expect("a build folder");
    let guard = built.join("examples/upstream_guard");
    assert!(guard.is_file(), "build the examples first: cargo build -p upstream --examples");
    guard
}

/// Keeps what is reported.
#[derive(Default)]
pub(crate) struct Reports(pub(crate) Mutex<Vec<String>>);

impl Listener for Reports {
    fn progress(&self, progress: Progress) {
        let said = match progress {
            Progress::Relayed(text) => String::from_utf8(text.to_vec()).expect("UTF-8"),
            Progress::Step { done, message, .. } => format!("{done} {}", message.unwrap_or_default()),
        };
        self.0.lock().expect("sound").push(said);
    }

    fn log(&self, params: bytes::Bytes) {
        self.0.lock().expect("sound").push(format!("log {}", String::from_utf8_lossy(&params)));
    }
}

/// Capabilities of a client that can do everything; its calls use the session that the lists are read in.
const ABLE: &str = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

pub(crate) fn context(reports: Option<Arc<Reports>>) -> Context {
    let folder = Root::open(Path::new(env!("CARGO_MANIFEST_DIR")), Access::Read).expect("a folder");
    let listener = reports.map(|reports| reports as Arc<dyn Listener>);
    let permit = Permit::issue(CallId::next());
    let client =
        tool_api::Client { capabilities: bytes::Bytes::from_static(ABLE.as_bytes()), ..Default::default() };
    Context { client, ..Context::new(permit, folder, Cancel::new(), listener) }
}

pub(crate) fn arguments(json: &str) -> Arguments {
    Arguments::parse(Some(json.to_owned().into())).expect("an object")
}

/// The tool on offer under `name`.
pub(crate) fn tool(upstream: &Upstream, name: &str) -> Arc<dyn AnyTool> {
    let offers = upstream.offers();
    let offer = offers.borrow();
    let tool = offer.tools.iter().find(|tool| tool.definition().name.as_str() == name);
    tool.unwrap_or_else(|| panic!("no {name} in {offer:?}")).clone()
}

pub(crate) async fn call(upstream: &Upstream, name: &str, json: &str) -> Result<Outcome, ToolError> {
    let tool = tool(upstream, name);
    let cx = context(None);
    let called = tokio::time::timeout(PATIENCE, tool.run(arguments(json), &cx)).await;
    called.expect("an answer in time")
}

/// The result's text, or the error's code and message.
pub(crate) fn shown(called: Result<Outcome, ToolError>) -> String {
    match called {
        Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
            String::from_utf8(result.to_vec()).expect("UTF-8")
        }
        Ok(other) => panic!("not relayed: {other:?}"),
        Err(error) => format!("{}: {error}", error.code()),
    }
}

/// Waits until the offer is as wanted.
pub(crate) async fn until(upstream: &Upstream, wanted: impl FnMut(&Offer) -> bool) {
    let mut offers = upstream.offers();
    let waited = tokio::time::timeout(PATIENCE, offers.wait_for(wanted)).await.map(|offer| offer.map(drop));
    if !matches!(waited, Ok(Ok(()))) {
        panic!("still {:?}", offers.borrow());
    }
}

/// Has an hour pass at once, where all that is left to wait for is the clock: what would come about by itself has come
/// about then.
pub(crate) async fn an_hour_passes() {
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    tokio::time::resume();
}

pub(crate) fn names(upstream: &Upstream) -> Vec<String> {
    upstream.offers().borrow().tools.iter().map(|tool| tool.definition().name.to_string()).collect()
}

pub(crate) fn state(upstream: &Upstream) -> String {
    upstream.offers().borrow().state.to_string()
}

/// The server's process, as a folder that is there as long as it.
pub(crate) async fn process(it: &Upstream) -> PathBuf {
    let process = path(&shown(call(it, "it_pid", "{}").await));
    assert!(process.exists(), "{process:?}");
    process
}

/// The process that an answer names.
pub(crate) fn path(said: &str) -> PathBuf {
    PathBuf::from(said.split('"').find(|part| part.starts_with("/proc/")).expect("a path"))
}

/// Ends an upstream. That waits for the end of its processes, though not for ever.
pub(crate) async fn end(it: &Upstream, process: &Path) {
    let begun = std::time::Instant::now();
    it.end().await;
    assert!(!process.exists() || begun.elapsed() >= upstream::END_TIMEOUT, "{process:?} is still there");
    gone(process).await;
}

/// Waits until a process has ended.
pub(crate) async fn gone(process: &Path) {
    let gone = async {
        while process.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("an end");
}
