//! Leases, definitions of upstreams, and counters.

use store::{
    DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX, KEY_BYTES_MAX, LEASE_MS_MAX, Period,
    Store, StoreError, wait,
};

use super::{Case, winners};

pub(super) const CASES: &[Case] = &[
    a_lease_is_held_by_one_until_it_is_over,
    of_many_who_acquire_at_once_one_gets_it,
    definitions_are_found_by_name_and_configuration,
    definitions_kept_anew_replace_the_old,
    only_the_latest_configurations_stay,
    forgetting_takes_one_upstream_only,
    definitions_have_a_limit,
    a_counter_gives_what_is_left_of_its_period,
    a_counter_begins_anew_when_its_period_is_over,
    many_together_count_no_more_than_there_is,
];

fn a_lease_is_held_by_one_until_it_is_over(first: &dyn Store, second: &dyn Store) {
    let acquire = |store: &dyn Store, key: &str, holder: &str, now_ms, until_ms| {
        wait(store.acquire(key, holder, now_ms, until_ms)).unwrap()
    };
    wait(first.release("a", "me")).unwrap();
    assert!(acquire(first, "a", "me", 1_000, 2_000));
    assert!(acquire(first, "a", "me", 1_000, 3_000), "it is mine already");
    assert!(!acquire(second, "a", "you", 2_999, 9_000));
    assert!(acquire(second, "b", "you", 2_999, 9_000), "another one");
    // Whoever held it has died; nobody else needs to say so.
    assert!(acquire(second, "a", "you", 3_000, 4_000));
    assert!(!acquire(first, "a", "me", 3_500, 4_000));
    wait(first.release("a", "me")).unwrap();
    assert!(!acquire(first, "a", "me", 3_500, 4_000), "it is not mine to release");
    wait(second.release("a", "you")).unwrap();
    assert!(acquire(first, "a", "me", 3_500, 4_000));
    // It is never held longer than the limit, nor beyond it by a clock that was wrong.
    assert!(acquire(first, "c", "me", 0, i64::MAX));
    assert!(!acquire(second, "c", "you", 0, 1), "held for just as long as it may be");
    assert!(!acquire(second, "c", "you", LEASE_MS_MAX - 1, LEASE_MS_MAX));
    assert!(acquire(second, "c", "you", LEASE_MS_MAX, LEASE_MS_MAX + 1));
    assert!(acquire(first, "d", "me", 10 * LEASE_MS_MAX, 11 * LEASE_MS_MAX));
    assert!(acquire(second, "d", "you", 0, 1));
    let long = "k".repeat(KEY_BYTES_MAX + 1);
    for (key, holder) in [(long.as_str(), "me"), ("a", long.as_str())] {
        let refused = wait(first.acquire(key, holder, 0, 1)).unwrap_err();
        assert!(matches!(refused, StoreError::TooLarge { max: KEY_BYTES_MAX, .. }), "{refused}");
    }
}

fn of_many_who_acquire_at_once_one_gets_it(first: &dyn Store, second: &dyn Store) {
    for turn in 0..25 {
        let key = format!("key {turn}");
        let won =
            winners(first, second, |store, holder| wait(store.acquire(&key, holder, 0, 1_000)).unwrap());
        assert_eq!(won, 1, "turn {turn}");
    }
}

