//! What names alone do: one that reads like another server's, and one that holds a secret.

use super::*;

fn lists(tool: &str) -> String {
    format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{}}}}],"capabilities":{{"tools":{{}}}}}}"#)
}

/// What a server of which nobody knows anything is offered with, beside the others.
async fn newcomer(name: &str, pinning: &Pinning) -> String {
    let kept = SamplePins::sound();
    let it = named(name, Trust::Pin, "new", Pinning { store: store(&kept), ..pinning.clone() });
    list(&it, &lists("cal1")).await;
    let shown = shown(&it);
    it.end().await;
    shown
}

const HELD: &str = "nothing; held: tool cal1 (suspicious)\n";
const OFFERED: &str = "tool cal1; held: nothing\n";

#[tokio::test]
async fn a_server_counts_as_a_neighbour_as_long_as_it_is_there() {
    for mode in [Trust::Pin, Trust::Review, Trust::Trust] {
        let kept = SamplePins::sound();
        let pinning = pinning(&kept);
        assert_eq!(newcomer("new", &pinning).await, OFFERED, "{mode:?}: nobody is there");
        let other = named("other", mode, "x", pinning.clone());
        list(&other, &lists("call")).await;
        assert_eq!(newcomer("new", &pinning).await, HELD, "{mode:?}: it reads like another's");
        // Its calls may go on.
        other.close();
        assert_eq!(newcomer("new", &pinning).await, HELD, "{mode:?}: that one is still there");
        other.end().await;
        assert_eq!(newcomer("new", &pinning).await, OFFERED, "{mode:?}: that one has gone");
        // What was still being read of it.
        list(&other, &lists("call")).await;
        assert_eq!(newcomer("new", &pinning).await, OFFERED, "{mode:?}: it does not come back");
    }
}

#[tokio::test]
async fn one_that_is_let_go_of_is_no_neighbour() {
    let kept = SamplePins::sound();
    let pinning = pinning(&kept);
    let other = named("other", Trust::Pin, "x", pinning.clone());
    list(&other, &lists("call")).await;
    drop(other);
    assert_eq!(newcomer("new", &pinning).await, OFFERED);
}

#[tokio::test]
async fn who_takes_its_place_stays_when_it_goes() {
    let kept = SamplePins::sound();
    let pinning = pinning(&kept);
    let before = named("other", Trust::Pin, "x", pinning.clone());
    list(&before, &lists("ca11")).await;
    let after = named("other", Trust::Pin, "y", pinning.clone());
    list(&after, &lists("call")).await;
    assert!(shown(&after).starts_with("tool call; "), "its own name's past is not held against it");
    before.end().await;
    assert_eq!(newcomer("new", &pinning).await, HELD, "the second one is still there");
    after.end().await;
    assert_eq!(newcomer("new", &pinning).await, OFFERED);
}

/// A name stands in pins, records and figures, and what is struck out of it could not be called.
#[tokio::test]
async fn what_has_a_secret_for_its_name_is_withheld_and_noted_nowhere() {
    let kept = SamplePins::sound();
    let it = upstream(Trust::Pin, "x", pinning(&kept));
    let definitions = r#"{"tools":[{"name":"add","inputSchema":{}},{"name":"get_s3cret","inputSchema":{}}],
        "prompts":[{"name":"s3cret"}],"resources":[{"uri":"a:s3cret"},{"uri":"a:1"}],
        "resourceTemplates":[{"uriTemplate":"s3cret:{x}"}],"capabilities":{"tools":{},"resources":{},"prompts":{}}}"#;
    list(&it, definitions).await;
    let offer = it.offers().borrow().clone();
    expect!["tool add, resource a:1; held: nothing\n"].assert_eq(&shown(&it));
    let withheld: Vec<_> =
        offer.withheld.iter().map(|it| format!("{} {}: {}", it.kind, it.name, it.why)).collect();
    expect![[r#"
        tool get_[REDACTED:S]: its name holds a secret
        prompt [REDACTED:S]: its name holds a secret
        resource a:[REDACTED:S]: its name holds a secret
        resource template [REDACTED:S]:{x}: its name holds a secret"#]]
    .assert_eq(&withheld.join("\n"));
    let record = kept.record(&it.settings.trust_key()).await;
    assert!(record.contains("add") && !record.contains("s3cret"), "{record}");
    let remembered = offer.definitions.expect("there are some");
    assert!(!remembered.contains("s3cret"), "{remembered}");
}
