//! What changes while a call waits for a person.

use crate::scene::*;

const POLICY: &str = "
[[rules]]
id = 'asks'
effect = 'ask'
upstream = ['*']
tools = ['burn']
";

/// What an approved call comes to if `change` happens while it waits, under AI rules that begin as `ai_rules`.
async fn meanwhile(ai_rules: &str, arguments: &str, change: impl Fn(&Scene, &Process)) -> (String, u32) {
    meanwhile_after(ai_rules, arguments, |_| {}, change).await
}

/// The same in a workspace that `first` has made.
async fn meanwhile_after(
    ai_rules: &str,
    arguments: &str,
    first: impl Fn(&Scene),
    change: impl Fn(&Scene, &Process),
) -> (String, u32) {
    let scene = Scene::waiting(20);
    std::fs::create_dir_all(scene.folder.path().join("secrets")).unwrap();
    std::fs::create_dir_all(scene.folder.path().join("pub")).unwrap();
    first(&scene);
    scene.rules(ai_rules);
    let process = scene.process();
    process.gate.govern(scene.ruleset(POLICY));
    let caller = local();
    let answering = async {
        let id = loop {
            let waiting = process.gate.approvals().approvals(&terminal()).unwrap();
            match waiting.first() {
                Some(asked) => break asked.id.to_string(),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        change(&scene, &process);
        assert_eq!(process.answer(&id, &once(), &terminal()), "approved");
    };
    let (ended, ()) = tokio::join!(process.call(&caller, arguments), answering);
    (ended, scene.ran())
}

const NO_SECRETS: &str = "- {id: no, match: {paths: ['secrets/**']}, action: {on_violation: block}}\n";

#[tokio::test(start_paused = true)]
async fn what_was_allowed_is_judged_again_before_it_runs() {
    let path = r#"{"path":"pub/a"}"#;
    let ran = |times| ("ran".to_owned(), times);
    let refused = |code: &str| (code.to_owned(), 0);
    assert_eq!(meanwhile(NO_SECRETS, path, |_, _| {}).await, ran(1));
    // What its path leads to.
    let links = |scene: &Scene, _: &Process| {
        std::os::unix::fs::symlink("../secrets/key", scene.folder.path().join("pub/a")).unwrap();
    };
    assert_eq!(meanwhile(NO_SECRETS, path, links).await, refused("rule_blocked"));
    let asks = NO_SECRETS.replace("block", "require_approval");
    assert_eq!(meanwhile(&asks, path, links).await, refused("approval_outdated"));
    // A question that was answered is not asked again.
    assert_eq!(meanwhile(&asks, r#"{"path":"secrets/key"}"#, links).await, ran(1));
    let denies = |scene: &Scene, process: &Process| {
        let policy = format!("{POLICY}[[rules]]\nid = 'no'\neffect = 'deny'\ntools = ['burn']\n");
        process.gate.govern(scene.ruleset(&policy));
    };
    assert_eq!(meanwhile(NO_SECRETS, path, denies).await, refused("policy_denied"));
    let asks_more = |scene: &Scene, process: &Process| {
        process.gate.govern(scene.ruleset(&POLICY.replace("'asks'", "'asks-anew'")));
    };
    assert_eq!(meanwhile(NO_SECRETS, path, asks_more).await, refused("approval_outdated"));
    let sets = "- {id: tr, match: {tools: [burn]}, action: {on_violation: transform, transform: {set: {/path: b}}}}\n";
    let changes = |scene: &Scene, process: &Process| {
        scene.rules(sets);
        process.gate.govern(scene.ruleset(POLICY));
    };
    assert_eq!(meanwhile(NO_SECRETS, path, changes).await, refused("approval_outdated"));
    // A rule that changed it before does so again.
    assert_eq!(meanwhile(sets, path, |_, _| {}).await, ran(1));
    let allows = POLICY.replace("'ask'", "'allow'");
    let loosened = |scene: &Scene, process: &Process| process.gate.govern(scene.ruleset(&allows));
    assert_eq!(meanwhile(NO_SECRETS, path, loosened).await, ran(1));
}

#[tokio::test(start_paused = true)]
async fn a_link_to_what_others_obey_is_looked_at_again() {
    let leads = |target: &'static str| {
        move |scene: &Scene, _: &Process| {
            let link = scene.folder.path().join("pub/a");
            // There may be another one.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target, link).unwrap();
        }
    };
    let (ran, outdated) = (("ran".to_owned(), 1), ("approval_outdated".to_owned(), 0));
    let (path, link) = (r#"{"path":"pub/a"}"#, r#"{"path":"pub/../pub/a"}"#);
    assert_eq!(meanwhile(NO_SECRETS, path, leads("notes.md")).await, ran);
    assert_eq!(meanwhile(NO_SECRETS, path, leads("../.mcp.json")).await, outdated);
    // One that asked already may lead to nothing new, not even under the same name of the list.
    let first = |scene: &Scene| leads("../.github/workflows/a.yml")(scene, &scene.process());
    for (target, expected) in [
        ("../.github/workflows/a.yml", &ran),
        ("notes.md", &ran),
        ("../.github/workflows/b.yml", &outdated),
        ("../.envrc", &outdated),
    ] {
        assert_eq!(meanwhile_after(NO_SECRETS, link, first, leads(target)).await, *expected, "{target}");
    }
}

#[tokio::test]
async fn every_member_is_shown_and_all_of_it_while_it_is_open() {
    let scene = Scene::new();
    let (process, by) = (scene.process(), terminal());
    let approvals = process.gate.approvals();
    let long = format!(r#"{{"a":"{}","to":"mallory","z":"DANGER"}}"#, "x".repeat(9_000));
    let id = process.ask(&local(), &long).await;
    let asked = process.approval(&id);
    let ends = "x".repeat(1_024);
    let expected = format!(r#"{{"a":"{ends} … {ends} (9000 bytes)","to":"mallory","z":"DANGER"}}"#);
    assert_eq!((asked.arguments.as_str(), asked.is_cut), (expected.as_str(), true));
    let whole = approvals.whole_approval(&id, &by).unwrap();
    assert_eq!((whole.arguments.as_str(), whole.is_cut), (long.as_str(), false));
    assert_eq!(process.answer(&id, &once(), &by), "approved");
    assert_eq!(approvals.whole_approval(&id, &by).unwrap().arguments, expected, "it is settled");
    assert_eq!(process.call(&local(), &long).await, "ran");

    // Many members leave less room for each.
    let many: Vec<String> = (0..60).map(|nth| format!(r#""m{nth:02}":"{}""#, "y".repeat(2_000))).collect();
    let id = process.ask(&local(), &format!("{{{}}}", many.join(","))).await;
    let shown = process.approval(&id).arguments;
    assert!(shown.contains(r#""m00":"yyyy"#) && shown.contains(r#""m59":"yyyy"#), "{shown}");
    assert!(shown.len() <= 8 * 1024, "{} bytes", shown.len());
    let short = process.ask(&local(), r#"{"a":"b"}"#).await;
    assert_eq!(approvals.whole_approval(&short, &by).unwrap(), process.approval(&short));
}
