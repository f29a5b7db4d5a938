//! Versioned cells.

use store::{
    ANCHOR_BYTES_MAX, Change, Content, KEY_BYTES_MAX, Kind, PIN_BYTES_MAX, Query, Store, StoreError,
    VALUE_BYTES_MAX, every, replace, wait,
};

use super::{Case, winners};

pub(super) const CASES: &[Case] = &[
    a_cell_is_replaced_by_who_knows_its_version,
    values_and_keys_come_back_as_they_went,
    keys_are_listed_by_their_beginning,
    cells_are_found_by_what_they_are_about,
    pages_follow_each_other,
    a_transaction_is_made_whole_or_not_at_all,
    what_has_ended_is_removed_at_once,
    every_change_of_a_kind_is_counted,
    limits_are_exact,
    of_many_who_replace_at_once_one_wins_each_turn,
    two_writers_at_once_lose_nothing,
];

fn put(store: &dyn Store, key: &str, expected: Option<u64>, value: &[u8]) -> Option<u64> {
    wait(replace(store, Change::put(Kind::Sealed, key, expected, value))).unwrap()
}

fn remove(store: &dyn Store, key: &str, expected: u64) -> Option<u64> {
    wait(replace(store, Change::remove(Kind::Sealed, key, expected))).unwrap()
}

fn kept(store: &dyn Store, key: &str) -> Option<(u64, Vec<u8>)> {
    wait(store.cell(Kind::Sealed, key)).unwrap().map(|cell| (cell.version, cell.value))
}

fn a_cell_is_replaced_by_who_knows_its_version(first: &dyn Store, second: &dyn Store) {
    assert_eq!(kept(first, "a"), None);
    assert_eq!(put(first, "a", Some(1), b"x"), None, "nothing is there to replace");
    assert_eq!(remove(first, "a", 1), None);
    let one = put(first, "a", None, b"one").unwrap();
    assert_eq!(kept(second, "a"), Some((one, b"one".to_vec())));
    assert_eq!(put(second, "a", None, b"x"), None, "something is there");
    let two = put(second, "a", Some(one), b"\0\xff").unwrap();
    assert_eq!(put(first, "a", Some(one), b"x"), None, "the winner stays");
    assert_eq!(remove(first, "a", one), None, "and is not removed");
    assert_eq!(kept(first, "a"), Some((two, b"\0\xff".to_vec())));
    assert_eq!(remove(first, "a", two), Some(0));
    assert_eq!(kept(second, "a"), None);
    let three = put(second, "a", None, b"").unwrap();
    let other = put(second, "b", None, b"").unwrap();
    assert!(one < two && two < three && three < other, "{one} {two} {three} {other}");
    for before in [one, two] {
        assert_eq!(put(first, "a", Some(before), b"x"), None, "it is another cell of the same key");
        assert_eq!(remove(first, "a", before), None);
    }
    assert_eq!(wait(first.cell(Kind::Pin, "a")).unwrap(), None, "another kind");
}

fn values_and_keys_come_back_as_they_went(first: &dyn Store, second: &dyn Store) {
    for text in ["", "'; DROP TABLE cells; --", "línea\n\t\u{1f980}", "{\"a\": 1e400}"] {
        wait(first.overwrite(Kind::Anchor, text, text.into())).unwrap();
        let cell = wait(second.cell(Kind::Anchor, text)).unwrap().unwrap();
        assert_eq!((cell.key.as_str(), cell.value.as_slice()), (text, text.as_bytes()));
    }
    wait(second.overwrite(Kind::Anchor, "", b"another".to_vec())).unwrap();
    assert_eq!(wait(first.cell(Kind::Anchor, "")).unwrap().unwrap().value, b"another");
}

