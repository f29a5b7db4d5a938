//! Many clients with the same ids: nothing reaches another one.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SESSIONS: usize = 64;
/// Enough for every kind of call to meet every other. The built program is put through 100,000 of them from outside.
const CALLS_EACH: usize = 200;

/// Each client makes its calls under ids from 0, some of them with questions in between, and says in each argument
/// and answer who it is.
#[tokio::test]
async fn nothing_crosses_between_sessions() {
    let sample = Arc::new(SampleGate::new());
    offer_sample_source(sample.gate.catalog());
    let server = Server::new(sample.gate.clone(), crate::Instructions::default());
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let (server, answered) = (server.clone(), answered.clone());
            tokio::spawn(async move { client(&server, number, &answered).await })
        })
        .collect();
    for client in clients {
        client.await.expect("a client is content");
    }
    assert_eq!(answered.load(Ordering::Relaxed), SESSIONS * CALLS_EACH);
    drop(sample);
}

async fn client(server: &Arc<Server>, number: usize, answered: &AtomicUsize) {
    let revision = Revision::ALL[number % Revision::ALL.len()];
    let session = Session::new(Caller::local_user(Via::Stdio), Revision::negotiate(revision.name()));
    session.introduce(Bytes::from_static(br#"{"roots":{}}"#), None);
    let (outbox, mut frames) = mpsc::channel(16);
    let (replies, mut finished) = mpsc::channel(16);
    let mut open = 0;
    let mut next = 0;
    while next < CALLS_EACH || open > 0 {
        if next < CALLS_EACH && open < 8 {
            open += usize::from(begin(server, &session, revision, number, next, &outbox, &replies));
            next += 1;
            continue;
        }
        tokio::select! {
            Some(frame) = frames.recv() => {
                let text = String::from_utf8(frame).expect("UTF-8");
                // A question of ours about one of this client's calls, or its progress.
                let asked: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                if asked["method"] == "notifications/progress" {
                    assert_eq!(asked["params"]["message"], format!("c{number}"), "{text}");
                    continue;
                }
                assert_eq!(asked["params"]["who"], number, "{text}");
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":["r{number}"]}}}}"#, asked["id"]);
                let Ok(Frame::Single(message)) = Frame::parse(answer.into()) else { panic!("a sound answer") };
                assert!(matches!(
                    dispatch(server, &session, Ok(message), &mut || None, &mut Vec::new()),
                    Now::Nothing
                ));
            }
            Some((id, text)) = finished.recv() => {
                check_answer(&text, number, id);
                answered.fetch_add(1, Ordering::Relaxed);
                open -= 1;
            }
        }
    }
}

/// Begins one call; it is finished beside the client.
fn begin(
    server: &Arc<Server>,
    session: &Arc<Session>,
    revision: Revision,
    number: usize,
    id: usize,
    outbox: &Outbox,
    replies: &mpsc::Sender<(usize, String)>,
) -> bool {
    let params = match id % 8 {
        0..6 => format!(r#"{{"name":"shout","arguments":{{"text":"c{number} i{id}"}}}}"#),
        6 if !revision.is_modern() => format!(
            r#"{{"name":"ask","arguments":{{"x":"c{number} i{id}","requests":{{"k{id}":{{"method":"roots/list","params":{{"who":{number}}}}}}}}}}}"#
        ),
        _ => format!(
            r#"{{"name":"relay","arguments":{{"result":{{"content":[{{"type":"text","text":"C{number} I{id}"}}]}}}}}}"#
        ),
    };
    let frame = match revision.is_modern() {
        true => modern("tools/call", &params, "{}"),
        false => request("tools/call", &params),
    };
    let frame = frame.replacen(r#""id":1"#, &format!(r#""id":{id}"#), 1);
    let Ok(Frame::Single(message)) = Frame::parse(frame.into()) else { panic!("a sound call") };
    let mut open = || Some(outbox.clone());
    let Now::Later(later) = dispatch(server, session, Ok(message), &mut open, &mut Vec::new()) else {
        panic!("a call waits for its tool");
    };
    let replies = replies.clone();
    tokio::spawn(async move {
        let reply = later.await.expect("nobody cancels");
        let text = String::from_utf8(reply.frame).expect("UTF-8");
        replies.send((id, text)).await.expect("the client waits");
    });
    true
}

fn check_answer(text: &str, number: usize, id: usize) {
    let answer: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(answer["id"], id, "{text}");
    let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    let own =
        said == format!("C{number} I{id}") || said == format!(r#"1 {{"k{id}":{{"roots":["r{number}"]}}}}"#);
    assert!(own, "client {number}, call {id}: {text}");
}
