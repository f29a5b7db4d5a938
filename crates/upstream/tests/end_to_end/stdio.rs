//! Servers that are programs.

use tool_api::{Effect, Listing};
use upstream::{ConnectError, State};

use crate::world::*;

#[tokio::test]
async fn tools_are_listed_and_called_byte_for_byte() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    assert_eq!(state(&it), "connected to fixture 1 (2025-06-18)");
    let echo = tool(&it, "it_echo");
    let definition = echo.definition();
    let Listing::Relayed(listing) = &definition.listing else { panic!("not relayed") };
    assert_eq!(
        std::str::from_utf8(listing).expect("UTF-8"),
        r#"{"name": "it_echo",  "inputSchema":{"type":"object" ,"x-order":1.0},"description":"Says it again.","x-unknown":[1.50,{"b":1,"a":2}]}"#
    );
    assert_eq!(&definition.input_schema[..], br#"{"type":"object" ,"x-order":1.0}"#);
    assert_eq!(
        (definition.effect, definition.open_world, definition.marked_destructive),
        (Effect::Executes, true, false)
    );
    assert_eq!(definition.upstream(), Some("it"));
    let destroy = tool(&it, "it_destroy");
    let (destructive, effect) = (destroy.definition().marked_destructive, destroy.definition().effect);
    assert_eq!((destructive, effect), (true, Effect::Executes), "it says that it only reads");
    let said = shown(call(&it, "it_echo", r#"{"a":1.5,"b":"\u00e4"}"#).await);
    assert_eq!(said, r#"{ "x":1.0,"content":[],"structuredContent":{"a":1.5,"b":"\u00e4"}}"#);
    let offer = it.offers().borrow().clone();
    assert!(offer.fresh);
    assert_eq!(offer.withheld.len(), 1, "{:?}", offer.withheld);
    assert!(offer.definitions.expect("definitions").contains(r#"{"name": "slow",  "inputSchema":"#));
    it.end().await;
    assert_eq!(state(&it), "stopped (starts on demand)");
    assert_eq!(it.connect().await, Err(ConnectError::Ended));
}

#[tokio::test]
async fn all_pages_are_read() {
    let it = fixture(&["pages"]);
    it.connect().await.expect("connected");
    assert_eq!(names(&it), ["it_echo", "it_slow", "it_steps"]);
}

#[tokio::test]
async fn a_list_that_goes_in_circles_is_refused() {
    let error = fixture(&["circles"]).connect().await.expect_err("no end");
    assert_eq!(
        error.to_string(),
        "it does not speak MCP as expected: its list of tools goes round in circles: a cursor came twice"
    );
}

#[tokio::test]
async fn a_server_without_tools_has_none() {
    let it = fixture(&["no tools"]);
    it.connect().await.expect("connected");
    assert_eq!(names(&it), Vec::<String>::new());
}

#[tokio::test]
async fn remembered_tools_start_the_server_when_they_are_called() {
    let earlier = fixture(&[]);
    earlier.connect().await.expect("connected");
    let definitions = earlier.offers().borrow().definitions.clone().expect("they were listed");
    let it = fixture(&[]);
    assert!(it.offer_cached(&definitions, 1));
    assert!(!it.offer_cached("junk", 1));
    assert_eq!((names(&it), state(&it)), (names(&earlier), "stopped (starts on demand)".to_owned()));
    assert!(!it.offers().borrow().fresh);
    let said = shown(call(&it, "it_echo", "{}").await);
    assert_eq!(said, r#"{ "x":1.0,"content":[],"structuredContent":{}}"#);
    assert!(it.offers().borrow().fresh);
    assert!(!it.offer_cached(r#"[{"name":"other","inputSchema":{}}]"#, 1), "what was seen wins");
}

#[tokio::test]
async fn progress_is_relayed_to_who_wants_it_and_comes_before_the_result() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    let reports = std::sync::Arc::new(Reports::default());
    let cx = context(Some(reports.clone()));
    let said = shown(tool(&it, "it_steps").run(arguments("{}"), &cx).await);
    assert!(said.contains("done"), "{said}");
    let reports = reports.0.lock().expect("sound").clone();
    assert_eq!(reports.len(), 3);
    assert!(reports[2].contains(r#""progress": 2, "message": "step""#), "{reports:?}");
    assert!(shown(call(&it, "it_steps", "{}").await).contains("no token"));
}

#[tokio::test]
async fn a_slow_call_does_not_hold_up_another() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    let (slow, fast) = (tool(&it, "it_slow"), tool(&it, "it_slow"));
    let cx = crate::eras::of(7, "{}");
    let mut order = Vec::new();
    let mut running = [slow.run(arguments(r#"{"ms":400}"#), &cx), fast.run(arguments(r#"{"ms":1}"#), &cx)];
    let [slow, fast] = &mut running;
    tokio::select! {
        said = slow => order.push(shown(said)),
        said = fast => order.push(shown(said)),
    }
    assert!(order[0].contains("\"1\""), "{order:?}");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_on_the_server() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    let hang = tool(&it, "it_hang");
    let cx = context(None);
    let mut waited = hang.run(arguments("{}"), &cx);
    assert!(futures_util::poll!(&mut waited).is_pending());
    drop(waited);
    let said = shown(call(&it, "it_cancelled", "{}").await);
    // The question about its era was request 1, the handshake 2, the list 3.
    assert!(said.contains(r#"\"requestId\": 4"#) && said.contains("nobody waits"), "{said}");
}

#[tokio::test]
async fn a_server_that_dies_in_mid_call_is_started_again_by_the_next() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    assert_eq!(
        shown(call(&it, "it_die", "{}").await),
        "upstream_gone: `it` stopped before it answered; it is started again with the next call; \
         whether this call had an effect is unknown"
    );
    until(&it, |offer| matches!(offer.state, State::Failed { .. })).await;
    assert_eq!(state(&it), "failed: it exited with code 3 (it hurts)");
    assert_eq!(it.last_stderr(), "Traceback\nit hurts\n");
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    assert_eq!(state(&it), "connected to fixture 1 (2025-06-18)");
}

#[tokio::test]
async fn a_server_that_dies_of_every_call_is_left_alone_until_a_person_connects() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    for _ in 0..5 {
        let failed = call(&it, "it_die", "{}").await.expect_err("it dies");
        assert_eq!(failed.code(), "upstream_gone", "{failed}");
    }
    let refused = shown(call(&it, "it_echo", "{}").await);
    let expected = "upstream_unavailable: `it` cannot be used: 5 or more of its calls in a row got no answer, so it is tried again in 30 s";
    assert_eq!(refused, expected);
    assert!(it.status().circuit_open_ms.is_some_and(|wait_ms| wait_ms <= 30_000));
    it.connect().await.expect("a person tries at once");
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    assert_eq!(it.status().circuit_open_ms, None);
}

#[tokio::test]
async fn garbage_on_stdout_is_skipped() {
    let it = fixture(&["garbage"]);
    it.connect().await.expect("connected");
    let junk = r#"{"line":"junk\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"ok\":1}}"}"#;
    assert_eq!(shown(call(&it, "it_odd", junk).await), r#"{"ok":1}"#);
}

#[tokio::test]
async fn an_answer_that_is_none_is_said_to_be_broken() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    for (line, expected) in [
        (r#"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":[]}"#, "its result is no JSON object"),
        (
            r#"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":1,\"a\":2}}"#,
            "Invalid request: the member \"a\" occurs twice in one object",
        ),
    ] {
        let said = shown(call(&it, "it_odd", &format!(r#"{{"line":"{line}"}}"#)).await);
        assert_eq!(said, format!("upstream_broken: the answer of `it` cannot be used: {expected}"));
    }
    // A batch is an answer, too.
    let batch = r#"{"line":"[{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}]"}"#;
    assert_eq!(shown(call(&it, "it_odd", batch).await), "{}");
}

#[tokio::test]
async fn a_tool_that_is_no_longer_what_was_admitted_is_not_called() {
    for (remembered, tool) in [
        (r#"[{"name":"former","inputSchema":{}}]"#, "former"),
        (r#"[{"name":"echo","inputSchema":{},"annotations":{"readOnlyHint":true}}]"#, "echo"),
    ] {
        let it = fixture(&[]);
        assert!(it.offer_cached(remembered, 1));
        let held = self::tool(&it, &format!("it_{tool}"));
        let said = shown(held.run(arguments("{}"), &context(None)).await);
        let expected = format!(
            "definition_changed: `it` has changed or removed `it_{tool}` since it was listed; \
             list the tools again before you call it"
        );
        assert_eq!(said, expected);
    }
}

#[tokio::test]
async fn a_changed_list_is_read_again() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    assert!(shown(call(&it, "it_change", "{}").await).contains("changed"));
    until(&it, |offer| offer.tools.iter().any(|tool| tool.definition().name.as_str() == "it_added")).await;
}

#[tokio::test]
async fn a_server_that_floods_its_stderr_still_works() {
    let it = fixture(&["flood"]);
    it.connect().await.expect("connected");
    let large = r#"{"bytes":5242880}"#;
    assert_eq!(
        shown(call(&it, "it_big", large).await).len(),
        5_242_880 + r#"{"content": [{"type": "text", "text": ""}]}"#.len()
    );
    assert!(shown(call(&it, "it_echo", "{}").await).contains("content"));
    assert!(it.last_stderr().contains("chatter chatter"));
}

#[tokio::test]
async fn large_arguments_go_through_a_full_pipe() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(3_000_000));
    assert!(shown(call(&it, "it_echo", &large).await).ends_with(&format!("{large}}}")));
}

#[tokio::test]
async fn what_the_server_asks_is_answered() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    let said = shown(call(&it, "it_ask", "{}").await).replace('\\', "");
    assert!(said.contains(r#"{"jsonrpc": "2.0", "id": "p", "result": {}}"#), "{said}");
    assert!(said.contains(r#""code": -32601, "message": "Method not found: who/knows""#), "{said}");
}

#[tokio::test]
async fn the_environment_is_what_the_table_says() {
    let it = fixture(&[]);
    it.connect().await.expect("connected");
    assert!(shown(call(&it, "it_env", r#"{"name":"KEY"}"#).await).contains("s3cret"));
    assert!(shown(call(&it, "it_env", r#"{"name":"CARGO_MANIFEST_DIR"}"#).await).contains("unset"));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let it = upstream("command = \"no-such-program-anywhere\"");
    let error = it.connect().await.expect_err("no program");
    assert!(error.to_string().starts_with("the program `no-such-program-anywhere` was not found"), "{error}");
    assert_eq!(state(&it), format!("failed: {error}"));
}

#[tokio::test]
async fn a_program_that_exits_at_once_is_quoted() {
    let it = fixture(&["exit"]);
    let error = it.connect().await.expect_err("exited");
    assert_eq!(error.to_string(), "it exited with code 7 (no module named  [31mfixture) before it was ready");
}

#[tokio::test]
async fn a_revision_we_do_not_speak_is_named() {
    let error = fixture(&["old"]).connect().await.expect_err("another era");
    assert_eq!(
        error.to_string(),
        "it does not speak MCP as expected: it speaks protocol version \"1999-01-01\", which is not supported"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_after_its_time() {
    let it = upstream(&opened("command = \"sleep\"\nargs = [\"1000\"]"));
    let error = it.connect().await.expect_err("silent");
    assert_eq!(error.to_string(), "it did not answer the handshake within 30 s");
}

#[tokio::test]
async fn one_start_serves_all_who_ask_and_failures_make_calls_wait() {
    let it = fixture(&["exit"]);
    assert!(it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1));
    let (first, second) = tokio::join!(it.connect(), it.connect());
    assert_eq!(first, second);
    let expected = "upstream_unavailable: `it` cannot be used: it exited with code 7";
    let said = shown(call(&it, "it_echo", "{}").await);
    assert!(said.starts_with(expected), "one failure so far: {said}");
    let said = shown(call(&it, "it_echo", "{}").await);
    let expected = "upstream_unavailable: `it` cannot be used: it failed 2 times in a row and is tried again in 1 s: it exited";
    assert!(said.starts_with(expected), "{said}");
}

#[tokio::test]
async fn a_disabled_server_is_left_alone() {
    let it = upstream("command = \"python3\"\nenabled = false");
    assert_eq!(state(&it), "disabled");
    assert!(!it.offer_cached(r#"[{"name":"echo","inputSchema":{}}]"#, 1));
    assert_eq!(it.connect().await, Err(ConnectError::Disabled));
    assert_eq!(state(&it), "disabled");
}

#[tokio::test]
async fn an_upstream_that_is_dropped_is_gone() {
    let it = open_fixture(&[]);
    it.connect().await.expect("connected");
    let process = process(&it).await;
    let (mut offers, echo) = (it.offers(), tool(&it, "it_echo"));
    offers.mark_unchanged();
    drop(it);
    let closed = tokio::time::timeout(PATIENCE, offers.changed()).await.expect("an end");
    assert!(closed.is_err(), "still {:?}", offers.borrow());
    let said = shown(echo.run(arguments("{}"), &context(None)).await);
    assert!(said.starts_with("gone: `it` was exchanged or removed before this call was sent"), "{said}");
    gone(&process).await;
}

#[tokio::test]
async fn nothing_is_left_after_the_end() {
    let it = open_fixture(&[]);
    it.connect().await.expect("connected");
    let process = process(&it).await;
    end(&it, &process).await;
}

#[tokio::test]
async fn the_end_is_bounded_for_a_program_that_ignores_it() {
    let it = open_fixture(&["stubborn"]);
    it.connect().await.expect("connected");
    let process = process(&it).await;
    // The program would stay for ever.
    tokio::time::timeout(PATIENCE, it.end()).await.expect("an end");
    gone(&process).await;
}
