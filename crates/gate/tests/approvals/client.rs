//! Questions that a client asks its user.

use crate::scene::*;

/// A client that shows forms, in rounds of its own.
async fn form(process: &Process, caller: &Caller, arguments: &str) -> (String, Arc<str>) {
    let client = Client { capabilities: FORMS.into(), ..Client::default() };
    match process.make(caller, arguments, client, None).await {
        Ok(Outcome {
            payload: Payload::InputRequired { requests: Some(requests), state: Some(state), .. },
            ..
        }) => (String::from_utf8(requests.to_vec()).unwrap(), state),
        other => panic!("{:?}", other.map(|outcome| outcome.payload)),
    }
}

async fn with(
    process: &Process,
    arguments: &str,
    responses: &str,
    state: &Arc<str>,
) -> Result<Outcome, Failure> {
    let client = Client { capabilities: FORMS.into(), ..Client::default() };
    // Under the id of every question; the one that was asked is looked for.
    let all = process.gate.approvals().approvals(&terminal()).unwrap();
    let under = |approval: &Approval| responses.replace("_ID\"", &format!("_{}\"", approval.id));
    let each: Vec<String> = all.iter().map(under).map(|it| it[1..it.len() - 1].to_owned()).collect();
    let responses = Some(Bytes::from(match responses.contains("_ID\"") {
        true => format!("{{{}}}", each.join(",")),
        false => responses.to_owned(),
    }));
    process.make(&local(), arguments, client, Some(Input { responses, state: Some(state.clone()) })).await
}

