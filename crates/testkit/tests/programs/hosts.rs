//! What a tool asks servers for, and what is said of it.

use std::io::{Read, Write};
use std::net::TcpListener;

use gate::{Block, Caller, Cancel, Payload, ProgramSettings};
use sandbox::egress::HostRules;
use serde_json::{Value, json};
use testkit::SampleGate;

use super::{call, figure, holding, owner, recorded, run, sample};

/// Answers one request, with a redirect. Its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody asks");
        let read = stream.read(&mut [0; 4096]).expect("a request");
        assert!(read > 0);
        let answer =
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 5\r\n\r\nhello";
        stream.write_all(answer.as_bytes()).expect("it listens");
    });
    port
}

fn reaching(words: &[String]) -> SampleGate {
    let hosts = HostRules::parse(words).expect("hosts");
    sample(ProgramSettings { hosts, ..ProgramSettings::default() })
}

/// What comes of asking for an address: the answer, or the code of the refusal.
async fn ask(sample: &SampleGate, caller: &Caller, tool: &str, url: &str) -> String {
    let outcome = call(sample, caller, tool, &json!({ "url": url }), (Cancel::new(), None)).await;
    match outcome.map(|outcome| outcome.payload) {
        Ok(Payload::Ours { blocks, .. }) => match &blocks[..] {
            [Block::Text(text)] => text.clone(),
            other => panic!("{other:?}"),
        },
        Ok(other) => panic!("{other:?}"),
        Err(failure) => failure.code().to_owned(),
    }
}

fn hosts(sample: &SampleGate) -> Value {
    sample.whole_records(1).remove(0)["hosts"].clone()
}

#[tokio::test]
async fn a_tool_asks_where_it_may_and_its_record_says_whom() {
    let port = server();
    let sample = reaching(&[format!("localhost:{port}")]);
    let address = format!("http://127.0.0.1:{port}/path?secret=1");
    let caller = holding(&["read_workspace", "network"]);
    assert_eq!(ask(&sample, &caller, "host_ask", &address).await, "302 hello");
    let reached = &hosts(&sample)[0];
    assert_eq!((&reached["host"], &reached["connections"]), (&json!(format!("localhost:{port}")), &json!(1)));
    assert!(
        reached["sent_bytes"].as_u64() > Some(0) && reached["received_bytes"].as_u64() > Some(0),
        "{reached}"
    );
    // It is not followed, and whoever follows it asks in vain.
    assert_eq!(ask(&sample, &caller, "host_ask", "http://169.254.169.254/").await, "host_blocked");
    let blocked = &hosts(&sample)[0];
    assert_eq!(
        (&blocked["host"], &blocked["blocked"]),
        (&json!("169.254.169.254:80"), &json!("no rule allows it"))
    );
    assert_eq!(figure(&sample, "toolcrib_hosts_blocked_total"), Some(1));
}

