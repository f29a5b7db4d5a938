//! Servers that are to stay connected: not there at first, started again, replaced without a word.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use upstream::{State, Upstream};

use crate::web::{Answer, Web};
use crate::world::*;

async fn stays(it: &Upstream) {
    tokio::time::timeout(PATIENCE, it.stay_connected()).await.expect("connected in time");
}

#[tokio::test]
async fn a_program_that_fails_or_dies_is_started_again_and_its_new_list_is_offered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tools");
    let it = fixture(&[&format!("file={}", file.display())]);
    it.connect().await.expect_err("it needs its file");
    std::fs::write(&file, "").expect("written");
    stays(&it).await;
    assert!(!names(&it).contains(&"it_added".to_owned()), "{:?}", names(&it));
    std::fs::write(&file, "added").expect("written");
    assert!(shown(call(&it, "it_die", "{}").await).starts_with("upstream_gone"));
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_added")).await;
    assert!(matches!(it.offers().borrow().state, State::Connected { .. }));
    it.end().await;
    stays(&it).await;
}

/// A server that tells nothing has another list after a while, and has forgotten the session then if it `forgets`.
async fn check_looked_in(forgets: bool, lists_read: usize) {
    let (is_other, met) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let seen = is_other.clone();
    let web = Web::start(move |request| {
        let (method, id) = request.asked();
        if method == "initialize" {
            met.fetch_add(1, Ordering::Relaxed);
        }
        let is_met = !forgets || met.load(Ordering::Relaxed) > 1;
        let result = match (request.method.as_str(), method.as_str()) {
            ("GET", _) => return Answer::new(405, "", ""),
            ("DELETE", _) => return Answer::new(204, "", ""),
            (_, "server/discover") => return Answer::new(400, "", "what is that?"),
            (_, "initialize") => {
                r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"2"}}"#
            }
            (_, "tools/list") if seen.load(Ordering::Relaxed) && !is_met => return Answer::new(404, "", ""),
            (_, "tools/list") if seen.load(Ordering::Relaxed) => {
                r#"{"tools":[{"name":"other","inputSchema":{}}]}"#
            }
            (_, "tools/list") => r#"{"tools":[{"name":"echo","inputSchema":{}}]}"#,
            _ => return Answer::new(202, "", ""),
        };
        Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    stays(&it).await;
    assert_eq!(names(&it), ["it_echo"]);
    is_other.store(true, Ordering::Relaxed);
    // The task that looks in has begun its wait before the clock moves.
    tokio::task::yield_now().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5 * 60)).await;
    tokio::time::resume();
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_other")).await;
    let asked = web.methods().iter().filter(|method| method.ends_with("/list")).count();
    assert_eq!(asked, lists_read, "only what it has is asked for: {:?}", web.methods());
}

#[tokio::test]
async fn the_lists_of_a_server_that_tells_nothing_are_read_again() {
    check_looked_in(false, 2).await;
    check_looked_in(true, 3).await;
}

/// How often the list of a modern server is read that says that it stays good for `ttl_ms`, within so many seconds.
async fn check_read_again(ttl_ms: u64, within_s: u64, expected: RangeInclusive<usize>) {
    let web = Web::start(move |request| {
        let (method, id) = request.asked();
        let rest = match method.as_str() {
            "server/discover" => r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#,
            "tools/list" => r#""tools":[{"name":"echo","inputSchema":{}}]"#,
            _ => return Answer::new(404, "", ""),
        };
        let result = format!(r#"{{"resultType":"complete","ttlMs":{ttl_ms},"cacheScope":"private",{rest}}}"#);
        Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    })
    .await;
    let it = upstream(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port));
    it.connect().await.expect("connected");
    let read = || web.methods().iter().filter(|method| *method == "tools/list").count();
    tokio::task::yield_now().await;
    for _ in 0..within_s {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        // What is due is sent, and answered, while the clock stands.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
    let answered = async {
        while read() < *expected.start() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, answered).await.is_ok(), "{ttl_ms}: {}", read());
    assert!(expected.contains(&read()), "{ttl_ms}: {}", read());
}

#[tokio::test]
async fn lists_are_read_again_when_they_are_not_known_to_be_good_any_more() {
    // A wait is shortened by chance, to no less than half of it; two that are as short as can be are one long one.
    check_read_again(120_000, 59, 1..=1).await;
    check_read_again(120_000, 121, 2..=3).await;
    // However short the time is, it is not more than once a minute.
    check_read_again(5_000, 29, 1..=1).await;
    check_read_again(5_000, 61, 2..=3).await;
    check_read_again(0, 7_200, 1..=1).await;
}
