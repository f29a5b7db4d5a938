//! The buckets, with times that the tests say.

use super::*;

const MS: u64 = 1_000_000;

fn rates(toml: &str) -> Result<Rates, Vec<String>> {
    #[derive(serde::Deserialize, Default)]
    #[serde(default, deny_unknown_fields)]
    struct File {
        rate: RateConfig,
        callers: std::collections::BTreeMap<String, LimitConfig>,
        tools: std::collections::BTreeMap<String, LimitConfig>,
        upstreams: std::collections::BTreeMap<String, LimitConfig>,
    }
    let file: File = toml::from_str(toml).map_err(|error| vec![error.message().to_owned()])?;
    let rates = Rates::new(file.rate, &file.callers, &file.tools, &file.upstreams);
    rates.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

/// What a call of `caller/tool/upstream` has to meet.
fn wanted_by<'r>(rates: &'r Rates, call: &str) -> Vec<Want<'r>> {
    let mut parts = call.split('/');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (caller, tool, upstream) = (next(), next(), next());
    let caller = caller.into_iter().flat_map(|id| rates.of_caller(id).map(|limit| (limit, id.into())));
    let tool = tool.into_iter().flat_map(|name| rates.of_tool(name).map(move |limit| (limit, name.into())));
    let upstream =
        upstream.into_iter().flat_map(|name| rates.of_upstream(name).map(|limit| (limit, name.into())));
    caller.chain(tool).chain(upstream).collect()
}

/// Nothing, or the limit that refuses and for how many milliseconds.
type Expected<'a> = Option<(&'a str, u64)>;

