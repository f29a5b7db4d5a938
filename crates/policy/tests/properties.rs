//! What holds for every policy and every call: denials win, the lists tell the truth, nothing takes long, and nothing that
//! was remembered outlives what it was made from.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use expect_test::expect;
use policy::{
    Caller, CallerKind, Config, Effect, Engine as _, Facts, Policy, Role, Roles, RuleConfig, Scope, Scopes,
    Verdict, Via,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn key(id: &str, roles: Roles, scopes: Scopes) -> Caller {
    Caller::new(Arc::from(id), CallerKind::Key, roles, scopes, Via::Http)
}

fn facts<'a>(caller: &'a Caller, tool: &'a str, upstream: Option<&'a str>, effect: Effect) -> Facts<'a> {
    Facts {
        caller,
        tool,
        upstream,
        origin: policy::ToolOrigin::of(upstream),
        action: None,
        effect,
        marked_destructive: effect == Effect::Destroys,
        leaves_machine: upstream.is_some(),
        sends: upstream.is_some(),
    }
}

fn policy(toml: &str) -> Policy {
    Policy::new(&toml::from_str::<Config>(toml).unwrap()).unwrap()
}

/// A policy with one rule that denies if the condition holds.
fn denying(when: &str) -> Policy {
    let rule = RuleConfig { when: Some(when.to_owned()), ..RuleConfig::new("r", Verdict::Deny) };
    Policy::new(&Config { rules: vec![rule], ..Config::default() }).unwrap()
}

fn some_rule() -> impl Strategy<Value = RuleConfig> {
    let effect = prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)];
    let some = |words: &'static [&'static str]| {
        proptest::collection::vec(proptest::sample::select(words).prop_map(str::to_owned), 0..2)
    };
    let when = proptest::option::of(proptest::sample::select(
        &["args.n > 1", "has(args.n)", "caller.id == 'a'", "true", "now.hour < 12", "args.x == 1"][..],
    ));
    let parts = (
        effect,
        some(&["t1", "t*", "*", "u1"]),
        some(&["built-in", "s1", "s*"]),
        some(&["a", "b", "*"]),
        when,
    );
    parts.prop_map(|(effect, tools, upstream, callers, when)| RuleConfig {
        tools,
        upstream,
        callers,
        when: when.map(str::to_owned),
        ..RuleConfig::new("x", effect)
    })
}

fn some_policy() -> impl Strategy<Value = Config> {
    (proptest::collection::vec(some_rule(), 0..8), any::<bool>()).prop_map(|(mut rules, defaults)| {
        rules.iter_mut().enumerate().for_each(|(nth, rule)| rule.id = format!("r{nth}"));
        Config { rules, defaults, ..Config::default() }
    })
}

fn some_arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({ "n": 0 })),
        Just(json!({ "n": 2 })),
        Just(json!({ "n": "x", "x": 1 }))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_keeps_its_word(
        config in some_policy(),
        arguments in some_arguments(),
        tool in proptest::sample::select(&["t1", "t2", "u1"][..]),
        upstream in proptest::sample::select(&[None, Some("s1"), Some("z")][..]),
        id in proptest::sample::select(&["a", "b", "c"][..]),
        at in 0_i64..100_000,
    ) {
        let caller = key(id, Role::Agent.into(), Scopes::all());
        let facts = facts(&caller, tool, upstream, Effect::Writes);
        let policy = Policy::new(&config).unwrap();
        let decision = policy.decide_at(&facts, &arguments, at);
        prop_assert_eq!(&decision, &policy.decide_at(&facts, &arguments, at), "a second look gives the same");

        // Whatever may run is in the list.
        prop_assert!(policy.may_see(&facts) || decision.verdict == Verdict::Deny);

        // A denial that fits alone, or cannot be evaluated, wins over everything.
        for rule in config.rules.iter().filter(|rule| rule.effect == Verdict::Deny) {
            let alone = Config { rules: vec![rule.clone()], defaults: false, ..Config::default() };
            let denies = *Policy::new(&alone).unwrap().decide_at(&facts, &arguments, at).rule == *rule.id;
            prop_assert!(!denies || decision.verdict == Verdict::Deny, "{} denies", rule.id);
        }

        // What decides if the arguments are unknown decides if they are known.
        if let Some(settled) = policy.decide_knowing(&facts, None, at) {
            prop_assert_eq!(&settled, &decision);
        }

        // Another denial never permits anything.
        let mut stricter = config.clone();
        stricter.rules.push(RuleConfig { tools: vec!["t*".to_owned()], ..RuleConfig::new("last", Verdict::Deny) });
        let after = Policy::new(&stricter).unwrap().decide_at(&facts, &arguments, at);
        prop_assert!(after.verdict >= decision.verdict);

        // Callers of one class see the same.
        let other = key("d", Role::Agent.into(), Scopes::all());
        if policy.class(&caller) == policy.class(&other) {
            prop_assert_eq!(policy.may_see(&facts), policy.may_see(&Facts { caller: &other, ..facts }));
        }

        // What is explained is what is decided.
        let explained = policy.explain(&facts, Some(&arguments), Some(at));
        prop_assert_eq!(explained.decision, Some(decision));
    }
}