fn keys_are_listed_by_their_beginning(first: &dyn Store, second: &dyn Store) {
    for key in ["oauth/b/2", "oauth/a/1", "oauth%", "oauth", "x", "línea/\u{1f980}"] {
        put(first, key, None, b"x");
    }
    for (prefix, expected) in [
        ("oauth/", &["oauth/a/1", "oauth/b/2"][..]),
        ("oauth%", &["oauth%"]),
        ("lín", &["línea/\u{1f980}"]),
        ("Oauth", &[]),
        ("", &["línea/\u{1f980}", "oauth", "oauth%", "oauth/a/1", "oauth/b/2", "x"]),
    ] {
        let mut keys = wait(second.keys(Kind::Sealed, prefix)).unwrap();
        assert!(keys.is_sorted());
        keys.sort();
        assert_eq!(keys, expected, "{prefix}");
    }
}

/// A question with its owner, topic, state and end, under a key made of them.
fn ask(store: &dyn Store, owner: &str, topic: &str, state: &str, ends_at_ms: Option<i64>) {
    let key = format!("{owner} {topic} {state} {ends_at_ms:?}");
    let [owner, topic, state] = [owner, topic, state].map(str::to_owned);
    let content = Content { value: Vec::new(), owner, topic, state, ends_at_ms };
    wait(replace(store, Change::put(Kind::Approval, &key, None, content))).unwrap().unwrap();
}

fn cells_are_found_by_what_they_are_about(first: &dyn Store, second: &dyn Store) {
    ask(first, "ann", "read", "pending", Some(10));
    ask(first, "ann", "write", "pending", Some(20));
    ask(first, "bob", "read", "denied", Some(10));
    ask(first, "bob", "read", "used", None);
    let all = || Query::all(Kind::Approval);
    let owned = |owner: &str| Some(owner.to_owned());
    for (query, expected) in [
        (all(), &[0, 1, 2, 3][..]),
        (Query::all(Kind::Grant), &[]),
        (Query { owner: owned("ann"), ..all() }, &[0, 1]),
        (Query { topic: owned("read"), ..all() }, &[0, 2, 3]),
        (Query { owner: owned("bob"), topic: owned("write"), ..all() }, &[]),
        (Query { states: vec!["pending"], ..all() }, &[0, 1]),
        (Query { states: vec!["denied", "used"], ..all() }, &[2, 3]),
        (Query { ends_after_ms: Some(10), ..all() }, &[1, 3]),
        (Query { ended_by_ms: Some(10), ..all() }, &[0, 2]),
        (Query { states: vec!["pending"], owner: owned("ann"), ended_by_ms: Some(19), ..all() }, &[0]),
    ] {
        let keys = [
            "ann read pending Some(10)",
            "ann write pending Some(20)",
            "bob read denied Some(10)",
            "bob read used None",
        ];
        let found = wait(second.cells(&query)).unwrap();
        let found: Vec<&str> = found.iter().map(|cell| cell.key.as_str()).collect();
        let expected: Vec<&str> = expected.iter().map(|nth| keys[*nth]).collect();
        assert_eq!(found, expected, "{query:?}");
        assert_eq!(wait(second.count(&query)).unwrap(), expected.len() as u64, "{query:?}");
    }
}

