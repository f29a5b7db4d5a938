//! Which endpoint is behind a name, how long it is kept, and what ends it.

use gate::{Caller, Via};
use testkit::SampleGate;
use tokio::time::advance;
use wire::Revision;

use super::*;
use crate::session::Session;
use crate::{Instructions, Server};

/// Has workspaces of two names, and counts what it is asked for.
struct Sample {
    gate: SampleGate,
    open: Mutex<HashMap<String, Arc<Server>>>,
    closed: Mutex<Vec<String>>,
}

impl Workspaces for Sample {
    fn open(&self, name: &str) -> Result<Option<Arc<Server>>, String> {
        match name {
            "a" | "b" => {
                let new = || Server::new(self.gate.gate.clone(), Instructions::default());
                let mut open = self.open.lock().expect("sound");
                Ok(Some(open.entry(name.to_owned()).or_insert_with(new).clone()))
            }
            "broken" => Err("its folder is gone".to_owned()),
            _ => Ok(None),
        }
    }

    fn names(&self) -> Vec<String> {
        ["a", "b", "broken"].map(str::to_owned).to_vec()
    }

    fn close(&self, name: &str) {
        self.open.lock().expect("sound").remove(name);
        self.closed.lock().expect("sound").push(name.to_owned());
    }
}

fn sample() -> (Arc<Sample>, Named, Arc<Endpoint>) {
    let gate = SampleGate::new();
    let first = Endpoint::sample(Server::new(gate.gate.clone(), Instructions::default()));
    let sample = Arc::new(Sample { gate, open: Mutex::default(), closed: Mutex::default() });
    (sample.clone(), Named::new(sample), first)
}

#[test]
fn a_name_is_what_is_behind_the_path() {
    for (path, expected) in [
        ("/mcp/review", Some("review")),
        ("/mcp", None),
        ("/mcp/", None),
        ("/mcp/a/b", None),
        ("/mcp/approvals", None),
        ("/mcp/%61", None),
        ("/mcpx/a", None),
        ("/sse/a", None),
    ] {
        assert_eq!(name_in(path), expected, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_name_has_sessions_of_its_own() {
    let (_, named, first) = sample();
    let status = |name: &str| named.endpoint(&first, name).map_err(|answer| answer.status().as_u16()).err();
    assert_eq!([status("nobody"), status("broken"), status("a")], [Some(404), Some(503), None]);
    let [a, again, b] = ["a", "a", "b"].map(|name| named.endpoint(&first, name).unwrap_or_else(|_| panic!()));
    assert!(Arc::ptr_eq(&a, &again) && !Arc::ptr_eq(&a, &b));
    let caller = Caller::local_user(Via::Http);
    let (id, _) = a.sessions.open(Session::new(caller.clone(), Revision::LATEST_LEGACY), None).expect("room");
    let knows = [&a, &b, &first].map(|endpoint| endpoint.sessions.get(&id, &caller).is_some());
    assert_eq!(knows, [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_uses_ends_and_is_made_anew() {
    let (sample, named, first) = sample();
    let closed = || sample.closed.lock().expect("sound").clone();
    let held = named.endpoint(&first, "a").unwrap_or_else(|_| panic!());
    let caller = Caller::local_user(Via::Http);
    let session = Session::new(caller.clone(), Revision::LATEST_LEGACY);
    let (id, _) = held.sessions.open(session, None).expect("room");
    drop(named.endpoint(&first, "b"));
    advance(IDLE_MAX - Duration::from_millis(1)).await;
    named.sweep().await;
    assert_eq!(closed(), [""; 0]);
    advance(Duration::from_millis(1)).await;
    named.sweep().await;
    assert_eq!(closed(), ["b"], "the other one is held");
    // A stream that is read is a use, too.
    let open = held.sessions.get(&id, &caller).expect("open");
    let reader = open.streams.stand(None).ok();
    drop((held, open));
    advance(IDLE_MAX * 2).await;
    named.sweep().await;
    assert_eq!(closed(), ["b"]);
    drop(reader);
    advance(IDLE_MAX).await;
    named.sweep().await;
    assert_eq!(closed(), ["b", "a"]);
    let anew = named.endpoint(&first, "a").unwrap_or_else(|_| panic!());
    assert!(anew.sessions.get(&id, &caller).is_none(), "its session has ended with it");
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_let_go_of() {
    let (sample, named, first) = sample();
    let before = named.endpoint(&first, "a").unwrap_or_else(|_| panic!());
    // As a reload does it.
    before.server.stop();
    sample.open.lock().expect("sound").clear();
    named.sweep().await;
    assert_eq!(Arc::strong_count(&before), 1, "nobody else holds it");
    let after = named.endpoint(&first, "a").unwrap_or_else(|_| panic!());
    assert!(!Arc::ptr_eq(&before, &after) && !Arc::ptr_eq(&before.server, &after.server));
    assert_eq!(*sample.closed.lock().expect("sound"), [""; 0], "it was closed already");
    named.end();
    assert!(after.server.stopping.is_cancelled());
}