fn sample(upstream: &str, fingerprint: &str, fetched_at_ms: i64) -> Definitions {
    Definitions {
        upstream: upstream.to_owned(),
        fingerprint: fingerprint.to_owned(),
        tools_json: format!(r#"[{{"name":"{upstream} {fingerprint} {fetched_at_ms}"}}]"#),
        fetched_at_ms,
    }
}

fn keep(store: &dyn Store, definitions: Definitions) {
    wait(store.keep_definitions(definitions)).unwrap();
}

fn known(store: &dyn Store, upstream: &str, fingerprint: &str) -> Option<Definitions> {
    wait(store.definitions(upstream, fingerprint)).unwrap()
}

fn definitions_are_found_by_name_and_configuration(first: &dyn Store, second: &dyn Store) {
    assert_eq!(known(first, "git", "a"), None);
    keep(first, sample("git", "a", 1));
    keep(first, sample("git", "b", 2));
    assert_eq!(known(second, "git", "a"), Some(sample("git", "a", 1)));
    assert_eq!(known(second, "git", "b"), Some(sample("git", "b", 2)));
    for (upstream, fingerprint) in [("git", "c"), ("Git", "a"), ("git", ""), ("", "a"), ("git%", "a")] {
        assert_eq!(known(second, upstream, fingerprint), None, "{upstream} {fingerprint}");
    }
}

fn definitions_kept_anew_replace_the_old(first: &dyn Store, second: &dyn Store) {
    keep(first, sample("git", "a", 5));
    keep(second, sample("git", "a", 3));
    assert_eq!(known(first, "git", "a"), Some(sample("git", "a", 3)));
}

fn only_the_latest_configurations_stay(first: &dyn Store, second: &dyn Store) {
    keep(first, sample("other", "a", 0));
    let kept_max = FINGERPRINTS_PER_UPSTREAM_MAX as i64;
    for at in 0..kept_max + 2 {
        keep(first, sample("git", &format!("{at}"), at));
    }
    let is_kept = |at: i64| known(second, "git", &format!("{at}")).is_some();
    assert!(!is_kept(0) && !is_kept(1));
    assert!((2..kept_max + 2).all(is_kept));
    // A clock that went back must not cost what was kept last.
    keep(first, sample("git", "early", -1));
    assert!(known(second, "git", "early").is_some());
    assert!(!is_kept(2) && is_kept(3));
    assert!(known(second, "other", "a").is_some());
}

fn forgetting_takes_one_upstream_only(first: &dyn Store, second: &dyn Store) {
    for (upstream, fingerprint) in [("git", "a"), ("git", "b"), ("time", "a")] {
        keep(first, sample(upstream, fingerprint, 1));
    }
    wait(second.forget_definitions("git")).unwrap();
    wait(second.forget_definitions("git")).unwrap();
    assert_eq!((known(first, "git", "a"), known(first, "git", "b")), (None, None));
    assert!(known(first, "time", "a").is_some());
}

fn definitions_have_a_limit(first: &dyn Store, second: &dyn Store) {
    let sized = |bytes| Definitions { tools_json: "x".repeat(bytes), ..sample("git", "a", 1) };
    let over = wait(first.keep_definitions(sized(DEFINITIONS_BYTES_MAX + 1))).unwrap_err();
    assert_eq!(
        over.to_string(),
        "a list of tools of 16777217 bytes is too large to keep; the limit is 16777216"
    );
    assert_eq!(known(second, "git", "a"), None);
    keep(first, sized(DEFINITIONS_BYTES_MAX));
    assert_eq!(known(second, "git", "a"), Some(sized(DEFINITIONS_BYTES_MAX)));
}

/// Takes of a counter whose periods last 100 milliseconds: when the period began, what was taken, and the sum.
fn take(store: &dyn Store, key: &str, (wanted, max): (u32, u32), now_ms: i64) -> (i64, u32, u32) {
    let taken = wait(store.take(key, wanted, max, Period { now_ms, lasts_ms: 100 })).unwrap();
    (taken.begun_at_ms, taken.taken, taken.count)
}

fn a_counter_gives_what_is_left_of_its_period(first: &dyn Store, second: &dyn Store) {
    assert_eq!(take(first, "a", (2, 5), 1_000), (1_000, 2, 2));
    assert_eq!(take(second, "a", (2, 5), 1_050), (1_000, 2, 4));
    assert_eq!(take(first, "a", (2, 5), 1_051), (1_000, 1, 5));
    assert_eq!(take(first, "a", (2, 5), 1_099), (1_000, 0, 5));
    assert_eq!(take(first, "a", (2, 3), 1_099), (1_000, 0, 5), "the limit was lowered");
    assert_eq!(take(first, "b", (2, 5), 1_099), (1_099, 2, 2), "another one");
}

fn a_counter_begins_anew_when_its_period_is_over(first: &dyn Store, second: &dyn Store) {
    take(first, "a", (2, 2), 1_000);
    assert_eq!(take(second, "a", (1, 2), 1_100), (1_100, 1, 1));
    // A clock that was wrong must not keep a counter full until then.
    take(first, "b", (2, 2), 900_000);
    assert_eq!(take(second, "b", (1, 2), 1_100), (1_100, 1, 1));
    // One that is wrong by no more than a period may be another process's, a moment ahead.
    take(first, "c", (2, 2), 1_200);
    assert_eq!(take(second, "c", (1, 2), 1_100), (1_200, 0, 2));
    assert_eq!(take(second, "c", (1, 2), 1_099), (1_099, 1, 1));
}

fn many_together_count_no_more_than_there_is(first: &dyn Store, second: &dyn Store) {
    let won = winners(first, second, |store, _| {
        (0..10).map(|_| take(store, "a", (1, 35), 1_000).1).sum::<u32>() == 10
    });
    let (_, taken, count) = take(first, "a", (1, 35), 1_000);
    assert!(won < 4, "somebody came too late");
    assert_eq!((taken, count), (0, 35));
}