fn pages_follow_each_other(first: &dyn Store, second: &dyn Store) {
    for key in ["a", "b", "c"] {
        put(first, key, None, b"1");
    }
    let version = kept(first, "a").unwrap().0;
    put(first, "a", Some(version), b"2");
    let mut query = Query { limit: 2, ..Query::all(Kind::Sealed) };
    let mut pages = Vec::new();
    loop {
        let page = wait(second.cells(&query)).unwrap();
        let Some(last) = page.last() else { break };
        query.after = last.version;
        pages.push(page.into_iter().map(|cell| cell.key).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec!["b", "c"], vec!["a"]], "what was changed last comes last");
    assert_eq!(wait(second.count(&query)).unwrap(), 3);
    // Cells of other kinds under the same keys, made in between, are on no page.
    for key in ["a", "b", "c"] {
        wait(replace(first, Change::put(Kind::Grant, key, None, b"".as_slice()))).unwrap().unwrap();
    }
    let version = kept(first, "b").unwrap().0;
    put(first, "b", Some(version), b"2");
    put(first, "b", kept(first, "b").map(|(version, _)| version), b"1");
    let version = kept(first, "c").unwrap().0;
    put(first, "c", Some(version), b"2");
    let version = kept(first, "a").unwrap().0;
    put(first, "a", Some(version), b"2");
    for limit in 1..=4 {
        let all = wait(every(second, Query { limit, ..Query::all(Kind::Sealed) })).unwrap();
        assert_eq!(all.into_iter().map(|cell| cell.key).collect::<Vec<_>>(), ["b", "c", "a"], "{limit}");
    }
    // Nothing tells these apart but their keys, not even when they end.
    for owner in ["x", "y", "z"] {
        ask(first, owner, "same", "same", Some(5));
    }
    for limit in 1..=4 {
        let query = Query { limit, topic: Some("same".to_owned()), ..Query::all(Kind::Approval) };
        let owners: String =
            wait(every(second, query)).unwrap().iter().filter_map(|cell| cell.key.chars().next()).collect();
        assert_eq!(owners, "xyz", "{limit}");
    }
}

fn a_transaction_is_made_whole_or_not_at_all(first: &dyn Store, second: &dyn Store) {
    let one = put(first, "a", None, b"1").unwrap();
    let both = |expected| {
        vec![
            Change::put(Kind::Grant, "g", None, b"granted".as_slice()),
            Change::put(Kind::Sealed, "a", expected, b"2".as_slice()),
        ]
    };
    assert_eq!(wait(second.commit(both(None))).unwrap(), None);
    assert_eq!(wait(first.cell(Kind::Grant, "g")).unwrap(), None, "the first half was taken back");
    assert_eq!((kept(first, "a").unwrap().0, wait(first.changes(Kind::Grant)).unwrap()), (one, 0));
    let versions = wait(second.commit(both(Some(one)))).unwrap().unwrap();
    assert_eq!(wait(first.cell(Kind::Grant, "g")).unwrap().unwrap().version, versions[0]);
    assert_eq!(kept(first, "a"), Some((versions[1], b"2".to_vec())));
    let twice = vec![
        Change::remove(Kind::Grant, "g", versions[0]),
        Change::put(Kind::Grant, "g", None, b"anew".as_slice()),
    ];
    assert_eq!(wait(first.commit(twice)).unwrap().map(|versions| versions[0]), Some(0));
    // Whichever of them fails, and for whatever reason.
    let too_large = vec![7; VALUE_BYTES_MAX + 1];
    let good = |key: &str| Change::put(Kind::Grant, key, None, b"".as_slice());
    let stale = || Change::put(Kind::Sealed, "a", Some(one), b"3".as_slice());
    let large = || Change::put(Kind::Sealed, "b", None, too_large.clone());
    for nth in 0..3 {
        for (wrong, is_error) in [(stale(), false), (large(), true)] {
            let mut changes = vec![good("x"), good("y")];
            changes.insert(nth, wrong);
            let made = wait(second.commit(changes));
            assert!(if is_error { made.is_err() } else { made.unwrap().is_none() }, "{nth}");
            assert_eq!(wait(first.keys(Kind::Grant, "")).unwrap(), ["g"], "{nth}");
        }
    }
    assert_eq!(wait(first.changes(Kind::Grant)).unwrap(), 3);
}

fn what_has_ended_is_removed_at_once(first: &dyn Store, second: &dyn Store) {
    assert_eq!(wait(first.remove_ended(Kind::Approval, 100)).unwrap(), 0);
    for (owner, ends_at_ms) in [("a", Some(10)), ("b", Some(11)), ("c", None)] {
        ask(first, owner, "", "", ends_at_ms);
    }
    wait(first.overwrite(Kind::Anchor, "a", Vec::new())).unwrap();
    assert_eq!(wait(second.remove_ended(Kind::Approval, 10)).unwrap(), 1);
    assert_eq!(wait(first.keys(Kind::Approval, "")).unwrap(), ["b   Some(11)", "c   None"]);
    assert_eq!(wait(first.changes(Kind::Approval)).unwrap(), 4);
    let versions = || wait(first.cells(&Query::all(Kind::Approval))).unwrap();
    ask(first, "d", "", "", Some(11));
    let last = versions().last().unwrap().version;
    assert_eq!(wait(second.remove_ended(Kind::Approval, 11)).unwrap(), 2);
    ask(first, "d", "", "", Some(11));
    assert!(
        versions().last().unwrap().version > last,
        "the version of what was removed is not given away again"
    );
}

