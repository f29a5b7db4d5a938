//! What every store must do, written once against the trait. A backend's tests hand over two handles on
//! one fresh store; whatever one keeps, the other finds.

use std::{any::Any, thread};

use crate::{
    ANCHOR_BYTES_MAX, DEFINITIONS_BYTES_MAX, Definitions, FINGERPRINTS_PER_UPSTREAM_MAX, Store, StoreError,
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
