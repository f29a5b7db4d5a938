//! The buckets, with times that the tests say.

use std::cell::Cell;

use store::Store;

use super::quotas::DAY_MS;
use super::*;

const MS: u64 = 1_000_000;

thread_local! {
    static NOW_MS: Cell<i64> = const { Cell::new(0) };
}

/// A time that the tests say, after 1970.
fn clock() -> i64 {
    1_800_000_000_000 + NOW_MS.get()
}

/// A process that counts days in this store.
fn process(store: &Arc<dyn Store>) -> Rate {
    Rate::counting(Quotas::kept_in(store.clone(), clock))
}

/// One that is asked about no days.
fn countless() -> Rate {
    process(&(Arc::new(store::SqliteStore::at("nowhere".as_ref())) as Arc<dyn Store>))
}

fn sqlite(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(store::SqliteStore::at(folder.path()))
}

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
/// What comes of one call, on a thread that waits for it.
fn take(check: &Rate, wanted: &[Want<'_>], now_ns: u64) -> Result<(), Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(check.take(wanted, now_ns))
}

#[track_caller]
fn check(toml: &str, calls: &[(u64, &str, Expected<'_>)]) {
    let rates = rates(toml).expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    let check = process(&sqlite(&folder));
    for (at_ms, call, expected) in calls {
        NOW_MS.set(i64::try_from(*at_ms).expect("soon"));
        let got = take(&check, &wanted_by(&rates, call), at_ms * MS).err();
        let got = got.map(|refusal| match refusal {
            Refusal::RateLimited { limit, retry_after_ms } => (limit.to_string(), retry_after_ms),
            other => panic!("{other}"),
        });
        let expected = expected.map(|(limit, wait_ms)| (limit.to_owned(), wait_ms));
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
    let day_ms = u64::try_from(DAY_MS).expect("a day");
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

/// How many of so many calls pass.
fn passing(check: &Rate, rates: &Rates, calls: usize) -> usize {
    (0..calls).filter(|_| take(check, &wanted_by(rates, "a/t"), 0).is_ok()).count()
}

#[test]
fn a_day_outlives_the_process() {
    let rates = rates("rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 500 }").expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    NOW_MS.set(0);
    // What a process leaves of its last share is lost to the others: as much as it has spent, a hundredth at most.
    let used = [1, 2, 100].map(|calls| passing(&process(&sqlite(&folder)), &rates, calls));
    assert_eq!(used, [1, 2, 100]);
    let rest = passing(&process(&sqlite(&folder)), &rates, 1_000);
    assert!((500 - 103 - 6..=500 - 103).contains(&rest), "{rest}");
    assert_eq!(passing(&process(&sqlite(&folder)), &rates, 10), 0);
    NOW_MS.set(DAY_MS - 1);
    assert_eq!(passing(&process(&sqlite(&folder)), &rates, 10), 0);
    NOW_MS.set(DAY_MS);
    assert_eq!(passing(&process(&sqlite(&folder)), &rates, 1_000), 500);
}

#[test]
fn processes_share_a_day() {
    let rates = rates("rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 300 }").expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    let processes = [(); 3].map(|()| process(&sqlite(&folder)));
    NOW_MS.set(0);
    let mut passed = [0; 3];
    for _ in 0..500 {
        for (process, passed) in processes.iter().zip(&mut passed) {
            *passed += passing(process, &rates, 1);
        }
    }
    assert_eq!(passed.iter().sum::<usize>(), 300, "{passed:?}");
    // A limit that is raised has more, and one that is lowered none.
    let more = super::tests::rates("rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 310 }")
        .expect("limits");
    assert_eq!(passing(&processes[0], &more, 50) + passing(&processes[1], &more, 50), 10);
    assert_eq!(passing(&processes[0], &rates, 50), 0);
}

#[tokio::test]
async fn few_calls_of_many_are_written_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let quotas = Quotas::kept_in(sqlite(&folder), clock);
    let (mut share, mut writes) = (Share::default(), 0);
    while share.given < 20_000 {
        let more = quotas.share(&("limit".into(), "t".into()), 100_000, share, clock()).await;
        share.add(more.expect("counted"));
        writes += 1;
    }
    assert!(writes < 40, "{writes}");
}

#[test]
fn a_long_name_has_a_count_of_its_own() {
    let rates = rates("rate = { per_second = 0, burst = 1 }\ntools.'t*' = { per_day = 1 }").expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    let check = process(&sqlite(&folder));
    let long = "x".repeat(2_000);
    let calls = ["t1".to_owned(), format!("t{long}"), format!("t{long}x"), format!("t{long}")];
    let passed = calls.map(|tool| take(&check, &wanted_by(&rates, &format!("a/{tool}")), 0).is_ok());
    assert_eq!(passed, [true, true, true, false]);
}

#[test]
fn a_clock_that_was_wrong_gives_no_day_away_and_takes_none() {
    let rates = rates("rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 2 }").expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    let check = process(&sqlite(&folder));
    NOW_MS.set(0);
    assert_eq!(passing(&check, &rates, 5), 2);
    // An hour back it is the same day; a year back it was none.
    NOW_MS.set(-3_600_000);
    assert_eq!(passing(&check, &rates, 5), 0);
    NOW_MS.set(-365 * DAY_MS);
    assert_eq!(passing(&check, &rates, 5), 2);
}

#[test]
fn what_cannot_be_counted_does_not_run() {
    let rates = rates("rate = { per_second = 0, burst = 1 }\ntools.t = { per_day = 2 }").expect("limits");
    let folder = tempfile::tempdir().expect("a folder");
    let check =
        process(&(Arc::new(store::SqliteStore::at(&folder.path().join("no\0folder"))) as Arc<dyn Store>));
    assert!(matches!(take(&check, &wanted_by(&rates, "a/t"), 0), Err(Refusal::NoQuota(_))));
    assert!(take(&check, &wanted_by(&rates, "a/u"), 0).is_ok());
}

#[test]
fn subscriptions_have_a_bucket_of_their_own() {
    let rates = rates(
        "rate = { per_second = 10, burst = 3 }\ncallers.a = { per_second = 0 }\ncallers.b = { per_day = 1 }",
    )
    .expect("limits");
    assert!(rates.of_subscriptions("a").is_none());
    assert_eq!(rates.of_subscriptions("b").expect("a limit").per_day, None);
    let (check, limit) = (countless(), rates.of_subscriptions("c").expect("a limit"));
    let passes = |now_ms: u64| take(&check, &[(&limit, "c subscribing".into())], now_ms * MS).is_ok();
    assert_eq!((0..1_100).filter(|_| passes(0)).count(), 1_000);
    assert_eq!((0..5).filter(|_| passes(100)).count(), 1);
}

#[test]
fn buckets_outlive_a_change_of_the_limits() {
    let check = countless();
    let (before, after) =
        (rates("rate = { per_second = 1, burst = 1 }"), rates("rate = { per_second = 2, burst = 1 }"));
    assert!(take(&check, &wanted_by(&before.expect("limits"), "a"), 0).is_ok());
    assert!(take(&check, &wanted_by(&after.expect("limits"), "a"), MS).is_err());
}

#[test]
fn there_is_room_for_so_many_and_the_rest_share() {
    let (check, rates) = (countless(), rates("rate = { per_second = 1, burst = 1 }").expect("limits"));
    let call = |caller: &str, now_ns| take(&check, &wanted_by(&rates, caller), now_ns);
    for number in 0..BUCKETS_MAX {
        assert!(call(&format!("caller {number}"), 0).is_ok());
    }
    assert!(call("one more", 0).is_ok());
    assert!(call("and another", 0).is_err(), "they share one bucket");
    assert!(call("caller 7", 0).is_err(), "it has kept its own");
    assert_eq!(check.buckets().kept.len(), BUCKETS_MAX + 1);
    // Those that have rested make room.
    assert!(call("and another", 2_000 * MS).is_ok());
    assert_eq!(check.buckets().kept.len(), 1);
}

#[test]
fn limits_that_limit_nothing_are_reported() {
    let faults = |toml| rates(toml).expect_err("no limits").join("\n");
    assert_eq!(
        faults("tools.x = {}"),
        "limits.tools.\"x\" limits nothing; give it `per_second` or `per_day`"
    );
    assert_eq!(
        faults("callers.'a[' = { burst = 3, per_day = 1 }\nupstreams.y = {}"),
        "limits.callers.\"a[\" has a `burst` and no `per_second` that it belongs to\n\
         limits.callers.\"a[\" is no pattern: unclosed character class; missing ']'\n\
         limits.upstreams.\"y\" limits nothing; give it `per_second` or `per_day`"
    );
    assert_eq!(
        faults("tools.'git/git_pay' = { per_day = 1 }"),
        "limits.tools.\"git/git_pay\" fits nothing: no name of a tool or a server has a `/`"
    );
    assert!(rates("callers.'https://issuer/one' = { per_day = 1 }").is_ok());
    assert!(faults("tools.x = { per_day = 0 }").contains("nonzero"));
}
