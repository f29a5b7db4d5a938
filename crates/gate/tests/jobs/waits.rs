//! Jobs that wait for somebody: a person who must allow them, a caller who must answer, a key that was revoked meanwhile; and
//! calls that become jobs because they take too long.

use super::scene::*;
use gate::approvals::{Answer, Scope};

#[tokio::test]
async fn a_job_waits_for_a_person_and_runs_once_one_has_allowed_it() {
    let scene = Scene::new();
    let process = scene.process();
    for (answer, state, said, ran, attempt) in [
        (Answer::Approve { scope: Scope::Once, note: None }, State::Succeeded, "says 1", 1, 1),
        // It has never begun.
        (Answer::Deny { reason: None }, State::Failed, "approval_denied", 1, 0),
    ] {
        let job = process.submit(&local(), "burn", "says").await.unwrap();
        let waits = process.until(&job, State::WaitingApproval).await;
        let id = waits.approval.unwrap();
        process.gate.approvals().answer(&id, &answer, &Caller::local_user(Via::CommandLine), None).unwrap();
        let (over, told) = process.over(&job).await;
        assert_eq!((over.state, told.as_str(), scene.ran(), over.attempt), (state, said, ran, attempt));
    }
}

#[tokio::test]
async fn what_became_a_job_before_its_client_was_asked_for_an_approval_waits_for_a_person() {
    let scene = Scene::new();
    let process = scene.process();
    let (caller, patience) = (local(), Duration::ZERO);
    let forms = Client { capabilities: r#"{"elicitation":{}}"#.into(), ..Client::default() };
    let call = Call { client: forms, ..Call::tool("burn", Some(r#"{"does":"says"}"#.into())) };
    let Answered::Job(job) =
        process.jobs.call(&process.gate, &caller, call, patience, Wants::default()).await
    else {
        panic!("nobody waits for it")
    };
    let waits = process.until(&job, State::WaitingApproval).await;
    // Whoever else is the same caller, as by a port without keys, neither sees the form nor answers it.
    let id = job.id.as_str();
    assert_eq!(process.jobs.asked(&caller, id).await.unwrap_err().code(), "job_state");
    let approval = waits.approval.unwrap();
    let yes =
        format!(r#"{{"toolcrib_approval_{approval}":{{"action":"accept","content":{{"answer":"once"}}}}}}"#);
    assert_eq!(
        process.jobs.answer(&caller, id, waits.last_event, &yes.into()).await.unwrap_err().code(),
        "job_state"
    );
    assert_eq!(scene.ran(), 0);
    let once = Answer::Approve { scope: Scope::Once, note: None };
    process.gate.approvals().answer(&approval, &once, &Caller::local_user(Via::CommandLine), None).unwrap();
    assert_eq!(process.over(&job).await.1, "says 1");
}

#[tokio::test]
async fn a_job_asks_its_caller_and_goes_on_with_the_answer() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "asks").await.unwrap();
    let (asks, asked) = process.over(&job).await;
    assert_eq!(asks.state, State::InputRequired);
    assert!(asked.contains("roots/list"), "{asked}");
    let answer = Bytes::from_static(br#"{"k":{"roots":[]}}"#);
    let (id, stranger, number) = (job.id.as_str(), holder("key:b", "k"), asks.last_event);
    assert_eq!(process.jobs.answer(&stranger, id, number, &answer).await.unwrap_err().code(), "unknown_job");
    // Whoever has read one question answers no other.
    for another in [number - 1, number + 1] {
        let refused = process.jobs.answer(&local(), id, another, &answer).await;
        assert_eq!(refused.unwrap_err().code(), "job_state", "{another}");
    }
    assert!(asks.message.is_some());
    let goes_on = process.jobs.answer(&local(), id, number, &answer).await.unwrap();
    assert_eq!(goes_on.message, None, "it wants nothing any more");
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, said.as_str()), (State::Succeeded, r#"{"k":{"roots":[]}}"#));
    assert_eq!(
        process.jobs.answer(&local(), id, over.last_event, &answer).await.unwrap_err().code(),
        "job_state"
    );
    let events = process.events(&job).await;
    assert_eq!(events, ["started 1", "input", "queued", "started 2", "finished succeeded"]);
    // The same call again asks again: what was answered belongs to this one.
    let again = process.jobs.again(&process.gate, &local(), id).await.unwrap();
    assert_eq!(process.over(&again).await.0.state, State::InputRequired);
}

#[tokio::test]
async fn what_a_tool_keeps_for_the_answer_goes_once_its_job_has_gone_on() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "asks and holds").await.unwrap();
    process.until(&job, State::InputRequired).await;
    let (id, answer) = (job.id.as_str(), Bytes::from_static(br#"{"k":{"roots":[]}}"#));
    let asked = process.jobs.asked(&local(), id).await.unwrap();
    process.jobs.answer(&local(), id, asked.number, &answer).await.unwrap();
    assert_eq!(process.over(&job).await.0.state, State::Succeeded);
    tokio::time::timeout(SOON, scene.let_go.notified()).await.expect("it is let go");
}

#[tokio::test]
async fn whoever_looks_after_a_job_answers_all_that_it_asks() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "asks").await.unwrap();
    let (id, stranger) = (job.id.as_str(), holder("key:b", "k"));
    process.over(&job).await;
    let asked = process.jobs.asked(&local(), id).await.unwrap();
    assert_eq!(asked.requests, r#"{"k":{"method":"roots/list"}}"#);
    let brings = async |whose: Whose<'_>, number, responses: &'static str| {
        let responses = Bytes::from_static(responses.as_bytes());
        let answered = process.jobs.answer_for_client(whose, id, number, &responses).await;
        answered.map_or_else(|refusal| refusal.to_string(), |_| "answered".to_owned())
    };
    let answer = async |whose: Whose<'_>, responses| brings(whose, None, responses).await;
    assert!(answer(Whose::Of(&stranger), r#"{"k":{}}"#).await.starts_with("unknown job"));
    for (responses, found) in [
        ("{}", "nothing"),
        (r#"{"other":{}}"#, "nothing"),
        (r#"{"k":7}"#, "something else"),
        ("[]", "nothing"),
    ] {
        let refused = answer(Whose::Anyone, responses).await;
        assert!(refused.contains("/k") && refused.contains(found), "{responses}: {refused}");
    }
    // Of two who have read the same question one answers, and what was read before is no answer to what is asked now.
    let (number, roots) = (asked.number, r#"{"k":{"roots":[]}}"#);
    let other = brings(Whose::Anyone, Some(number - 1), roots).await;
    assert_eq!(other, "the job is asking something else by now and cannot be answered so");
    assert_eq!(process.jobs.get(&local(), id).await.unwrap().state, State::InputRequired);
    let both = futures_util::future::join(
        brings(Whose::Anyone, Some(number), roots),
        brings(Whose::Anyone, Some(number), roots),
    );
    let both: [String; 2] = both.await.into();
    assert_eq!(both.iter().filter(|said| *said == "answered").count(), 1, "{both:?}");
    assert!(both.iter().any(|said| said.contains("cannot be answered")), "{both:?}");
    assert_eq!(process.over(&job).await.0.state, State::Succeeded);
    assert_eq!(process.jobs.asked(&local(), id).await.unwrap_err().code(), "job_state");
    assert!(answer(Whose::Anyone, r#"{"k":{}}"#).await.contains("cannot be answered"));
}

#[tokio::test]
async fn who_waits_for_a_job_answers_what_it_asks_and_nothing_that_came_since() {
    let scene = Scene::new();
    let process = scene.process();
    let job = process.submit(&local(), "work", "asks").await.unwrap();
    process.until(&job, State::InputRequired).await;
    let brings = async |caller: &Caller, another: u64, responses: &str| {
        let job = job.id.as_str();
        let arguments =
            serde_json::json!({ "does": "answers", "job": job, "another": another, "brings": responses });
        let call = Call::tool(JOB_WAIT, Some(arguments.to_string().into()));
        match process.gate.call(caller, call).await.unwrap().payload {
            Payload::Ours { blocks, .. } => format!("{blocks:?}"),
            other => format!("{other:?}"),
        }
    };
    let answers = async |caller: &Caller, another| brings(caller, another, r#"{"k":{"roots":[]}}"#).await;
    assert_eq!(answers(&holder("key:b", "k"), 0).await, r#"[Text("nothing")]"#);
    for left in ["", "{}", r#"{"k":7}"#] {
        assert!(brings(&local(), 0, left).await.contains("roots/list"), "{left}");
        let asks = process.over(&job).await.0;
        assert_eq!((asks.state, asks.attempt), (State::InputRequired, 1), "{left} answers nothing");
    }
    assert!(answers(&local(), 1).await.contains("roots/list"));
    assert_eq!(process.until(&job, State::InputRequired).await.attempt, 1, "it was another question");
    assert!(answers(&local(), 0).await.contains("roots/list"));
    assert_eq!(process.over(&job).await.1, r#"{"k":{"roots":[]}}"#);
    assert_eq!(answers(&local(), 0).await, r#"[Text("nothing")]"#);
}

#[tokio::test]
async fn a_revoked_key_ends_its_jobs_whether_they_wait_or_run() {
    let scene = Scene::new();
    let process = scene.process();
    process.jobs.govern(Config { running: 1, ..Config::default() });
    let caller = holder("key:a", "k1");
    let runs = process.submit(&caller, "work", "waits").await.unwrap();
    let waits = process.submit(&caller, "work", "says").await.unwrap();
    process.until(&runs, State::Running).await;
    scene.is_known.store(false, Ordering::SeqCst);
    for (job, why) in [
        (&runs, "`work` was ended: the key that its job was taken under was revoked while it ran"),
        (&waits, "`work` does not run: the key that it was called with was revoked"),
    ] {
        let (over, code) = process.over(job).await;
        assert_eq!((over.state, code.as_str()), (State::Failed, "key_revoked"));
        let result = process.jobs.result(Whose::Anyone, job.id.as_str()).await.unwrap();
        assert_eq!(result.unwrap().unwrap_err().message, why);
    }
    assert_eq!(scene.ran(), 1);
}

#[test]
fn what_has_changed_while_a_job_waited_is_seen_before_it_begins() {
    for (caller, change, expected) in [
        (
            holder("key:a", "k1"),
            &|scene: &Scene| scene.is_known.store(false, Ordering::SeqCst),
            "key_revoked",
        ),
        (local(), &|scene: &Scene| scene.is_another.store(true, Ordering::SeqCst), "approval_outdated"),
    ] as [(Caller, &dyn Fn(&Scene), &str); 2]
    {
        let scene = Scene::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (over, code) = runtime.block_on(async {
            let job = scene.idle().submit(&caller, "work", "says").await.unwrap();
            change(&scene);
            scene.process().over(&job).await
        });
        assert_eq!((over.state, code.as_str(), scene.ran()), (State::Failed, expected, 0));
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_goes_on_as_a_job() {
    let scene = Scene::new();
    let process = scene.process();
    let call = |does: &str| {
        let arguments = serde_json::json!({ "does": does }).to_string();
        Call::tool("work", Some(arguments.into()))
    };
    let (jobs, gate, caller) = (&process.jobs, &process.gate, local());
    let done = jobs.call(gate, &caller, call("says"), SOON, Wants::default()).await;
    assert!(matches!(done, Answered::Done(Ok(_))), "{done:?}");
    let patience = Duration::from_millis(20);
    let Answered::Job(job) = jobs.call(gate, &caller, call("waits"), patience, Wants::default()).await else {
        panic!("it waits")
    };
    assert_eq!(job.state, State::Running);
    // It is as old as the call.
    let ran_ms = job.created_at_ms - job.started_at_ms.unwrap();
    assert!(ran_ms >= 20, "{ran_ms} ms");
    assert_eq!(process.cancel(&caller, job.id.as_str()).await.unwrap().state, State::Cancelled);
    let events = process.events(&job).await;
    assert_eq!(
        (events.first().unwrap().as_str(), events.last().unwrap().as_str()),
        ("started 1", "finished cancelled")
    );
    // It is not given up with its request.
    let Answered::Job(job) = jobs.call(gate, &caller, call("holds"), patience, Wants::default()).await else {
        panic!("it holds")
    };
    scene.let_go.notify_one();
    let (over, said) = process.over(&job).await;
    assert_eq!((over.state, said.as_str()), (State::Succeeded, "let go"));
    // Whoever goes away before that takes the call along.
    let ran = scene.ran();
    let gone = jobs.call(gate, &caller, call("waits"), SOON, Wants::default());
    assert!(tokio::time::timeout(patience, gone).await.is_err());
    assert_eq!((scene.ran(), process.jobs.under_way()), (ran + 1, 0));
}