#[test]
fn a_tool_is_hidden_only_if_nothing_could_make_it_run() {
    let local = Caller::local_user(Via::Stdio);
    for (toml, expected) in [
        ("", true),
        ("deny = ['t']", false),
        ("[[rules]]\nid='x'\neffect='deny'\nwhen='args.a == 1'", true),
        ("[[rules]]\nid='x'\neffect='deny'\nwhen='now.hour == 1'", true),
        ("[[rules]]\nid='x'\neffect='deny'\nwhen=\"caller.id == 'local'\"", false),
        ("[[rules]]\nid='x'\neffect='deny'\nwhen=\"caller.id == 'other'\"", true),
        ("[[rules]]\nid='y'\neffect='deny'\nwhen='args.a == 1'\n[[rules]]\nid='x'\neffect='deny'", false),
        ("defaults = false", false),
        ("defaults = false\n[[rules]]\nid='x'\neffect='allow'\nwhen='args.a == 1'", true),
        ("defaults = false\n[[rules]]\nid='x'\neffect='ask'", true),
        ("defaults = false\n[[rules]]\nid='x'\neffect='allow'\nwhen=\"caller.via == 'http'\"", false),
    ] {
        assert_eq!(policy(toml).may_see(&facts(&local, "t", None, Effect::Reads)), expected, "{toml}");
    }
}

#[test]
fn classes_tell_apart_whom_rules_tell_apart() {
    let scopes = || Scopes::from_iter([Scope::parse("network").unwrap()]);
    let (a, b) = (key("a", Role::Agent.into(), scopes()), key("b", Role::Agent.into(), scopes()));
    let auditor = key("a", Role::Auditor.into(), scopes());
    let local = Caller::local_user(Via::Stdio);
    let plain = policy("");
    assert_eq!(plain.class(&a), plain.class(&b));
    assert_ne!(plain.class(&a), plain.class(&auditor));
    assert_ne!(plain.class(&a), plain.class(&local));
    for toml in [
        "[[rules]]\nid='x'\neffect='deny'\ncallers=['a']",
        "[[rules]]\nid='x'\neffect='deny'\nwhen=\"caller.id == 'a'\"",
    ] {
        assert_ne!(policy(toml).class(&a), policy(toml).class(&b), "{toml}");
    }
}

#[test]
fn what_is_remembered_is_not_taken_for_something_else() {
    let policy = policy("[[rules]]\nid='x'\neffect='allow'\ntools=['t']\nupstream=['s']\nscopes=['network']");
    let network = || Scopes::from_iter([Scope::parse("network").unwrap()]);
    let caller = key("a", Role::Agent.into(), network());
    let of = |facts: Facts<'_>| policy.decide(&facts, &json!({})).verdict;
    let asked = facts(&caller, "t", Some("s"), Effect::Executes);
    for _ in 0..2 {
        assert_eq!(of(asked), Verdict::Allow);
        assert_eq!(of(Facts { upstream: Some("other"), ..asked }), Verdict::Deny);
        assert_eq!(
            of(Facts { upstream: None, leaves_machine: false, sends: false, ..asked }),
            Verdict::Allow
        );
        assert_eq!(of(Facts { upstream: None, marked_destructive: true, ..asked }), Verdict::Ask);
        let narrowed = caller.clone().with_scopes(Scopes::from_iter([]));
        assert_eq!(of(Facts { caller: &narrowed, ..asked }), Verdict::Deny);
    }
}

