//! When a server runs: started on demand, stopped when idle, started again or not, connected anew by a person; and
//! what is told of it.

use std::time::Duration;

use tokio::sync::broadcast::error::TryRecvError;
use upstream::{ConnectError, Fault, Status, Upstream};

use crate::web::{Answer, Request, Web};
use crate::world::*;

/// The scripted server with these keys in its table, beside its command.
fn server(keys: &str) -> std::sync::Arc<Upstream> {
    upstream(&format!("{}\n{keys}", opened(&fixture_table(&[]))))
}

/// The states that were told, by their names.
fn told(statuses: &mut tokio::sync::broadcast::Receiver<Status>) -> Vec<&'static str> {
    let mut told = Vec::new();
    loop {
        match statuses.try_recv() {
            Ok(status) => {
                assert_eq!(&*status.name, "it");
                told.push(status.state.word());
            }
            Err(TryRecvError::Empty | TryRecvError::Closed) => return told,
            Err(TryRecvError::Lagged(missed)) => panic!("{missed} are missing"),
        }
    }
}

async fn until_state(it: &Upstream, word: &str) {
    until(it, |offer| offer.state.word() == word).await;
}

#[tokio::test]
async fn a_server_that_nobody_uses_is_stopped_and_the_next_call_starts_it() {
    let it = server("idle_timeout = \"1s\"");
    let mut statuses = it.statuses();
    it.connect().await.expect("connected");
    let process = process(&it).await;
    // A call that lasts longer than the time keeps it.
    assert!(shown(call(&it, "it_slow", r#"{"ms":1600}"#).await).contains("1600"));
    assert!(process.exists());
    until_state(&it, "stopped").await;
    gone(&process).await;
    assert!(names(&it).contains(&"it_echo".to_owned()));
    assert_eq!(it.status().processes, 0);
    assert!(!it.awaits_a_person());
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    assert_eq!(told(&mut statuses), ["connecting", "connected", "stopped", "connecting", "connected"]);
    let report = it.status();
    assert_eq!((report.restarts, report.processes, report.last_error), (1, 1, None));
}

#[tokio::test]
async fn one_that_is_closed_finishes_what_it_has_seen_and_takes_no_more() {
    let it = server("");
    it.connect().await.expect("connected");
    let process = process(&it).await;
    let mut begun = std::pin::pin!(call(&it, "it_slow", r#"{"ms":500}"#));
    // It is on its way to the server with that.
    assert!(futures_util::poll!(&mut begun).is_pending());
    it.close();
    let refused = call(&it, "it_echo", "{}").await.expect_err("it is closed");
    assert_eq!(refused.code(), "gone", "{refused}");
    assert_eq!(refused.details().map(|details| &details["retry"]), Some(&true.into()));
    assert!(shown(begun.await).contains("500"));
    it.end().await;
    gone(&process).await;
    let refused = call(&it, "it_echo", "{}").await.expect_err("it has ended");
    assert_eq!(refused.code(), "gone", "{refused}");
}

#[tokio::test]
async fn whoever_stays_connected_is_stopped_all_the_same() {
    let it = server("idle_timeout = \"1s\"");
    it.stay_connected().await;
    until_state(&it, "stopped").await;
    let mut statuses = it.statuses();
    an_hour_passes().await;
    assert_eq!(told(&mut statuses), Vec::<&str>::new());
}

#[tokio::test]
async fn one_that_starts_on_demand_is_met_once_for_its_list_and_then_left_alone() {
    let it = server("on_demand = true");
    assert!(it.starts_on_demand() && !server("").starts_on_demand());
    it.stay_connected().await;
    assert_eq!(it.status().state.word(), "connected");
    assert!(shown(call(&it, "it_die", "{}").await).starts_with("upstream_gone"));
    until_state(&it, "failed").await;
    // Another one would be back at once.
    let mut statuses = it.statuses();
    an_hour_passes().await;
    assert_eq!(told(&mut statuses), Vec::<&str>::new());
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
}

/// What becomes of a server of this restart policy that is wanted and exits with `code`: the states that are told, and
/// what the next call says.
async fn check_restart(restart: &str, code: i32, told_then: &[&str], called: &str) {
    let it = server(&format!("restart = \"{restart}\""));
    it.stay_connected().await;
    let mut statuses = it.statuses();
    assert!(shown(call(&it, "it_leave", &format!("{{\"code\":{code}}}")).await).contains("bye"));
    until_state(&it, told_then[0]).await;
    if told_then.len() > 1 {
        until_state(&it, told_then[told_then.len() - 1]).await;
    } else {
        // Nobody else asks for it.
        an_hour_passes().await;
    }
    assert_eq!(told(&mut statuses), told_then, "{restart} {code}");
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.starts_with(called), "{restart} {code}: {said}");
    assert_eq!(it.awaits_a_person(), restart == "never");
    if called.starts_with("upstream_unavailable") {
        // It is not tried again and again.
        it.stay_connected().await;
        it.connect().await.expect("a person starts it");
        assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    }
}

#[tokio::test]
async fn a_server_is_started_again_as_its_table_says() {
    let (again, answers) = (["failed", "connected"], r#"{ "x":1.0"#);
    check_restart("always", 0, &again, answers).await;
    check_restart("always", 3, &again, answers).await;
    check_restart("on-failure", 0, &["stopped"], answers).await;
    check_restart("on-failure", 3, &again, answers).await;
    let refused = "upstream_unavailable: `it` cannot be used: it is not started again by itself, so a person \
                   must start it: it exited with code";
    check_restart("never", 0, &["failed"], refused).await;
    check_restart("never", 3, &["failed"], refused).await;
}

#[tokio::test]
async fn one_that_could_not_be_started_is_not_tried_again_either() {
    let it = upstream("command = \"no-such-program-anywhere\"\nrestart = \"never\"");
    it.connect().await.expect_err("no program");
    it.stay_connected().await;
    assert!(it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1));
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.contains("so a person must start it") && said.contains("was not found"), "{said}");
    assert!(matches!(it.connect().await, Err(ConnectError::Start { .. })), "a person may try");
}

#[tokio::test]
async fn a_server_at_an_address_that_was_not_there_once_is_tried_again_all_the_same() {
    let it = upstream("url = \"http://127.0.0.1:1/mcp\"\nrestart = \"never\"");
    it.connect().await.expect_err("nobody listens");
    assert!(!it.awaits_a_person());
    assert!(it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1));
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.starts_with("upstream_unavailable") && !said.contains("never"), "{said}");
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_counts_as_no_call_and_ends_with_its_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", named.display());
    let it = upstream(&opened(&format!("command = \"sh\"\nargs = [\"-c\", {script:?}]")));
    assert!(tokio::time::timeout(Duration::from_millis(50), it.connect()).await.is_err());
    let read = || std::fs::read_to_string(&named);
    let process = tokio::time::timeout(PATIENCE, async {
        loop {
            match read() {
                Ok(pid) => return std::path::PathBuf::from(format!("/proc/{}", pid.trim())),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    let process = process.await.expect("a start");
    assert!(!it.has_calls());
    let waits = it.clone();
    let call = tokio::spawn(async move { waits.connect().await });
    tokio::task::yield_now().await;
    assert!(it.has_calls(), "somebody waits for it");
    call.abort();
    assert!(call.await.is_err() && !it.has_calls());
    // Whoever takes its place finds nothing of it.
    end(&it, &process).await;
}

#[tokio::test]
async fn the_report_says_what_there_is_and_how_old_it_is() {
    let it = server("");
    let report = it.status();
    assert_eq!((report.state.word(), report.transport, report.tools), ("stopped", "stdio", 0));
    assert_eq!((report.stale, report.fetched_at_ms, report.processes), (false, None, 0));
    assert!(it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1_000));
    let report = it.status();
    assert_eq!((report.stale, report.fetched_at_ms, report.tools), (true, Some(1_000), 1));
    it.connect().await.expect("connected");
    let report = it.status();
    assert!(!report.stale && report.fetched_at_ms.is_some_and(|at_ms| at_ms > 1_000));
    assert_eq!((report.withheld, report.restarts, report.processes), (1, 0, 1));
    assert!(shown(call(&it, "it_die", "{}").await).starts_with("upstream_gone"));
    until_state(&it, "failed").await;
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    assert_eq!(it.status().last_error.as_deref(), Some("it exited with code 3 (it hurts)"));
}

#[tokio::test]
async fn the_whole_tree_ends_whatever_it_ignores() {
    for habits in [&[] as &[&str], &["stubborn"]] {
        let it = open_fixture(habits);
        it.connect().await.expect("connected");
        let server = process(&it).await;
        let grandchild = path(&shown(call(&it, "it_spawn", "{}").await));
        assert!(grandchild.exists());
        it.end().await;
        gone(&server).await;
        gone(&grandchild).await;
    }
}

#[tokio::test]
async fn a_server_that_is_slow_to_start_or_to_list_has_the_time_of_its_table() {
    let it = upstream(&opened("command = \"sleep\"\nargs = [\"1000\"]\nstart_timeout = \"1s\""));
    let error = it.connect().await.expect_err("silent");
    assert_eq!(error.to_string(), "it did not answer the handshake within 1 s");
    let it = upstream(&format!("{}\nlist_timeout = \"1s\"", fixture_table(&["mute"])));
    let error = it.connect().await.expect_err("silent");
    assert_eq!(error.to_string(), "it did not list its tools within 1 s");
}

#[tokio::test]
async fn a_server_that_wants_a_sign_in_is_left_alone_until_a_person_has_done_it() {
    let is_asked =
        |request: &Request| request.head.lines().next().is_some_and(|line| line.contains(" /mcp "));
    let web = Web::start(move |request| Answer::new(if is_asked(request) { 401 } else { 404 }, "", "")).await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    let mut statuses = it.statuses();
    assert!(matches!(it.connect().await, Err(ConnectError::Request(Fault::SignIn(_)))));
    assert_eq!(told(&mut statuses), ["connecting", "needs_auth"]);
    assert!(it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1));
    let asked = || web.seen().iter().filter(|request| is_asked(request)).count();
    let before = asked();
    it.stay_connected().await;
    for _ in 0..3 {
        let said = shown(call(&it, "it_echo", "{}").await);
        assert_eq!(said, "needs_auth: `it` wants a person to sign in to it; go on without it until then");
    }
    assert_eq!((asked(), it.status().state.word(), it.awaits_a_person()), (before, "needs_auth", true));
    assert!(it.connect().await.is_err());
    assert!(asked() > before, "a person is not refused");
}