#[tokio::test]
async fn nobody_is_asked_without_need_scope_or_rule() {
    let words = ["public".to_owned()];
    for (words, scopes, tool, expected) in [
        (&words[..], &["read_workspace", "write_workspace"][..], "host_ask", "no_hand"),
        (&words[..], &["read_workspace", "network"], "host_beg", "no_hand"),
        (&[], &["read_workspace", "network"], "host_ask", "no_hand"),
        (&words[..], &["network"], "host_ask", "unknown_tool"),
        (&words[..], &["read_workspace", "network"], "host_ask", "host_blocked"),
    ] {
        let sample = reaching(words);
        // An address of this machine: no rule but its own allows it.
        let found = ask(&sample, &holding(scopes), tool, "http://127.0.0.1:9/").await;
        assert_eq!(found, expected, "{words:?} {scopes:?} {tool}");
        assert_eq!(hosts(&sample).is_null(), expected != "host_blocked", "{scopes:?} {tool}");
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_host_is_in_no_record() {
    let sample = reaching(&["a.test".to_owned()]);
    sample.plant(&["planted-s3cret-01"]);
    assert_eq!(
        ask(&sample, &owner(), "host_ask", "http://planted-s3cret-01.evil.test/").await,
        "host_blocked"
    );
    let record = sample.whole_records(1).remove(0).to_string();
    assert!(!record.contains("s3cret") && record.contains("evil.test"), "{record}");
}

/// A page that a script completes, for whoever asks. Its port.
fn page() -> u16 {
    const PAGE: &str =
        "<p id=p>raw</p><script>document.getElementById('p').textContent = 'made ' + 6 * 7</script>";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            // One that is opened ahead may ask nothing.
            std::thread::spawn(move || {
                while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{PAGE}",
                        PAGE.len()
                    );
                    // It may have gone meanwhile.
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_browser_shows_the_pages_of_its_hosts_and_sees_no_workspace() {
    let (port, other) = (page(), page());
    let sample = reaching(&[format!("localhost:{port}")]);
    std::fs::write(sample.workspace().join("here"), "").expect("written");
    let caller = holding(&["read_workspace", "run_tests", "network"]);
    for (url, piece, is_shown) in [
        (format!("http://localhost:{port}/"), "made 42", true),
        (format!("http://localhost:{other}/"), "made 42", false),
        (format!("file://{}", sample.workspace().display()), "here", false),
        ("file:///etc/passwd".to_owned(), "root:", false),
        ("file:///usr/share".to_owned(), "doc", true),
    ] {
        let script = format!(
            "chromium --headless --no-sandbox --disable-gpu --disable-background-networking \
             --timeout=20000 --dump-dom '{url}' 2>/dev/null"
        );
        let ran = run(&sample, &caller, "web_browse", &script).await.expect("it ran");
        let shown = ran["stdout"].as_str().expect("text");
        assert_eq!(shown.contains(piece), is_shown, "{url}: {ran}");
        assert_eq!(recorded(&sample).0, json!("browser"), "{url}");
    }
    let without = holding(&["run_tests", "read_workspace"]);
    let script = format!("curl -s http://localhost:{port}/ || echo refused");
    let ran = run(&sample, &without, "web_browse", &script).await.expect("it ran");
    assert_eq!((&ran["stdout"], recorded(&sample).0), (&json!("refused\n"), json!("browser")));
}

#[tokio::test]
async fn what_a_program_reaches_is_in_the_record_of_its_call() {
    let port = server();
    let sample = reaching(&[format!("localhost:{port}")]);
    let script = |port: u16| {
        format!(
            "python3 -c 'import http.client as c; h = c.HTTPConnection(\"localhost\", {port}, timeout=9); \
             h.request(\"GET\", \"/\"); print(h.getresponse().status)' 2>/dev/null || echo refused"
        )
    };
    let cases: [(&[&str], &str, u16, &str, &str); 4] = [
        // Neither the scope alone nor the need alone opens a network.
        (&["read_workspace", "run_tests"], "sh_fetch", port, "refused\n", "shell"),
        (&["read_workspace", "run_tests", "network"], "sh_run", port, "refused\n", "shell"),
        (&["read_workspace", "run_tests", "network"], "sh_fetch", 9, "refused\n", "net"),
        (&["read_workspace", "run_tests", "network"], "sh_fetch", port, "302\n", "net"),
    ];
    for (scopes, tool, port, printed, profile) in cases {
        let ran = run(&sample, &holding(scopes), tool, &script(port)).await.expect("it ran");
        assert_eq!(
            (&ran["stdout"], recorded(&sample).0),
            (&json!(printed), json!(profile)),
            "{scopes:?} {tool}"
        );
    }
    let reached = hosts(&sample);
    let [reached] = &reached.as_array().expect("a list")[..] else { panic!("{reached}") };
    assert_eq!((&reached["host"], &reached["blocked"]), (&json!(format!("localhost:{port}")), &Value::Null));
    assert!(reached["received_bytes"].as_u64() > Some(0), "{reached}");
}

#[tokio::test]
async fn what_goes_nowhere_is_told_by_how_often() {
    let sample = reaching(&["a.test".to_owned()]);
    // Addresses that stand for names, and two of nobody.
    let script = "for n in 1 2 3; do echo > /dev/udp/198.18.0.9/123; done; \
                  for to in 192.0.2.1 2001:db8::1; do (echo > /dev/tcp/$to/80) 2>/dev/null || echo refused; done";
    let script = format!("exec bash -c '{script}'");
    let caller = holding(&["read_workspace", "run_tests", "network"]);
    for (script, expected) in
        [(script.as_str(), [json!(["udp", 3]), json!(["addresses", 2])].as_slice()), ("true", &[])]
    {
        run(&sample, &caller, "sh_fetch", script).await.expect("it ran");
        let told = hosts(&sample);
        let told = told.as_array().into_iter().flatten();
        let told: Vec<_> = told.map(|host| json!([host["host"], host["connections"]])).collect();
        assert_eq!(told, expected, "{script}");
    }
}
