//! What is remembered, shared with other processes, believed of a server or said by its owner.

use super::*;

#[test]
fn what_is_remembered_changes_nothing_that_is_known() {
    let kept = SamplePins::sound();
    run(async {
        let new = || upstream(Trust::Pin, "x", pinning(&kept));
        // Of a server of which nothing is known nothing is remembered either: it has to be asked.
        assert!(!new().recall(GOOD, 1).await);
        let it = new();
        list(&it, GOOD).await;
        let changed = GOOD.replace("Adds.", "Eats.");
        list(&it, &changed).await;
        let before = pins(&it, &kept).await;
        let other = new();
        assert!(other.recall(GOOD, 1).await, "it may be older than the change");
        assert!(shown(&other).starts_with("tool add, "), "{}", shown(&other));
        let third = new();
        assert!(third.recall(&changed, 1).await);
        assert_eq!(shown(&third), shown(&it));
        assert_eq!(pins(&it, &kept).await, before);
        // Who has nothing but what is remembered goes by a decision, too.
        decide(&third, &kept, What::Tool, "add", Decision::Accept).await;
        assert!(shown(&third).ends_with("held: nothing\n"), "{}", shown(&third));
    });
}

#[test]
fn two_processes_pin_once() {
    let kept = SamplePins::sound();
    run(async {
        let (one, other) =
            (upstream(Trust::Pin, "x", pinning(&kept)), upstream(Trust::Pin, "x", pinning(&kept)));
        let changed = GOOD.replace("Adds.", "Eats.");
        tokio::join!(list(&one, GOOD), list(&other, &changed));
        let held = |it: &Upstream| it.offers().borrow().held.len();
        assert_eq!(held(&one) + held(&other), 1, "who came first was accepted, and nobody else");
    });
}

#[test]
fn only_who_is_trusted_is_believed_that_it_reads() {
    let hints =
        |hints: &str| GOOD.replace(r#""inputSchema""#, &format!(r#""annotations":{hints},"inputSchema""#));
    for (mode, annotations, expected) in [
        (Trust::Pin, r#"{"readOnlyHint":true}"#, Effect::Executes),
        (Trust::Trust, r#"{"readOnlyHint":true}"#, Effect::Reads),
        (Trust::Trust, r#"{"readOnlyHint":true,"destructiveHint":true}"#, Effect::Executes),
        (Trust::Trust, r#"{"readOnlyHint":"true"}"#, Effect::Executes),
        (Trust::Trust, "{}", Effect::Executes),
    ] {
        let kept = SamplePins::sound();
        let it = upstream(mode, "x", pinning(&kept));
        run(list(&it, &hints(annotations)));
        let effect = it.offers().borrow().tools[0].definition().effect;
        assert_eq!(effect, expected, "{mode:?} {annotations}");
    }
}

#[test]
fn the_owner_is_believed_and_only_tightened_by_the_server() {
    let hints =
        |hints: &str| GOOD.replace(r#""inputSchema""#, &format!(r#""annotations":{hints},"inputSchema""#));
    for (stated, annotations, expected) in [
        ("reads", "{}", (Effect::Reads, false)),
        ("reads", r#"{"destructiveHint":true}"#, (Effect::Reads, true)),
        ("destroys", r#"{"readOnlyHint":true}"#, (Effect::Destroys, false)),
        ("executes", "{}", (Effect::Executes, false)),
    ] {
        for mode in [Trust::Pin, Trust::Trust] {
            let table = format!("tool.add.effect = {stated:?}");
            let kept = SamplePins::sound();
            let it = upstream_with(mode, "x", pinning(&kept), &table);
            run(list(&it, &hints(annotations)));
            let offer = it.offers().borrow().clone();
            let definition = offer.tools[0].definition();
            assert_eq!(
                (definition.effect, definition.marked_destructive),
                expected,
                "{stated} {annotations}"
            );
        }
    }
}

#[test]
fn a_key_says_what_is_run_and_no_secret() {
    let key = |table: &str| {
        let table: Config = toml::from_str(table).expect("a table");
        let settled =
            table.settle("it", std::time::Duration::from_secs(1), &|_| Ok("s3cret-value".to_owned()));
        settled.expect("sound").trust_key()
    };
    let same = [
        ("command = \"x\"\nenv.A = \"1\"", "command = \"x\"\nenv.A = \"2\"\ntimeout = 5\nprefix = \"p\""),
        ("url = \"https://h/m?k=1\"", "url = \"https://h/m?k=2\"\nheaders.A = \"b\""),
    ];
    for (one, other) in same {
        assert_eq!(key(one), key(other), "{one}");
    }
    let all = [
        "command = \"x\"",
        "command = \"y\"",
        "command = \"x\"\nargs = [\"y\"]",
        "command = \"x\"\nargs = [\"yy\"]",
        "command = \"x\"\nargs = [\"y\", \"y\"]",
        "command = \"x\"\nenv.A = \"1\"",
        "command = \"x\"\nenv.B = \"1\"",
        "command = \"x\"\ncwd = \"/\"",
        "url = \"https://h/m\"",
        "url = \"https://h/n\"",
        "url = \"http://h/m\"",
        "url = \"https://h/m?k=1\"",
        "url = \"https://h:1/m\"",
        "socket = \"/x\"",
        "socket = \"/y\"",
    ];
    for (at, one) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| key(one) != key(other)), "{one}");
    }
}