#[test]
fn more_callers_than_are_remembered_are_decided_alike() {
    let policy = policy("[[rules]]\nid='x'\neffect='deny'\ncallers=['*7']");
    for round in 0..2 {
        for nth in 0..3_000 {
            let caller = key(&format!("c{nth}"), Role::Agent.into(), Scopes::all());
            let verdict = policy.decide(&facts(&caller, "t", None, Effect::Reads), &json!({})).verdict;
            let expected = if nth % 10 == 7 { Verdict::Deny } else { Verdict::Allow };
            assert_eq!(verdict, expected, "{round} {nth}");
        }
    }
}

#[test]
fn obligations_belong_to_the_rule_that_decides() {
    let policy = policy(
        "[[rules]]\nid='x'\neffect='ask'\ntools=['t']\napprovers=['owner']\napproval_lasts='10m'\ndry_run_first=true\ntimeout_max='5s'\n\
         arguments='hash'\nwhy='goes to production'",
    );
    let caller = Caller::local_user(Via::Stdio);
    let shown =
        |tool| format!("{:#?}\n", policy.decide(&facts(&caller, tool, None, Effect::Reads), &json!({})));
    expect![[r#"
        Decision {
            verdict: Ask,
            rule: "x",
            why: "goes to production",
            obligations: Obligations {
                approvers: {
                    Owner,
                },
                approval_lasts: Some(
                    600s,
                ),
                approval_covers: Call,
                dry_run_first: true,
                timeout_max: Some(
                    5s,
                ),
                arguments: Some(
                    Hash,
                ),
            },
        }
    "#]]
    .assert_eq(&shown("t"));
    assert!(shown("u").contains("arguments: None"));
}

#[test]
fn errors_tell_no_value() {
    let caller = Caller::local_user(Via::Stdio);
    let secret = "hunter2hunter2";
    for when in [
        "args.x.startsWith(1 == 1 ? args.y : 'a')",
        "args.x > 1",
        "args[args.x] == 1",
        "int(args.x) == 1",
        "args.x + 1 == 2",
        "args.x[0] == 'h'",
        "args.list[args.x] == 1",
        "args.x.a.b == 1",
    ] {
        let policy = denying(when);
        let arguments = json!({ "x": secret, "y": [secret], "list": [secret] });
        let decision = policy.decide(&facts(&caller, "t", None, Effect::Reads), &arguments);
        assert_eq!((decision.verdict, &*decision.rule), (Verdict::Deny, "r"), "{when}");
        assert!(decision.why.contains("failed: "), "{when}: {}", decision.why);
        assert!(!decision.why.contains(secret), "{when}: {}", decision.why);
    }
}

/// The reason of a denial over these arguments, and how long it took.
fn denied(when: &str, arguments: &Value) -> (String, Duration) {
    let caller = Caller::local_user(Via::Stdio);
    let policy = denying(when);
    let start = Instant::now();
    let decision = policy.decide(&facts(&caller, "t", None, Effect::Reads), arguments);
    let why = if decision.verdict == Verdict::Deny { decision.why.to_string() } else { "allowed".to_owned() };
    (why, start.elapsed())
}

#[test]
fn no_arguments_make_a_condition_hang() {
    // Far above what it takes, even on a busy machine, far below what it would.
    let bearable = Duration::from_secs(120);
    let numbers = |count: i64| json!({ "a": (0..count).collect::<Vec<_>>() });
    let rows = |count: usize| json!({ "a": vec![json!(vec![0; count]); count] });
    let long = json!({ "a": vec!["x"; 1_000], "text": "a".repeat(4_000_000) });
    let steps = "takes more steps than 10000";
    for (when, arguments, expected) in [
        ("args.a.all(x, x < 0)", numbers(5_000), "allowed"),
        ("!args.a.all(x, x >= 0)", numbers(5_000), "allowed"),
        ("!args.a.all(x, x >= 0)", numbers(20_000), steps),
        ("args.a.exists(x, args.a.exists(y, x + y < 0))", numbers(5_000), steps),
        ("size(args.a.map(x, x + 1)) == 0", numbers(5_000), "allowed"),
        ("size(args.a.map(x, x + 1)) == 0", numbers(40_000), steps),
        ("size(args.a.filter(x, x < 0)) == 1", numbers(40_000), steps),
        ("args.a.exists_one(x, x == -1)", numbers(40_000), steps),
        ("size(args.a) == 0", numbers(60_000), "more than 50000 values"),
        ("args.a.exists(row, row.exists(cell, cell == 1))", rows(200), steps),
        ("args.a.exists(x, args.text.contains(x + 'b'))", long.clone(), steps),
        ("args.text.matches('(a+)+$b')", long.clone(), "allowed"),
        ("args.text.startsWith('b')", long, "allowed"),
    ] {
        let (why, took) = denied(when, &arguments);
        assert!(why.contains(expected), "{when}: {why}");
        assert!(took < bearable, "{when}: {took:?}");
    }
}

#[test]
fn deep_arguments_and_deep_conditions_are_borne() {
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": [inner] }));
    assert_eq!(denied("size(args) == 0", &deep).0, "allowed");
    let refused = |when: &str| {
        let rule = RuleConfig { when: Some(when.to_owned()), ..RuleConfig::new("r", Verdict::Deny) };
        Policy::new(&Config { rules: vec![rule], ..Config::default() }).unwrap_err().to_string()
    };
    let nested = |count: usize| format!("{}true{}", "(".repeat(count), ")".repeat(count));
    for (when, expected) in [
        (nested(17), "its brackets are more than 16 deep"),
        (nested(2_000), "its brackets are more than 16 deep"),
        ("(".repeat(4_000), "its brackets are more than 16 deep"),
        (format!("{}true", "!".repeat(17)), "more than 16 operators in a row"),
        (format!("{}true", "! ".repeat(1_000)), "too many operators"),
        (format!("true{}", " && true".repeat(129)), "too many operators"),
        (format!("0{} == 1", "+0".repeat(1_000)), "too many operators"),
        (format!("0{} == 1", "+0".repeat(200)), "more than 40 levels deep"),
        ("true && ".repeat(1_000), "longer than 4096 bytes"),
    ] {
        assert!(refused(&when).contains(expected), "{}: {}", &when[..20], refused(&when));
    }
    // What is not too deep is borne by the parser, and by whoever evaluates it.
    for when in [
        nested(16),
        format!("{}true", "!".repeat(16)),
        format!("true{}", " && true".repeat(127)),
        format!("0{} == 0", "+0".repeat(36)),
        format!("{}true{}", "true ? (".repeat(12), ") : true".repeat(12)),
        "'((((((((((((((((((((((((' == '' || true".to_owned(),
    ] {
        assert!(denied(&when, &json!({})).0.contains("is forbidden"), "{when}");
    }
}

#[test]
fn a_policy_has_bounds() {
    let many = vec![RuleConfig::new("r", Verdict::Deny); 1_001];
    let error = Policy::new(&Config { rules: many, ..Config::default() }).unwrap_err();
    assert_eq!(error.problems[0].what, "policy.rules: there are 1001; the limit is 1000");
    let rule = RuleConfig { tools: vec!["t".to_owned(); 1_025], ..RuleConfig::new("r", Verdict::Deny) };
    let error = Policy::new(&Config { rules: vec![rule], ..Config::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "policy rule \"r\": tools: \"t\" cannot be used: there are more than 1024 entries"
    );
}

#[test]
fn what_never_decides_is_told() {
    let told = |toml: &str| {
        let policy = policy(toml);
        let known = [("git_log", Some("git")), ("file_read", None)];
        let odd = policy.review().into_iter().chain(policy.review_names(&known));
        odd.map(|problem| format!("{}: {}\n", problem.keys.join("."), problem.what)).collect::<String>()
    };
    assert_eq!(told(""), "");
    expect![[r#"
        rules.1: policy rule "b": it never decides: "a" fits every call that it fits, and comes first
        rules.3: policy rule "d": it never decides: "c" fits every call that it fits, and comes first
        rules.4: policy rule "e": it fits no call: the local user is an owner, which `roles` leaves out
        rules.5: policy rule "f": it fits no call: the tools of servers leave the machine
        rules.6.tools.0: policy rule "g": "git_*" fits "git_log" of the server "git", but a rule that allows without `upstream` speaks of our own tools only; add upstream = ["git"]
        rules.7.tools.0: policy rule "h": "hub_*" fits no tool that is known now
        rules.8.tools.0: policy rule "i": "git_log" fits "git_log", but `upstream` leaves it out
    "#]]
    .assert_eq(&told(
        "[[rules]]\nid='a'\neffect='ask'\ntools=['file_*']\nupstream=['built-in']\n\
         [[rules]]\nid='b'\neffect='allow'\ntools=['file_read']\ncallers=['x']\n\
         [[rules]]\nid='c'\neffect='deny'\ntools=['file_read']\nkinds=['token', 'key']\n\
         [[rules]]\nid='d'\neffect='deny'\ntools=['file_read']\nkinds=['key']\nwhen='args.a == 1'\n\
         [[rules]]\nid='e'\neffect='deny'\nkinds=['local_user']\nroles=['agent']\n\
         [[rules]]\nid='f'\neffect='deny'\nupstream=['git']\nleaves_machine=false\n\
         [[rules]]\nid='g'\neffect='allow'\ntools=['git_*']\n\
         [[rules]]\nid='h'\neffect='deny'\ntools=['hub_*']\n\
         [[rules]]\nid='i'\neffect='deny'\ntools=['git_log']\nupstream=['hub']\n",
    ));
}

#[test]
fn an_allowed_tool_that_is_not_one_servers_is_told() {
    let told = |allow: &str| {
        let known = [("git_git_reset", Some("git")), ("git_git_log", Some("git_git")), ("burn", None)];
        let odd = policy(&format!("allow = [{allow:?}]")).review_names(&known);
        odd.into_iter()
            .map(|problem| format!("{}: {}", problem.keys.join("."), problem.what))
            .collect::<Vec<_>>()
    };
    for good in ["*", "git/git_git_reset", "git/*", "burn", "built-in/burn", "*/burn"] {
        assert_eq!(told(good), Vec::<String>::new(), "{good}");
    }
    for (allow, expected) in [
        (
            "git_git_reset",
            "would fit a tool of another server, too, that is added later; write \"git/git_git_reset\"",
        ),
        ("git_*", "fits tools of git and git_git; write SERVER/git_* for the one you mean"),
        ("nosuch", "fits no tool that is known now"),
        ("git_git/git_git_reset", "fits no tool that is known now"),
    ] {
        assert_eq!(told(allow), [format!("allow.0: policy.allow: {allow:?} {expected}")]);
    }
}

#[test]
fn a_denial_that_fits_nothing_is_told() {
    let known = [("git_git_reset", Some("git")), ("burn", None)];
    for (deny, fits) in
        [("burn", true), ("git/*", true), ("*", true), ("GIT_git_reset", false), ("burn/git", false)]
    {
        let odd = policy(&format!("deny = [{deny:?}]")).review_names(&known);
        let told: Vec<_> = odd.into_iter().map(|problem| (problem.keys.join("."), problem.what)).collect();
        let expected = ("deny.0".to_owned(), format!("policy.deny: {deny:?} fits no tool that is known now"));
        assert_eq!(told, if fits { vec![] } else { vec![expected] });
    }
}

/// Prints what a decision costs: `cargo test --release -p policy -- --ignored --nocapture cost`.
#[test]
#[ignore = "prints figures; nothing is asserted"]
fn cost_of_a_decision() {
    let rules = (0..50).map(|nth| RuleConfig {
        tools: vec![format!("tool{nth}_*"), format!("*_act{nth}")],
        upstream: vec!["server".to_owned()],
        callers: vec!["ci-*".to_owned()],
        when: (nth % 5 == 0)
            .then(|| "has(args.path) && args.path.startsWith('src/') && size(args.path) < 200".to_owned()),
        ..RuleConfig::new(&format!("r{nth}"), Verdict::Allow)
    });
    let with_rules = Policy::new(&Config { rules: rules.collect(), ..Config::default() }).unwrap();
    let plain = policy("");
    let caller = key("ci-1", Role::Agent.into(), Role::Agent.scopes());
    let local = Caller::local_user(Via::Stdio);
    let arguments = json!({ "path": "src/main.rs", "content": "x".repeat(1_000) });
    let measure = |name: &str, work: &dyn Fn(u32) -> Verdict| {
        const CALLS: u32 = 100_000;
        let start = Instant::now();
        let mut sum = 0_u64;
        (0..CALLS).for_each(|nth| sum += work(nth) as u64);
        println!("{name}: {:?} each ({sum})", start.elapsed() / CALLS);
    };
    let own = facts(&local, "workspace_read", None, Effect::Reads);
    measure("default policy, remembered", &|_| plain.decide(&own, &arguments).verdict);
    let settled = facts(&caller, "tool7_x", Some("server"), Effect::Executes);
    measure("50 rules, remembered", &|_| with_rules.decide(&settled, &arguments).verdict);
    let open = facts(&caller, "tool10_x", Some("server"), Effect::Executes);
    measure("50 rules, a condition over the arguments", &|_| with_rules.decide(&open, &arguments).verdict);
    let names: Vec<String> = (0..20_000).map(|nth| format!("tool{}_{nth}", nth % 50)).collect();
    measure("50 rules, not remembered", &|nth| {
        let tool = &names[nth as usize % names.len()];
        with_rules.decide(&facts(&caller, tool, Some("server"), Effect::Executes), &arguments).verdict
    });
}

#[test]
fn paths_stand_on_the_workspace_for_our_own_tools_only() {
    let rule = RuleConfig {
        when: Some("args.path.isUnder('secrets')".to_owned()),
        ..RuleConfig::new("r", Verdict::Deny)
    };
    let config = Config { rules: vec![rule], ..Config::default() };
    let places = |path: &str| {
        let inside = path.strip_prefix("/workspace/").unwrap_or(path);
        Ok(vec![std::path::Path::new("/w").join(inside)])
    };
    let caller = Caller::local_user(Via::Stdio);
    for (policy, upstream, path, expected) in [
        (Policy::within(&config, Arc::new(places)), None, "/workspace/secrets/a", "is forbidden"),
        (Policy::within(&config, Arc::new(places)), None, "/workspace/other", ""),
        (
            Policy::within(&config, Arc::new(places)),
            Some("s"),
            "/workspace/secrets/a",
            "cannot be decided: the condition of the rule `r` failed: a path from the root on cannot be compared with one that begins elsewhere",
        ),
        (
            Policy::new(&config),
            None,
            "/workspace/secrets/a",
            "cannot be decided: the condition of the rule `r` failed: a path from the root on cannot be compared with one that begins elsewhere",
        ),
        (Policy::new(&config), None, "secrets/a", "is forbidden"),
    ] {
        let facts = facts(&caller, "t", upstream, Effect::Reads);
        let decision = policy.unwrap().decide(&facts, &json!({ "path": path }));
        assert_eq!(&*decision.why, expected, "{path}");
    }
}

#[test]
fn a_rule_tells_declared_tools_from_all_others() {
    let caller = Caller::local_user(Via::Stdio);
    let policy = policy(
        "rules = [{ id = \"d\", effect = \"deny\", origins = [\"declared\"] },
                  { id = \"w\", effect = \"ask\", tools = [\"same\"], when = \"tool.origin == 'script'\" }]",
    );
    // One name, so that nothing that was decided about one kind is remembered for another.
    for (origin, expected) in [
        (policy::ToolOrigin::BuiltIn, Verdict::Allow),
        (policy::ToolOrigin::Declared, Verdict::Deny),
        (policy::ToolOrigin::Script, Verdict::Ask),
        (policy::ToolOrigin::BuiltIn, Verdict::Allow),
    ] {
        let facts = Facts { origin, ..facts(&caller, "same", None, Effect::Reads) };
        assert_eq!(policy.decide(&facts, &json!({})).verdict, expected, "{origin:?}");
    }
}