fn every_change_of_a_kind_is_counted(first: &dyn Store, second: &dyn Store) {
    let counted = |store: &dyn Store| {
        [Kind::Sealed, Kind::Key]
            .map(|kind| (wait(store.changes(kind)).unwrap(), wait(store.was_any(kind)).unwrap()))
    };
    assert_eq!(counted(first), [(0, false), (0, false)]);
    let one = put(first, "a", None, b"1").unwrap();
    put(first, "a", None, b"refused");
    remove(second, "a", one).unwrap();
    wait(replace(second, Change::put(Kind::Key, "ci", None, b"".as_slice()))).unwrap();
    assert_eq!(counted(second), [(2, true), (1, true)], "be it removed by now");
}

fn limits_are_exact(first: &dyn Store, second: &dyn Store) {
    for (kind, bytes_max) in
        [(Kind::Anchor, ANCHOR_BYTES_MAX), (Kind::Pin, PIN_BYTES_MAX), (Kind::Grant, VALUE_BYTES_MAX)]
    {
        let mut value = vec![7; bytes_max];
        wait(replace(first, Change::put(kind, "a", None, value.clone()))).unwrap().unwrap();
        assert_eq!(wait(second.cell(kind, "a")).unwrap().unwrap().value, value);
        value.push(7);
        let refused = wait(replace(first, Change::put(kind, "b", None, value.clone()))).unwrap_err();
        check_refused(refused, bytes_max);
        check_refused(wait(first.overwrite(kind, "b", value)).unwrap_err(), bytes_max);
        assert_eq!(wait(second.keys(kind, "")).unwrap(), ["a"]);
    }
    let key = "k".repeat(KEY_BYTES_MAX);
    put(first, &key, None, b"").unwrap();
    let change = Change::put(Kind::Sealed, &format!("{key}k"), None, b"".as_slice());
    check_refused(wait(replace(first, change)).unwrap_err(), KEY_BYTES_MAX);
    let content = Content { owner: format!("{key}k"), ..Content::default() };
    let change = Change { content: Some(content), ..Change::put(Kind::Sealed, "x", None, Vec::new()) };
    check_refused(wait(replace(first, change)).unwrap_err(), KEY_BYTES_MAX);
}

#[track_caller]
fn check_refused(refused: StoreError, bytes_max: usize) {
    match refused {
        StoreError::TooLarge { bytes, max, .. } => assert_eq!((bytes, max), (bytes_max + 1, bytes_max)),
        other => panic!("{other}"),
    }
}

fn of_many_who_replace_at_once_one_wins_each_turn(first: &dyn Store, second: &dyn Store) {
    put(first, "a", None, &[0]);
    for turn in 1..=25u8 {
        let version = kept(first, "a").map(|(version, _)| version);
        let won = winners(first, second, |store, _| put(store, "a", version, &[turn]).is_some());
        assert_eq!(won, 1, "turn {turn}");
        assert_eq!(kept(first, "a").unwrap().1, [turn]);
    }
}

fn two_writers_at_once_lose_nothing(first: &dyn Store, second: &dyn Store) {
    let won = winners(first, second, |store, name| {
        (0..25).all(|nth| {
            let key = format!("{name} {nth}");
            wait(store.overwrite(Kind::KeyUse, &key, key.clone().into())).is_ok()
        })
    });
    assert_eq!((won, wait(second.count(&Query::all(Kind::KeyUse))).unwrap()), (4, 100));
}