fn said(action: &str, answer: &str) -> String {
    format!(r#"{{"toolcrib_approval_ID":{{"action":"{action}","content":{{"answer":"{answer}"}}}}}}"#)
}

#[tokio::test]
async fn a_client_asks_its_user() {
    for (responses, expected) in [
        (said("accept", "once"), "ran"),
        (said("accept", "session"), "ran"),
        (said("accept", "always"), "ran"),
        (said("accept", "deny"), "approval_denied"),
        (said("decline", ""), "approval_denied"),
        (said("cancel", "once"), "approval_required"),
        (said("accept", "perhaps"), "approval_required"),
        (String::from_utf8(unanswered().to_vec()).unwrap(), "approval_required"),
        ("{}".to_owned(), "approval_required"),
    ] {
        let scene = Scene::new();
        let process = scene.process();
        let (requests, state) = form(&process, &local(), r#"{"a":"b"}"#).await;
        assert!(is_question(requests.as_bytes()));
        assert!(
            requests.contains(r#"arguments: {\"a\":\"b\"}"#)
                && requests.contains("default.upstream_destructive"),
            "{requests}"
        );
        let ended = with(&process, r#"{"a":"b"}"#, &responses, &state).await;
        let ended = ended.map_or_else(|failure| failure.code().to_owned(), |_| "ran".to_owned());
        assert_eq!(ended, expected, "{responses}");
        // The answer is used up, and the state with it.
        let again = with(&process, r#"{"a":"b"}"#, &responses, &state).await;
        assert_eq!(again.unwrap_err().code(), "bad_request_state");
    }
}

#[tokio::test]
async fn a_dismissed_form_is_no_answer() {
    let scene = Scene::new();
    let process = scene.process();
    let (_, state) = form(&process, &local(), "{}").await;
    let dismissed = r#"{"toolcrib_approval_ID":{"action":"cancel"}}"#;
    let refused = with(&process, "{}", dismissed, &state).await.expect_err("nobody has answered");
    assert_eq!(refused.code(), "approval_required");
    let id = process.ask(&local(), "{}").await;
    assert_eq!(process.answer(&id, &once(), &terminal()), "approved", "it is still open for others");
    assert_eq!(process.call(&local(), "{}").await, "ran");
}

#[tokio::test]
async fn an_answer_in_the_client_is_for_what_its_user_saw() {
    let scene = Scene::new();
    let process = scene.process();
    let (_, state) = form(&process, &local(), r#"{"a":"b"}"#).await;
    let yes = said("accept", "once");
    for arguments in [r#"{"a":"c"}"#, "{}"] {
        let ended = with(&process, arguments, &yes, &state).await;
        assert_eq!(ended.unwrap_err().code(), "bad_request_state", "{arguments}");
    }
    // Somebody else was faster: what they said holds.
    let id = process.ask(&local(), r#"{"a":"b"}"#).await;
    process.answer(&id, &deny("no"), &terminal());
    let ended = with(&process, r#"{"a":"b"}"#, &yes, &state).await;
    assert_eq!(ended.unwrap_err().code(), "approval_denied");
    // Too late.
    pass(scene.config.lasts);
    let (_, state) = form(&process, &local(), r#"{"a":"b"}"#).await;
    pass(scene.config.lasts);
    let ended = with(&process, r#"{"a":"b"}"#, &yes, &state).await;
    assert_eq!(ended.unwrap_err().code(), "approval_expired");
    assert_eq!(scene.ran(), 0);
}

#[tokio::test]
async fn a_client_is_not_asked_that_could_not_answer() {
    let mut scene = Scene::new();
    let agent = Caller::new("a".into(), CallerKind::LocalUser, Role::Agent.into(), Scopes::all(), Via::Http);
    let refused = async |scene: &Scene, caller: &Caller, capabilities: &'static str| {
        let client = Client { capabilities: capabilities.into(), ..Client::default() };
        scene.process().make(caller, "{}", client, None).await.unwrap_err().code().to_owned()
    };
    assert_eq!(refused(&scene, &agent, FORMS).await, "approval_required", "an agent answers for nothing");
    assert_eq!(refused(&scene, &local(), r#"{"elicitation":{"url":{}}}"#).await, "approval_required");
    assert_eq!(refused(&scene, &local(), "{}").await, "approval_required");
    scene.config.elicitation = false;
    assert_eq!(refused(&scene, &local(), FORMS).await, "approval_required");
}

/// What a client says of its user counts only where no program of the agent's can be that client.
#[tokio::test]
async fn a_form_goes_where_a_person_is() {
    let local = Caller::local_user;
    let token =
        || Caller::new("idp:ada".into(), CallerKind::Token, Role::Owner.into(), Scopes::all(), Via::Http);
    for (caller, is_asked) in [
        (local(Via::Stdio), true),
        (local(Via::Http), false),
        (local(Via::Socket), false),
        (holder("key:k", Role::Owner), false),
        (holder("key:k", Role::Maintainer), false),
        (person("key:k", Role::Owner), true),
        (person("key:k", Role::Agent), false),
        (token(), false),
        (token().as_person(), true),
    ] {
        let scene = Scene::new();
        let client = Client { capabilities: FORMS.into(), ..Client::default() };
        let made = scene.process().make(&caller, "{}", client, None).await;
        let asked = match &made {
            Ok(Outcome { payload: Payload::InputRequired { .. }, .. }) => true,
            Err(failure) => {
                assert_eq!(failure.code(), "approval_required", "{caller:?}");
                false
            }
            Ok(_) => panic!("{caller:?}: nobody has allowed it"),
        };
        assert_eq!(asked, is_asked, "{caller:?}");
    }
}

#[tokio::test]
async fn a_form_takes_the_code() {
    let scene = Scene::new();
    let process = scene.process();
    process.gate.approvals().set_code(None, Some(&Code::new("k33n"))).unwrap();
    for (content, expected) in [
        (r#"{"answer":"once"}"#, "approval_required"),
        (r#"{"answer":"always","code":"wrong"}"#, "approval_required"),
        (r#"{"answer":"once","code":"k33n"}"#, "ran"),
        (r#"{"answer":"deny"}"#, "approval_denied"),
    ] {
        let (requests, state) = form(&process, &local(), "{}").await;
        assert!(requests.contains(r#""code":{"#), "{requests}");
        let said = format!(r#"{{"toolcrib_approval_ID":{{"action":"accept","content":{content}}}}}"#);
        let ended = with(&process, "{}", &said, &state).await;
        let told = ended.map_or_else(
            |failure| (failure.code().to_owned(), failure.to_string()),
            |_| ("ran".to_owned(), String::new()),
        );
        assert_eq!(told.0, expected, "{content}");
        assert!(!told.1.contains("code"), "a model learns nothing of it: {}", told.1);
    }
}

/// A tool that asks, too: its rounds follow ours, and need no other answer.
#[tokio::test]
async fn the_rounds_of_a_tool_follow() {
    let scene = Scene::new();
    let process = scene.process();
    let arguments = r#"{"asks":true}"#;
    let (_, state) = form(&process, &local(), arguments).await;
    let state = match with(&process, arguments, &said("accept", "once"), &state).await {
        Ok(Outcome { payload: Payload::InputRequired { requests, state: Some(state), .. }, .. }) => {
            assert_eq!(requests.as_deref(), Some(&br#"{"k":{"method":"roots/list"}}"#[..]));
            state
        }
        other => panic!("{:?}", other.map(|outcome| outcome.payload)),
    };
    assert!(!state.contains("inner"));
    match with(&process, arguments, r#"{"k":7}"#, &state).await {
        Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
            assert_eq!(&result[..], br#"burnt {"k":7}"#)
        }
        other => panic!("{:?}", other.map(|outcome| outcome.payload)),
    }
    assert_eq!(scene.ran(), 1);
    // What one call was allowed is not carried to the next.
    process.ask(&local(), arguments).await;

    // Another definition in between: the question comes again, and what the tool asked for is not lost.
    let (_, state) = form(&process, &local(), r#"{"asks":true,"n":2}"#).await;
    let arguments = r#"{"asks":true,"n":2}"#;
    let Ok(Outcome { payload: Payload::InputRequired { state: Some(state), .. }, .. }) =
        with(&process, arguments, &said("accept", "once"), &state).await
    else {
        panic!("the tool asks")
    };
    process.catalog.replace("u", vec![burn("burns more", &scene.ran)], Features::default());
    let Ok(Outcome {
        payload: Payload::InputRequired { requests: Some(requests), state: Some(state), .. },
        ..
    }) = with(&process, arguments, r#"{"k":8}"#, &state).await
    else {
        panic!("the gate asks")
    };
    assert!(is_question(&requests));
    match with(&process, arguments, &said("accept", "once"), &state).await {
        Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) => {
            assert_eq!(&result[..], br#"burnt {"k":8}"#)
        }
        other => panic!("{:?}", other.map(|outcome| outcome.payload)),
    }
}

/// A model sends a number and a flag as texts: what they mean is asked about and runs, in every round.
#[tokio::test]
async fn what_arguments_mean_is_what_a_person_allows() {
    let scene = Scene::new();
    let process = scene.process_that_takes(
        r#"{"type":"object","properties":{"n":{"type":"integer"},"asks":{"type":"boolean"}}}"#,
    );
    let id = process.ask(&local(), r#"{"n":"1"}"#).await;
    assert_eq!(process.approval(&id).arguments, r#"{"n":1}"#);
    process.answer(&id, &once(), &terminal());
    assert_eq!(process.call(&local(), r#"{"n":"2"}"#).await, "approval_required");
    assert_eq!(process.call(&local(), r#"{"n":1}"#).await, "ran", "it is the same call");

    let arguments = r#"{"n":"3","asks":"true"}"#;
    let (requests, state) = form(&process, &local(), arguments).await;
    assert!(requests.contains(r#"{\"asks\":true,\"n\":3}"#), "{requests}");
    let Ok(Outcome { payload: Payload::InputRequired { state: Some(state), .. }, .. }) =
        with(&process, arguments, &said("accept", "once"), &state).await
    else {
        panic!("the tool asks")
    };
    let Ok(Outcome { payload: Payload::Relayed { result, .. }, .. }) =
        with(&process, arguments, r#"{"k":7}"#, &state).await
    else {
        panic!("the tool runs")
    };
    assert_eq!((&result[..], scene.ran()), (&br#"burnt {"k":7}"#[..], 2));
}

/// A process ends after it has asked, another takes up what it has begun: the form that its client was shown, the round
/// trip of the tool that has begun with the answer, and the permission that was given for the session.
#[tokio::test]
async fn the_next_process_takes_up_what_the_first_has_asked() {
    let scene = Scene::new();
    let asks = r#"{"asks":true}"#;
    let (_, state) = form(&scene.process(), &local(), asks).await;
    let next = scene.process();
    let Ok(Outcome { payload: Payload::InputRequired { state: Some(state), .. }, .. }) =
        with(&next, asks, &said("accept", "once"), &state).await
    else {
        panic!("the tool asks")
    };
    assert_eq!(scene.ran(), 0);
    drop(next);
    let last = scene.process();
    with(&last, asks, r#"{"k":{"roots":[]}}"#, &state).await.unwrap();
    assert_eq!(scene.ran(), 1);
    for process in [last, scene.process()] {
        let again = with(&process, asks, r#"{"k":{"roots":[]}}"#, &state).await;
        assert_eq!(again.unwrap_err().code(), "bad_request_state", "it was used up, for every process");
    }
}