/// Each call: when in milliseconds, by whom of what, and what is expected.
#[track_caller]
fn check(toml: &str, calls: &[(u64, &str, Expected<'_>)]) {
    let rates = rates(toml).expect("limits");
    let stage = Rate::default();
    for (at_ms, call, expected) in calls {
        let got = stage.take(&wanted_by(&rates, call), at_ms * MS);
        let got = got.err().map(|refused| (refused.limit.to_string(), refused.wait.as_nanos()));
        let expected = expected.map(|(limit, wait_ms)| (limit.to_owned(), u128::from(wait_ms * MS)));
        assert_eq!(got, expected, "{call} at {at_ms} ms");
    }
}

#[test]
fn a_burst_passes_then_the_rate_holds_for_each_caller_alone() {
    check(
        "rate = { per_second = 10, burst = 3 }",
        &[
            (0, "alice", None),
            (0, "alice", None),
            (0, "alice", None),
            (0, "alice", Some(("limits.rate", 100))),
            (0, "bob", None),
            (99, "alice", Some(("limits.rate", 1))),
            (100, "alice", None),
            (102, "alice", Some(("limits.rate", 98))),
            (10_000, "alice", None),
            (10_000, "alice", None),
            (10_000, "alice", None),
            (10_000, "alice", Some(("limits.rate", 100))),
        ],
    );
}

#[test]
fn without_a_number_there_is_no_limit() {
    let rates = rates("rate = { per_second = 0, burst = 1 }").expect("limits");
    assert!(wanted_by(&rates, "alice/tool/upstream").is_empty());
}

#[test]
fn some_callers_have_limits_of_their_own() {
    let toml = "
        rate = { per_second = 1, burst = 1 }
        callers.'key:*' = { per_second = 2 }
        callers.'key:ci*' = { per_second = 0 }
        callers.'key:ci-slow' = { per_day = 2 }";
    check(
        toml,
        &[
            (0, "local", None),
            (0, "local", Some(("limits.rate", 1_000))),
            (0, "key:a", None),
            (0, "key:a", None),
            (0, "key:a", Some(("limits.callers.\"key:*\"", 500))),
            (0, "key:ci", None),
            (0, "key:ci", None),
            (0, "key:ci-slow", None),
            // What it does not say is as for everybody.
            (0, "key:ci-slow", Some(("limits.callers.\"key:ci-slow\"", 1_000))),
            (1_000, "key:ci-slow", None),
            (2_000, "key:ci-slow", Some(("limits.callers.\"key:ci-slow\".per_day", 86_398_000))),
        ],
    );
}

#[test]
fn tools_and_upstreams_have_limits_over_all_callers() {
    let toml = "
        rate = { per_second = 0, burst = 1 }
        tools.'web_*' = { per_second = 1 }
        tools.'web_search' = { per_day = 1 }
        upstreams.git = { per_second = 2, burst = 2 }";
    check(
        toml,
        &[
            (0, "a/web_get", None),
            (0, "b/web_get", Some(("limits.tools.\"web_*\"", 1_000))),
            (0, "b/web_post", None),
            (0, "a/web_search", None),
            (5_000, "a/web_search", Some(("limits.tools.\"web_search\".per_day", 86_395_000))),
            (0, "a/git_log/git", None),
            (0, "b/git_show/git", None),
            (0, "c/git_log/git", Some(("limits.upstreams.\"git\"", 500))),
            (0, "c/hub_log/hub", None),
        ],
    );
}

#[test]
fn what_one_limit_refuses_costs_the_others_nothing() {
    let toml = "
        rate = { per_second = 1, burst = 2 }
        tools.t = { per_second = 10, burst = 1 }";
    check(
        toml,
        &[
            (0, "a/t", None),
            (0, "a/t", Some(("limits.tools.\"t\"", 100))),
            (1, "a/t", Some(("limits.tools.\"t\"", 99))),
            // The caller has still one call.
            (1, "a/u", None),
            // The longest wait is told.
            (2, "a/t", Some(("limits.rate", 998))),
        ],
    );
}

#[test]
fn a_day_begins_with_its_first_call() {
    let day_ms = DAY_NS / MS;
    check(
        "rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 2 }",
        &[
            (1_000, "a/t", None),
            (9_000, "a/t", None),
            (9_000, "b/t", Some(("limits.tools.\"t\".per_day", day_ms - 8_000))),
            (day_ms + 999, "a/t", Some(("limits.tools.\"t\".per_day", 1))),
            (day_ms + 1_000, "a/t", None),
            (day_ms + 1_000, "a/t", None),
            (day_ms + 1_000, "a/t", Some(("limits.tools.\"t\".per_day", day_ms))),
        ],
    );
}

#[test]
fn buckets_outlive_a_change_of_the_limits() {
    let stage = Rate::default();
    let (before, after) =
        (rates("rate = { per_second = 1, burst = 1 }"), rates("rate = { per_second = 2, burst = 1 }"));
    assert!(stage.take(&wanted_by(&before.expect("limits"), "a"), 0).is_ok());
    assert!(stage.take(&wanted_by(&after.expect("limits"), "a"), MS).is_err());
}

#[test]
fn there_is_room_for_so_many_and_the_rest_share() {
    let (stage, rates) = (Rate::default(), rates("rate = { per_second = 1, burst = 1 }").expect("limits"));
    let take = |caller: &str, now_ns| stage.take(&wanted_by(&rates, caller), now_ns);
    for number in 0..BUCKETS_MAX {
        assert!(take(&format!("caller {number}"), 0).is_ok());
    }
    assert!(take("one more", 0).is_ok());
    assert!(take("and another", 0).is_err(), "they share one bucket");
    assert!(take("caller 7", 0).is_err(), "it has kept its own");
    assert_eq!(stage.buckets().kept.len(), BUCKETS_MAX + 1);
    // Those that have rested make room.
    assert!(take("and another", 2_000 * MS).is_ok());
    assert_eq!(stage.buckets().kept.len(), 1);
}

#[test]
fn limits_that_limit_nothing_are_reported() {
    let said = |toml| rates(toml).expect_err("no limits").join("\n");
    assert_eq!(said("tools.x = {}"), "limits.tools.\"x\" limits nothing; give it `per_second` or `per_day`");
    assert_eq!(
        said("callers.'a[' = { burst = 3, per_day = 1 }\nupstreams.y = {}"),
        "limits.callers.\"a[\" has a `burst` and no `per_second` that it belongs to\n\
         limits.callers.\"a[\" is no pattern: unclosed character class; missing ']'\n\
         limits.upstreams.\"y\" limits nothing; give it `per_second` or `per_day`"
    );
    assert!(said("tools.x = { per_day = 0 }").contains("nonzero"));
}
