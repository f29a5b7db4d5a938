//! What one client's large result means for the others: nothing.

use gate::RESULT_BYTES_MAX;
use testkit::offer_large_source;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::client::{Door, Request, within};

const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

/// One thread reads and answers all requests, as in the program. The one that cleans is held until the ping is answered,
/// so what follows does so by order, whatever the time it takes.
#[test]
fn a_ping_is_answered_while_a_large_result_is_cleaned() {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.expect("a runtime").block_on(async {
        let door = Door::open().await;
        let given = offer_large_source(door.gate.gate.catalog(), RESULT_BYTES_MAX);
        let call = Request::modern("tools/call", r#""name":"large""#)
            .with("Mcp-Name", "large")
            // Without events an answer begins when the call has ended, and not before.
            .but("Accept", "application/json");
        let (release, held) = oneshot::channel();
        let cleaner = spawn_blocking(move || held.blocking_recv());

        let mut large = door.connect().await;
        large.send(&call).await;
        within(given.notified()).await;
        let ping = door.ask(&Request::post(PING)).await;
        assert_eq!(ping.brief(), "200 result");
        assert!(large.is_silent(), "the result was cleaned before the ping was answered");

        release.send(()).expect("it is held");
        assert_eq!(cleaner.await.expect("a thread"), Ok(()));
        let answer = large.answer().await;
        assert_eq!((answer.status, answer.body.len() > RESULT_BYTES_MAX), (200, true));
        door.close().await;
    });
}
