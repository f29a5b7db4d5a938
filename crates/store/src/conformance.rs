//! What every store must do, written once against the trait. A backend's tests hand over two handles on
//! one fresh store; whatever one keeps, the other finds.

use std::{any::Any, thread};

use crate::{
    ANCHOR_BYTES_MAX, CLAIM_MS_MAX, DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX,
    RECORD_BYTES_MAX, SECRET_BYTES_MAX, SECRET_NAME_BYTES_MAX, Store, StoreError,
};

/// Runs the suite; `fresh` makes an empty store with two handles and whatever must outlive them.
pub(crate) fn check<S: Store, G: Any>(fresh: impl Fn() -> (S, S, G)) {
    for case in [
        definitions_are_found_by_name_and_configuration,
        kept_anew_replaces_the_old,
        only_the_latest_configurations_stay,
        forgetting_takes_one_upstream_only,
        anchors_are_replaced_and_kept_apart,
        limits_are_exact,
        texts_come_back_as_they_went,
        two_writers_at_once_lose_nothing,
        secrets_are_replaced_by_who_knows_their_version,
        secrets_are_listed_by_the_beginning_of_their_names,
        secrets_have_limits,
        of_many_who_replace_at_once_one_wins_each_round,
        records_are_replaced_by_who_knows_their_version,
        a_claim_is_held_by_one_until_it_is_over,
        of_many_who_claim_at_once_one_gets_it,
    ] {
        let (first, second, _guard) = fresh();
        case(&first, &second);
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

fn definitions_are_found_by_name_and_configuration(first: &dyn Store, second: &dyn Store) {
    assert_eq!(first.definitions("git", "a").unwrap(), None);
    first.keep_definitions(&sample("git", "a", 1)).unwrap();
    first.keep_definitions(&sample("git", "b", 2)).unwrap();
    assert_eq!(second.definitions("git", "a").unwrap(), Some(sample("git", "a", 1)));
    assert_eq!(second.definitions("git", "b").unwrap(), Some(sample("git", "b", 2)));
    for (upstream, fingerprint) in [("git", "c"), ("Git", "a"), ("git", ""), ("", "a"), ("git%", "a")] {
        assert_eq!(second.definitions(upstream, fingerprint).unwrap(), None, "{upstream} {fingerprint}");
    }
}

fn kept_anew_replaces_the_old(first: &dyn Store, second: &dyn Store) {
    first.keep_definitions(&sample("git", "a", 5)).unwrap();
    second.keep_definitions(&sample("git", "a", 3)).unwrap();
    assert_eq!(first.definitions("git", "a").unwrap(), Some(sample("git", "a", 3)));
}

fn only_the_latest_configurations_stay(first: &dyn Store, second: &dyn Store) {
    first.keep_definitions(&sample("other", "a", 0)).unwrap();
    let kept_max = FINGERPRINTS_PER_UPSTREAM_MAX as i64;
    for at in 0..kept_max + 2 {
        first.keep_definitions(&sample("git", &format!("{at}"), at)).unwrap();
    }
    let kept = |at: i64| second.definitions("git", &format!("{at}")).unwrap().is_some();
    assert!(!kept(0) && !kept(1));
    assert!((2..kept_max + 2).all(kept));
    // A clock that went back must not cost what was kept last.
    first.keep_definitions(&sample("git", "early", -1)).unwrap();
    assert!(second.definitions("git", "early").unwrap().is_some());
    assert!(!kept(2) && kept(3));
    assert!(second.definitions("other", "a").unwrap().is_some());
}

fn forgetting_takes_one_upstream_only(first: &dyn Store, second: &dyn Store) {
    for (upstream, fingerprint) in [("git", "a"), ("git", "b"), ("time", "a")] {
        first.keep_definitions(&sample(upstream, fingerprint, 1)).unwrap();
    }
    second.forget_definitions("git").unwrap();
    second.forget_definitions("git").unwrap();
    assert_eq!(first.definitions("git", "a").unwrap(), None);
    assert_eq!(first.definitions("git", "b").unwrap(), None);
    assert!(first.definitions("time", "a").unwrap().is_some());
}

fn anchors_are_replaced_and_kept_apart(first: &dyn Store, second: &dyn Store) {
    assert_eq!(first.anchor("audit.head").unwrap(), None);
    first.keep_anchor("audit.head", "1").unwrap();
    first.keep_anchor("audit.other", "2").unwrap();
    second.keep_anchor("audit.head", "3").unwrap();
    assert_eq!(first.anchor("audit.head").unwrap().as_deref(), Some("3"));
    assert_eq!(first.anchor("audit.other").unwrap().as_deref(), Some("2"));
}

fn limits_are_exact(first: &dyn Store, second: &dyn Store) {
    let sized = |bytes| Definitions { tools_json: "x".repeat(bytes), ..sample("git", "a", 1) };
    let over = first.keep_definitions(&sized(DEFINITIONS_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(
        over.to_string(),
        "a list of tools of 16777217 bytes is too large to keep; the limit is 16777216"
    );
    assert_eq!(second.definitions("git", "a").unwrap(), None);
    first.keep_definitions(&sized(DEFINITIONS_BYTES_MAX)).unwrap();
    assert_eq!(second.definitions("git", "a").unwrap(), Some(sized(DEFINITIONS_BYTES_MAX)));

    let value = "x".repeat(ANCHOR_BYTES_MAX - 1);
    first.keep_anchor("k", &value).unwrap();
    let over = first.keep_anchor("k2", &value).unwrap_err();
    assert!(matches!(over, StoreError::TooLarge { bytes, .. } if bytes == ANCHOR_BYTES_MAX + 1), "{over}");
    assert_eq!(second.anchor("k").unwrap(), Some(value));
    assert_eq!(second.anchor("k2").unwrap(), None);
}

fn texts_come_back_as_they_went(first: &dyn Store, second: &dyn Store) {
    for text in ["", "'; DROP TABLE anchors; --", "línea\n\t\u{1f980}", "{\"a\": 1e400}"] {
        first.keep_anchor(text, text).unwrap();
        assert_eq!(second.anchor(text).unwrap().as_deref(), Some(text));
        let definitions = Definitions { tools_json: text.to_owned(), ..sample(text, text, i64::MIN) };
        first.keep_definitions(&definitions).unwrap();
        assert_eq!(second.definitions(text, text).unwrap(), Some(definitions));
    }
}

fn two_writers_at_once_lose_nothing(first: &dyn Store, second: &dyn Store) {
    thread::scope(|scope| {
        for (name, store) in [("first", first), ("second", second)] {
            scope.spawn(move || {
                for nth in 0..50 {
                    store.keep_anchor(&format!("{name} {nth}"), "kept").unwrap();
                    store.keep_definitions(&sample(name, "a", nth)).unwrap();
                }
            });
        }
    });
    for (name, store) in [("first", second), ("second", first)] {
        assert!((0..50).all(|nth| store.anchor(&format!("{name} {nth}")).unwrap().is_some()));
        assert_eq!(store.definitions(name, "a").unwrap(), Some(sample(name, "a", 49)));
    }
}

fn secrets_are_replaced_by_who_knows_their_version(first: &dyn Store, second: &dyn Store) {
    let kept = |store: &dyn Store| store.secret("a").unwrap().map(|found| (found.version, found.sealed));
    assert_eq!(kept(first), None);
    assert_eq!(first.replace_secret("a", Some(1), Some(b"x")).unwrap(), None, "nothing is there to replace");
    assert_eq!(first.replace_secret("a", Some(1), None).unwrap(), None);
    let one = first.replace_secret("a", None, Some(b"one")).unwrap().unwrap();
    assert_eq!(kept(second), Some((one, b"one".to_vec())));
    assert_eq!(second.replace_secret("a", None, Some(b"x")).unwrap(), None, "something is there");
    let two = second.replace_secret("a", Some(one), Some(b"\0\xff")).unwrap().unwrap();
    assert_eq!(first.replace_secret("a", Some(one), Some(b"x")).unwrap(), None, "the winner stays");
    assert_eq!(first.replace_secret("a", Some(one), None).unwrap(), None, "and is not removed");
    assert_eq!(kept(first), Some((two, b"\0\xff".to_vec())));
    assert_eq!(first.replace_secret("a", Some(two), None).unwrap(), Some(0));
    assert_eq!(kept(second), None);
    assert_eq!(first.replace_secret("a", None, None).unwrap(), Some(0), "nothing is there, as wanted");
    let three = second.replace_secret("a", None, Some(b"")).unwrap().unwrap();
    let other = second.replace_secret("b", None, Some(b"")).unwrap().unwrap();
    assert!(one < two && two < three && three < other, "{one} {two} {three} {other}");
}

fn secrets_are_listed_by_the_beginning_of_their_names(first: &dyn Store, second: &dyn Store) {
    for name in ["oauth/b/2", "oauth/a/1", "oauth%", "oauth", "x", "línea/\u{1f980}"] {
        first.replace_secret(name, None, Some(b"x")).unwrap();
    }
    for (prefix, expected) in [
        ("oauth/", &["oauth/a/1", "oauth/b/2"][..]),
        ("oauth%", &["oauth%"]),
        ("lín", &["línea/\u{1f980}"]),
        ("Oauth", &[]),
        ("", &["línea/\u{1f980}", "oauth", "oauth%", "oauth/a/1", "oauth/b/2", "x"]),
    ] {
        let mut names = second.secret_names(prefix).unwrap();
        let mut expected = expected.to_vec();
        assert!(names.is_sorted());
        names.sort();
        expected.sort_unstable();
        assert_eq!(names, expected, "{prefix}");
    }
}

fn secrets_have_limits(first: &dyn Store, second: &dyn Store) {
    let name = "n".repeat(SECRET_NAME_BYTES_MAX);
    let largest = vec![7; SECRET_BYTES_MAX];
    assert!(first.replace_secret(&name, None, Some(&largest)).unwrap().is_some());
    assert_eq!(second.secret(&name).unwrap().unwrap().sealed, largest);
    let refused = |refused: Result<Option<u64>, StoreError>, bytes: usize| match refused.unwrap_err() {
        StoreError::TooLarge { bytes: found, max, .. } => assert_eq!((found, max), (bytes + 1, bytes)),
        other => panic!("{other}"),
    };
    refused(first.replace_secret("a", None, Some(&vec![7; SECRET_BYTES_MAX + 1])), SECRET_BYTES_MAX);
    refused(first.replace_secret(&format!("{name}n"), None, Some(b"")), SECRET_NAME_BYTES_MAX);
    assert_eq!(second.secret_names("").unwrap(), [name]);
}

fn of_many_who_replace_at_once_one_wins_each_round(first: &dyn Store, second: &dyn Store) {
    const ROUNDS: u8 = 25;
    let mut version = first.replace_secret("a", None, Some(&[0])).unwrap();
    for round in 1..=ROUNDS {
        let winners: Vec<u64> = thread::scope(|scope| {
            let stores = [first, second, first, second];
            let tries = stores.map(|store| {
                scope.spawn(move || store.replace_secret("a", version, Some(&[round])).unwrap())
            });
            tries.into_iter().filter_map(|tried| tried.join().unwrap()).collect()
        });
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        version = Some(winners[0]);
        assert_eq!(first.secret("a").unwrap().unwrap().sealed, [round]);
    }
}

fn records_are_replaced_by_who_knows_their_version(first: &dyn Store, second: &dyn Store) {
    assert_eq!((first.record("k", "a").unwrap(), first.record_changes("k").unwrap()), (None, 0));
    let one = first.replace_record("k", "a", None, Some("1")).unwrap().expect("there was none");
    assert_eq!(second.replace_record("k", "a", None, Some("2")).unwrap(), None, "there is one");
    let kept = second.record("k", "a").unwrap().expect("it was kept");
    assert_eq!((kept.key.as_str(), kept.version, kept.value.as_str()), ("a", one, "1"));
    let two = second.replace_record("k", "a", Some(one), Some("2")).unwrap().expect("it knew the version");
    assert_ne!(one, two);
    first.replace_record("k", "b", None, Some("3")).unwrap().expect("there was none");
    first.replace_record("other", "a", None, Some("4")).unwrap().expect("another kind");
    let keys = |kind| first.records(kind).unwrap().into_iter().map(|record| record.key).collect::<Vec<_>>();
    assert_eq!((keys("k"), keys("other")), (vec!["a".to_owned(), "b".to_owned()], vec!["a".to_owned()]));
    assert_eq!(first.replace_record("k", "a", Some(one), None).unwrap(), None, "it is out of date");
    assert_eq!(first.replace_record("k", "a", Some(two), None).unwrap(), Some(0));
    assert_eq!(keys("k"), ["b"]);
    assert_eq!((second.record_changes("k").unwrap(), second.record_changes("other").unwrap()), (4, 1));
    let large = "x".repeat(RECORD_BYTES_MAX + 1);
    assert!(first.replace_record("k", "c", None, Some(&large[1..])).unwrap().is_some());
    let refused = first.replace_record("k", "d", None, Some(&large));
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
}

fn a_claim_is_held_by_one_until_it_is_over(first: &dyn Store, second: &dyn Store) {
    assert!(first.claim("a", "me", 1_000, 2_000).unwrap());
    assert!(first.claim("a", "me", 1_000, 3_000).unwrap(), "it is mine already");
    assert!(!second.claim("a", "you", 2_999, 9_000).unwrap());
    assert!(second.claim("b", "you", 2_999, 9_000).unwrap(), "another one");
    // Whoever held it has died; nobody else needs to say so.
    assert!(second.claim("a", "you", 3_000, 4_000).unwrap());
    assert!(!first.claim("a", "me", 3_500, 4_000).unwrap());
    first.release("a", "me").unwrap();
    assert!(!first.claim("a", "me", 3_500, 4_000).unwrap(), "it is not mine to give back");
    second.release("a", "you").unwrap();
    second.release("a", "you").unwrap();
    assert!(first.claim("a", "me", 3_500, 4_000).unwrap());
    // It is never held longer than the limit, nor beyond it by a clock that was wrong.
    assert!(first.claim("c", "me", 0, i64::MAX).unwrap());
    assert!(!second.claim("c", "you", CLAIM_MS_MAX - 1, CLAIM_MS_MAX).unwrap());
    assert!(second.claim("c", "you", CLAIM_MS_MAX, CLAIM_MS_MAX + 1).unwrap());
    assert!(first.claim("d", "me", 10 * CLAIM_MS_MAX, 11 * CLAIM_MS_MAX).unwrap());
    assert!(second.claim("d", "you", 0, 1).unwrap());
}

fn of_many_who_claim_at_once_one_gets_it(first: &dyn Store, second: &dyn Store) {
    for round in 0..25 {
        let key = format!("key {round}");
        let got = thread::scope(|scope| {
            let tries = [(first, "1"), (second, "2"), (first, "3"), (second, "4")].map(|(store, holder)| {
                let key = &key;
                scope.spawn(move || store.claim(key, holder, 0, 1_000).unwrap())
            });
            tries.into_iter().filter_map(|tried| tried.join().unwrap().then_some(())).count()
        });
        assert_eq!(got, 1, "round {round}");
    }
}
