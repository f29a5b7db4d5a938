//! Calls and actions, and the rounds that they take.

use super::*;

#[tokio::test]
async fn resources_are_read_under_the_uris_offered() {
    for era in ERAS {
        let it = connected(&[era]).await;
        for (offered, own) in [
            ("my-all+file:///a.txt", "file:///a.txt"),
            ("ui://my-all/clock/face", "ui://clock/face"),
            ("my-all+db://t/1", "db://t/1"),
        ] {
            let read = act(&it, Action::ReadResource, &format!(r#"{{"uri":"{offered}"}}"#)).await;
            assert_eq!(
                common(read),
                format!(r#"{{"contents": [{{"uri": "{offered}", "text": "about {own}"}}]}}"#)
            );
        }
        let missing = act(&it, Action::ReadResource, r#"{"uri":"my-all+file:///missing"}"#).await;
        let code = if era == "modern" { -32602 } else { -32002 };
        let expected = "Resource not found: my-all+file:///missing {\"uri\": \"my-all+file:///missing\"}";
        assert_eq!(protocol(missing), format!("{code} {expected}"));
        let foreign = act(&it, Action::ReadResource, r#"{"uri":"file:///a.txt"}"#).await;
        assert_eq!(protocol(foreign), r#"-32002 Resource not found {"uri":"file:///a.txt"}"#);
        let none = act(&it, Action::ReadResource, "{}").await;
        assert_eq!(protocol(none), "-32602 Invalid params: resources/read needs the string \"uri\" -");
    }
}

#[tokio::test]
async fn prompts_are_filled_in_under_the_names_offered() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let filled =
            act(&it, Action::GetPrompt, r#"{"name":"my_all_code_review","arguments":{"a":"b"}}"#).await;
        assert_eq!(
            common(filled),
            r#"{"messages": [{"role": "user", "content": {"type": "text", "text": "code.review {\"a\": \"b\"}"}}, {"role": "user", "content": {"type": "resource_link", "uri": "my-all+file:///a.txt", "name": "a"}}]}"#
        );
        let unknown = act(&it, Action::GetPrompt, r#"{"name":"code.review"}"#).await;
        assert_eq!(protocol(unknown), "-32602 Invalid params: unknown prompt `code.review` -");
    }
}

#[tokio::test]
async fn completion_asks_about_the_upstreams_own_names() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let argument = r#""argument":{"name":"x","value":"v"}"#;
        for (reference, own) in [
            (
                r#"{"type":"ref/prompt","name":"my_all_greet"}"#,
                r#"{\"name\": \"greet\", \"type\": \"ref/prompt\"}"#,
            ),
            (
                r#"{"type":"ref/resource","uri":"my-all+db://{table}/{row}"}"#,
                r#"{\"type\": \"ref/resource\", \"uri\": \"db://{table}/{row}\"}"#,
            ),
        ] {
            let params = format!(r#"{{"ref":{reference},{argument}}}"#);
            let completed = act(&it, Action::Complete, &params).await;
            assert_eq!(common(completed), format!(r#"{{"completion": {{"values": ["{own}", "v"]}}}}"#));
        }
        let unknown = format!(r#"{{"ref":{{"type":"ref/prompt","name":"nobody"}},{argument}}}"#);
        let unknown = act(&it, Action::Complete, &unknown).await;
        assert_eq!(protocol(unknown), "-32602 Invalid params: unknown prompt `nobody` -");
    }
}

#[tokio::test]
async fn what_a_server_asks_in_the_middle_takes_another_round() {
    for era in ERAS {
        let it = connected(&[era]).await;
        let (requests, key, state) = asked(run(tool(&it, "my_all_asks"), "{}", &able(None)).await);
        assert!(requests.contains("elicitation/create") && requests.contains("Who?"), "{requests}");
        let responses = format!(r#"{{"{key}":{{"action":"accept","content":{{"name":"Ada"}}}}}}"#);
        let input = Input { responses: Some(responses.into()), state };
        let answered = common(run(tool(&it, "my_all_asks"), "{}", &able(Some(input))).await);
        let state = if era == "modern" { r#"\"st\\u00e4te\""# } else { "null" };
        let said =
            r#"[{\"action\": \"accept\", \"content\": {\"name\": \"Ada\"}}, STATE]"#.replace("STATE", state);
        assert_eq!(answered, format!(r#"{{"content": [{{"type": "text", "text": "{said}"}}]}}"#));
    }
}

#[tokio::test]
async fn reading_may_take_another_round_too() {
    let it = connected(&["modern"]).await;
    let params = r#"{"uri":"my-all+file:///asks"}"#;
    let read = action(&it, Action::ReadResource).expect("offered");
    let (_, key, state) = asked(run(read.clone(), params, &able(None)).await);
    let input = Input { responses: Some(format!(r#"{{"{key}":{{"action":"decline"}}}}"#).into()), state };
    let answered = common(run(read, params, &able(Some(input))).await);
    assert!(answered.contains(r#"[{\"action\": \"decline\"}, \"st\\u00e4te\"]"#), "{answered}");
}

#[tokio::test]
async fn a_state_that_names_no_call_is_said_in_the_protocol() {
    let it = connected(&["legacy"]).await;
    let input = Input { responses: Some("{}".into()), state: Some("nobody".into()) };
    let said = protocol(run(tool(&it, "my_all_asks"), "{}", &able(Some(input))).await);
    assert!(said.starts_with("-32602 "), "{said}");
}

#[tokio::test]
async fn a_call_that_is_lost_is_made_again_only_if_that_does_no_harm() {
    for era in ERAS {
        let folder = tempfile::tempdir().expect("a folder");
        let written = format!("sandbox.write = [{:?}]", folder.path());
        let it = everything_with(&[era], &written);
        it.connect().await.expect("connected");
        let mark = |name| format!(r#"{{"mark":{:?}}}"#, folder.path().join(name));
        let said = common(call(&it, "my_all_dies_once", &mark("once")).await);
        assert_eq!(said, r#"{"content": [{"type": "text", "text": "alive"}]}"#, "it is idempotent");
        let said = common(call(&it, "my_all_dies_first", &mark("first")).await);
        assert!(said.starts_with("upstream_gone: "), "{said}");
    }
}

#[tokio::test]
async fn what_the_client_lacks_is_said_in_the_protocol() {
    let it = connected(&["modern"]).await;
    let said = protocol(call(&it, "my_all_needs", "{}").await);
    assert_eq!(said, r#"-32021 needs sampling {"requiredCapabilities": {"sampling": {}}}"#);
}

#[tokio::test]
async fn a_server_of_the_first_revision_may_complete_though_it_cannot_say_so() {
    let params = r#"{"ref":{"type":"ref/prompt","name":"my_all_greet"},"argument":{"name":"x","value":"v"}}"#;
    for (habit, expected) in [
        ("", r#"["{\"name\": \"greet\", \"type\": \"ref/prompt\"}", "v"]"#),
        ("no completion", r#"{"completion":{"values":[],"total":0,"hasMore":false}}"#),
    ] {
        let it = connected(&["legacy", "first revision", habit]).await;
        assert_eq!(state(&it), "connected to all 1 (2024-11-05)");
        assert!(it.offers().borrow().features.abilities.completions);
        let said = shown(act(&it, Action::Complete, params).await);
        assert!(said.contains(expected), "{said}");
    }
}
