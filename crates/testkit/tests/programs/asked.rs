//! Hosts that no rule names, and the person who is asked about them while the program waits. What is allowed is reached through
//! a company's proxy on loopback, so that a test asks nobody on the internet.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gate::approvals::{Answer, Approval, Pattern, RUN_QUESTIONS_MAX, Scope as For, State};
use gate::{Call, Caller, Cancel, Client, Forms, Outcome, Payload, ProgramSettings, Role, Via, approvals};
use sandbox::CompanyProxy;
use serde_json::{Value, json};
use testkit::SampleGate;
use tokio::time::timeout;

use super::{PATIENCE, confiner, holding, owner, told};

/// A public address that nobody is asked at.
const HOST: &str = "1.1.1.1:80";

/// Longer than any test takes.
pub(super) const LONG: Duration = Duration::from_secs(50);

/// Leads to itself, whatever it is asked for. Its address.
fn company() -> CompanyProxy {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a program");
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
                for answer in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"]
                {
                    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                    // Whoever has gone wants none.
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    CompanyProxy::parse(&format!("http://{at}")).expect("an address")
}

pub(super) fn settings() -> ProgramSettings {
    ProgramSettings { asks: true, proxy: Some(company()), ..ProgramSettings::default() }
}

/// A gate where somebody is waited for as long as this.
pub(super) fn waiting(wait: Duration) -> SampleGate {
    let config = approvals::Config { wait, ..approvals::Config::default() };
    SampleGate::with_people(confiner(None), settings(), config)
}

/// A call that asks for `host` by a tool, of a conversation.
async fn fetch(sample: &SampleGate, caller: &Caller, tool: &str, host: &str, conversation: u64) -> String {
    let client = Client { conversation, over: Some(Cancel::new()), ..Client::default() };
    let arguments = match tool {
        "host_ask" => json!({ "url": format!("http://{host}/") }),
        _ => json!({ "script": script(&[host], 1) }),
    };
    let call = Call { client, ..Call::tool(tool, Some(arguments.to_string().into())) };
    outcome(sample.gate.call(caller, call).await)
}

/// What came of it: `reached`, `refused`, or a code.
fn outcome(result: Result<Outcome, gate::Failure>) -> String {
    let payload = match result {
        Ok(outcome) if matches!(outcome.payload, Payload::Ours { structured: Some(_), .. }) => {
            let ran = told(outcome).expect("a result");
            return ran["stdout"].as_str().expect("text").trim().to_owned();
        }
        Ok(outcome) => outcome.payload,
        Err(failure) if failure.code() == "host_blocked" => return "refused".to_owned(),
        Err(failure) => return failure.code().to_owned(),
    };
    assert!(format!("{payload:?}").contains("200 hello"), "{payload:?}");
    "reached".to_owned()
}

/// Asks for each host so often, all at once; tells how many answers there were of which kind.
fn script(hosts: &[&str], each: usize) -> String {
    let hosts = hosts.iter().map(|host| format!("'{host}'")).collect::<Vec<_>>().join(",");
    format!(
        "python3 - <<'END'\nimport http.client, threading, collections\nfound = []\ndef one(host):\n  try:\n    \
         c = http.client.HTTPConnection('127.0.0.1', 3128, timeout=60)\n    \
         c.request('GET', 'http://' + host + '/')\n    s = c.getresponse().status\n    \
         found.append({{200: 'reached', 403: 'refused'}}.get(s, str(s)))\n  except Exception as e: found.append(repr(e))\n\
         all = [threading.Thread(target=one, args=(h,)) for h in [{hosts}] * {each}]\n\
         for t in all: t.start()\nfor t in all: t.join()\n\
         n = collections.Counter(found)\n\
         print(' '.join(k if v == 1 else k + 'x' + str(v) for k, v in sorted(n.items())))\nEND"
    )
}

/// Every question there was.
pub(super) fn questions(sample: &SampleGate) -> Vec<Approval> {
    let person = Caller::local_user(Via::CommandLine);
    sample.gate.approvals().approvals(&person).expect("a store")
}

fn state(sample: &SampleGate, approval: &Approval) -> State {
    approval.status(sample.gate.approvals().now_ms())
}

/// The open questions, once there are so many.
pub(super) async fn open(sample: &SampleGate, count: usize) -> Vec<Approval> {
    let opened = async {
        loop {
            let mut all = questions(sample);
            all.retain(|approval| state(sample, approval) == State::Pending);
            if all.len() >= count {
                return all;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, opened).await.expect("it is asked in time")
}

/// A person at a terminal says this; the code of the fault if it is not taken.
pub(super) fn say(sample: &SampleGate, approval: &Approval, answer: &Answer) -> &'static str {
    let person = Caller::local_user(Via::CommandLine);
    let answered = sample.gate.approvals().answer(&approval.id, answer, &person, None);
    answered.map_or_else(|fault| fault.code(), |_| "taken")
}

pub(super) fn yes(scope: For) -> Answer {
    Answer::Approve { scope, note: None }
}

pub(super) fn no() -> Answer {
    Answer::Deny { reason: None }
}

/// What the last record says of hosts: each with who answered what by which way.
fn recorded(sample: &SampleGate) -> Vec<String> {
    let hosts = sample.whole_records(1).remove(0)["hosts"].clone();
    let line = |host: &Value| {
        let approval = &host["approval"];
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let words =
            [&host["host"], &host["blocked"], &approval["by"], &approval["through"], &approval["answer"]];
        words.map(word).join(" / ")
    };
    hosts.as_array().into_iter().flatten().map(line).collect()
}

/// A fetch during which the one question is answered so.
async fn answered(sample: &SampleGate, tool: &str, answer: &Answer) -> String {
    let caller = owner();
    let mut fetching = std::pin::pin!(fetch(sample, &caller, tool, HOST, 1));
    let asked = tokio::select! {
        found = &mut fetching => panic!("nobody was asked, and it is {found}"),
        asked = open(sample, 1) => asked,
    };
    assert_eq!(say(sample, &asked[0], answer), "taken");
    fetching.await
}

#[tokio::test]
async fn a_host_that_is_allowed_and_then_not_there_is_recorded() {
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let proxy = CompanyProxy::parse(&format!("http://{nobody}")).ok();
    let config = approvals::Config { wait: LONG, ..approvals::Config::default() };
    let sample = SampleGate::with_people(confiner(None), ProgramSettings { proxy, ..settings() }, config);
    for (tool, found) in [("host_ask", "no_answer"), ("sh_fetch", "502")] {
        assert_eq!(answered(&sample, tool, &yes(For::Once)).await, found);
        assert_eq!(recorded(&sample), [format!("{HOST} / - / local / terminal / approved")], "{tool}");
    }
}

#[tokio::test]
async fn a_person_decides_while_the_program_waits() {
    let allowed = format!("{HOST} / - / local / terminal / approved");
    let denied = format!("{HOST} / a person was asked and said no / local / terminal / denied");
    for tool in ["host_ask", "sh_fetch"] {
        for (answer, found, record, again) in [
            (yes(For::Once), "reached", &allowed, None),
            (yes(For::Session), "reached", &allowed, Some("session")),
            (yes(For::Always(Pattern::Same)), "reached", &allowed, Some("always")),
            (yes(For::Always(Pattern::Any)), "reached", &allowed, Some("always")),
            (no(), "refused", &denied, None),
        ] {
            let sample = waiting(LONG);
            assert_eq!(answered(&sample, tool, &answer).await, found, "{tool} {answer:?}");
            assert_eq!(recorded(&sample), [record.as_str()], "{tool} {answer:?}");
            let person = Caller::local_user(Via::CommandLine);
            let grants = sample.gate.approvals().grants(&person).expect("a store");
            let kept: Vec<_> = grants.iter().map(approvals::Grant::report).collect();
            assert_eq!(kept.first().map(|grant| &*grant.scope), again, "{tool} {answer:?}");
            if let Some(grant) = kept.first() {
                assert_eq!((&*grant.arguments, &*grant.tool), (&*format!("host {HOST}"), tool));
                assert_eq!(fetch(&sample, &owner(), tool, HOST, 1).await, "reached", "nobody is asked again");
                assert_eq!(recorded(&sample), [format!("{HOST} / - / local / grant / approved")]);
                sample.gate.approvals().revoke(&grant.id, &person).expect("it is there");
            }
            if found == "reached" {
                let before = questions(&sample).len();
                assert_eq!(answered(&sample, tool, &no()).await, "refused", "{tool} {answer:?}");
                assert_eq!(questions(&sample).len(), before + 1, "{tool} {answer:?}");
            }
            let before = questions(&sample).len();
            assert_eq!(fetch(&sample, &owner(), tool, HOST, 1).await, "refused", "{tool} {answer:?}");
            assert_eq!(recorded(&sample), [denied.as_str()]);
            assert_eq!(questions(&sample).len(), before, "a no is not asked for again at once");
        }
    }
}

#[tokio::test]
async fn an_answer_is_for_whom_it_was_asked() {
    let key = |caller: &str| {
        let scopes = holding(&["read_workspace", "network"]).scopes().clone();
        Caller::new(caller.into(), gate::CallerKind::Key, Role::Developer.into(), scopes, Via::Http)
    };
    let (session, same) = (yes(For::Session), yes(For::Always(Pattern::Same)));
    for (answer, caller, tool, host, conversation, is_asked) in [
        (&session, owner(), "host_ask", HOST, 1, false),
        (&session, owner(), "host_ask", HOST, 2, true),
        (&same, owner(), "host_ask", HOST, 2, false),
        (&same, owner(), "sh_fetch", HOST, 1, true),
        (&same, key("ada"), "host_ask", HOST, 1, true),
        (&same, owner(), "host_ask", "1.1.1.1:443", 1, true),
        (&same, owner(), "host_ask", "1.0.0.1:80", 1, true),
        (&no(), owner(), "host_ask", HOST, 2, false),
        (&no(), owner(), "sh_fetch", HOST, 1, true),
        (&no(), key("ada"), "host_ask", HOST, 1, true),
        (&no(), owner(), "host_ask", "1.1.1.1:443", 1, true),
    ] {
        let sample = waiting(LONG);
        let expected = if *answer == no() { "refused" } else { "reached" };
        assert_eq!(answered(&sample, "host_ask", answer).await, expected);
        let again = fetch(&sample, &caller, tool, host, conversation);
        let asked = tokio::select! {
            found = again => {
                assert_eq!(found, expected);
                false
            }
            _ = open(&sample, 1) => true,
        };
        assert_eq!(asked, is_asked, "{answer:?} {tool} {host} {conversation}");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_nobody_could_allow() {
    const SCOPES: &[&str] = &["read_workspace", "run_tests", "network"];
    let nobody =
        approvals::Config { wait: LONG, roles: gate::Roles::default(), ..approvals::Config::default() };
    let at_once = approvals::Config { wait: Duration::ZERO, ..approvals::Config::default() };
    let long = approvals::Config { wait: LONG, ..approvals::Config::default() };
    let silent = ProgramSettings { asks: false, ..settings() };
    for (settings, config, scopes, tool, host, expected) in [
        (settings(), &long, SCOPES, "host_ask", "127.0.0.1:9", "refused"),
        (settings(), &long, SCOPES, "host_ask", "10.0.0.1:80", "refused"),
        (settings(), &long, SCOPES, "host_ask", "169.254.169.254", "refused"),
        (settings(), &long, SCOPES, "host_ask", "intranet", "refused"),
        (settings(), &long, SCOPES, "sh_fetch", "metadata.google.internal", "refused"),
        (settings(), &long, SCOPES, "sh_fetch", "[fd00::1]", "refused"),
        (settings(), &long, &SCOPES[..2], "host_ask", HOST, "no_hand"),
        (settings(), &long, SCOPES, "host_beg", HOST, "no_hand"),
        (silent, &long, SCOPES, "host_ask", HOST, "no_hand"),
        (settings(), &nobody, SCOPES, "host_ask", HOST, "no_hand"),
        (settings(), &at_once, SCOPES, "host_ask", HOST, "no_hand"),
    ] {
        let sample = SampleGate::with_people(confiner(None), settings, config.clone());
        let tool = if tool == "host_beg" { "host_beg" } else { tool };
        let found = match tool {
            "host_beg" => {
                let arguments = json!({ "url": format!("http://{host}/") }).to_string();
                outcome(sample.gate.call(&holding(scopes), Call::tool(tool, Some(arguments.into()))).await)
            }
            _ => fetch(&sample, &holding(scopes), tool, host, 1).await,
        };
        assert_eq!((found.as_str(), questions(&sample).len()), (expected, 0), "{tool} {host} {scopes:?}");
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_host_is_shown_to_nobody() {
    let sample = waiting(LONG);
    sample.plant(&["planted-s3cret-01"]);
    let found = fetch(&sample, &owner(), "host_ask", "planted-s3cret-01.evil.test", 1).await;
    assert_eq!((found.as_str(), questions(&sample).len()), ("refused", 0));
}

#[tokio::test]
async fn a_person_sees_all_of_a_name_as_it_is() {
    let label = "a".repeat(60);
    let long = format!("www.bank.test.{label}.{label}.{label}.evil.test:443");
    for host in ["xn--bnk-5na.test:80", long.as_str()] {
        let sample = waiting(LONG);
        let caller = owner();
        let call = fetch(&sample, &caller, "host_ask", host, 1);
        let asked = tokio::select! {
            found = call => panic!("{found}"),
            asked = open(&sample, 1) => asked,
        };
        let report = asked[0].report(0);
        assert_eq!((report.target.as_deref(), report.target_kind.as_deref()), (Some(host), Some("host")));
        let why =
            format!("`host_ask` wants to reach {host}, itself or by its program, and no rule names that");
        assert!(asked[0].why().starts_with(&why), "{}", asked[0].why());
    }
}

#[tokio::test]
async fn however_many_connections_want_a_host_it_is_asked_once() {
    for (answer, expected) in [(yes(For::Once), "reachedx40"), (no(), "refusedx40")] {
        let sample = waiting(LONG);
        let arguments = json!({ "script": script(&[HOST], 40) }).to_string();
        let caller = owner();
        let (found, ()) =
            tokio::join!(sample.gate.call(&caller, Call::tool("sh_fetch", Some(arguments.into()))), async {
                let asked = open(&sample, 1).await;
                assert_eq!(say(&sample, &asked[0], &answer), "taken");
            });
        assert_eq!((outcome(found).as_str(), questions(&sample).len()), (expected, 1));
    }
}

#[tokio::test]
async fn a_program_that_asks_for_everything_is_asked_about_a_little() {
    let sample = waiting(LONG);
    let hosts: Vec<String> = (0..50).map(|nth| format!("h{nth}.evil.test")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let arguments = json!({ "script": script(&hosts, 1) }).to_string();
    let caller = owner();
    let (found, ()) =
        tokio::join!(sample.gate.call(&caller, Call::tool("sh_fetch", Some(arguments.into()))), async {
            for approval in open(&sample, RUN_QUESTIONS_MAX).await {
                assert_eq!(say(&sample, &approval, &no()), "taken");
            }
        });
    assert_eq!((outcome(found).as_str(), questions(&sample).len()), ("refusedx50", RUN_QUESTIONS_MAX));
}

#[tokio::test]
async fn without_an_answer_in_time_it_is_refused() {
    let sample = waiting(Duration::from_millis(300));
    assert_eq!(fetch(&sample, &owner(), "host_ask", HOST, 1).await, "refused");
    assert_eq!(
        recorded(&sample),
        [format!(
            "{HOST} / no rule allows it, and nobody has answered the question about it / nobody / none / expired"
        )]
    );
    // The answer that comes too late changes nothing.
    let asked = questions(&sample);
    assert_eq!(say(&sample, &asked[0], &yes(For::Always(Pattern::Same))), "approval_expired");
    assert!(
        sample.gate.approvals().grants(&Caller::local_user(Via::CommandLine)).expect("a store").is_empty()
    );
}

#[tokio::test]
async fn who_did_not_answer_in_time_is_waited_for_no_more_in_that_call() {
    let sample = waiting(Duration::from_millis(300));
    let scripts = ["1.1.1.1:80", "1.0.0.1:80"].map(|host| script(&[host], 1));
    let arguments = json!({ "script": scripts.join("\n") }).to_string();
    let call = Call::tool("sh_fetch", Some(arguments.into()));
    assert_eq!(outcome(sample.gate.call(&owner(), call).await), "refused\nrefused");
    assert_eq!(questions(&sample).len(), 1);
    // The next call asks again.
    assert_eq!(fetch(&sample, &owner(), "sh_fetch", HOST, 1).await, "refused");
    assert_eq!(questions(&sample).len(), 2);
}

#[tokio::test]
async fn a_question_ends_with_its_call() {
    // It is cancelled.
    let (sample, cancel, caller) = (waiting(LONG), Cancel::new(), owner());
    let arguments = json!({ "url": format!("http://{HOST}/") }).to_string();
    let call = Call { cancel: cancel.clone(), ..Call::tool("host_ask", Some(arguments.clone().into())) };
    let (found, ()) = tokio::join!(sample.gate.call(&caller, call), async {
        open(&sample, 1).await;
        cancel.cancel();
    });
    assert_eq!(outcome(found), "cancelled");
    let asked = questions(&sample);
    assert_eq!(state(&sample, &asked[0]), State::Expired);
    assert_eq!(say(&sample, &asked[0], &yes(For::Once)), "approval_expired");
    // Its client goes away: nobody can take the question back, so it ends by itself.
    let asked = tokio::select! {
        found = sample.gate.call(&caller, Call::tool("host_ask", Some(arguments.into()))) => panic!("{found:?}"),
        asked = open(&sample, 1) => asked,
    };
    let left_ms = asked[0].ends_at_ms() - sample.gate.approvals().now_ms();
    assert!(left_ms <= 15_000, "{left_ms} ms");
}

#[tokio::test]
async fn two_clients_at_once_are_asked_each_for_itself() {
    let sample = waiting(LONG);
    let (one, other) = (owner(), owner());
    let (first, second, ()) = tokio::join!(
        fetch(&sample, &one, "host_ask", HOST, 1),
        fetch(&sample, &other, "host_ask", HOST, 2),
        async {
            let asked = open(&sample, 2).await;
            let of =
                |conversation| asked.iter().find(|it| it.conversation == Some(conversation)).expect("asked");
            assert_eq!(say(&sample, of(1), &yes(For::Session)), "taken");
            assert_eq!(say(&sample, of(2), &no()), "taken");
        }
    );
    assert_eq!((first.as_str(), second.as_str()), ("reached", "refused"));
}

/// A client whose user answers every form so, or which cannot be asked.
struct Shown(Option<&'static str>, Mutex<Vec<String>>);

impl Forms for Shown {
    fn ask(&self, requests: Bytes) -> BoxFuture<'_, Option<Bytes>> {
        let requests = String::from_utf8(requests.to_vec()).expect("JSON");
        let key = requests.split('"').nth(1).expect("a key").to_owned();
        self.1.lock().expect("nobody panics").push(requests);
        let answer = self.0.map(|answer| format!("{{\"{key}\":{answer}}}").into());
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test]
async fn a_client_that_can_is_asked_while_the_call_runs() {
    const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;
    let agent = Caller::new(
        "a".into(),
        gate::CallerKind::LocalUser,
        Role::Agent.into(),
        gate::Scopes::all(),
        Via::Stdio,
    );
    let socket = Caller::local_user(Via::Socket);
    let accept = Some(r#"{"action":"accept","content":{"answer":"once"}}"#);
    for (caller, capabilities, answer, shown, expected) in [
        (owner(), FORMS, accept, 1, "reached"),
        (owner(), FORMS, Some(r#"{"action":"accept","content":{"answer":"session"}}"#), 1, "reached"),
        (owner(), FORMS, Some(r#"{"action":"accept","content":{"answer":"deny"}}"#), 1, "refused"),
        (owner(), FORMS, Some(r#"{"action":"decline"}"#), 1, "refused"),
        // No answer, and none that was offered.
        (owner(), FORMS, Some(r#"{"action":"cancel"}"#), 1, "refused"),
        (owner(), FORMS, Some(r#"{"action":"accept","content":{"answer":"perhaps"}}"#), 1, "refused"),
        (owner(), FORMS, None, 1, "refused"),
        // Whoever could not answer is not asked, nor one that shows no forms.
        (owner(), "{}", accept, 0, "no_hand"),
        (socket, FORMS, accept, 0, "no_hand"),
        (agent, FORMS, accept, 0, "no_hand"),
    ] {
        let sample = waiting(Duration::ZERO);
        let client = Client { capabilities: capabilities.into(), ..Client::default() };
        let forms = Shown(answer, Mutex::default());
        let arguments = json!({ "url": format!("http://{HOST}/") }).to_string();
        let call = Call { client, forms: Some(&forms), ..Call::tool("host_ask", Some(arguments.into())) };
        let found = outcome(sample.gate.call(&caller, call).await);
        let asked = forms.1.lock().expect("nobody panics");
        assert_eq!((found.as_str(), asked.len()), (expected, shown), "{capabilities} {answer:?}");
        let says = format!("Allow this host? `host_ask` wants to reach {HOST}");
        assert!(
            asked.iter().all(|form| form.contains(&says) && form.contains("Always allow this host")),
            "{asked:?}"
        );
        let answered = questions(&sample).iter().any(|it| state(&sample, it) == State::Pending);
        assert!(!answered, "no question is left open");
    }
}
