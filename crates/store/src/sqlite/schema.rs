//! The tables, as the ordered list of steps that lead to them.

use rusqlite::{Connection, Error, TransactionBehavior};

/// Each step takes the database from the version equal to its place in the list to the next one. A step
/// that was released never changes; a change is a new step at the end.
const STEPS: &[&str] = &[
    "
    CREATE TABLE definitions (
        upstream      TEXT    NOT NULL,
        fingerprint   TEXT    NOT NULL,
        tools_json    TEXT    NOT NULL,
        fetched_at_ms INTEGER NOT NULL,
        PRIMARY KEY (upstream, fingerprint)
    ) STRICT;
    CREATE TABLE anchors (
        key   TEXT NOT NULL PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // AUTOINCREMENT: the version of a record that was removed never comes again.
    "
    CREATE TABLE secrets (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        name    TEXT NOT NULL UNIQUE,
        sealed  BLOB NOT NULL
    ) STRICT;
    CREATE TABLE claims (
        key      TEXT    NOT NULL PRIMARY KEY,
        holder   TEXT    NOT NULL,
        until_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // AUTOINCREMENT: the latest version of a kind tells whether anything in it has changed.
    "
    CREATE TABLE records (
        version INTEGER PRIMARY KEY AUTOINCREMENT,
        kind    TEXT NOT NULL,
        key     TEXT NOT NULL,
        value   TEXT NOT NULL,
        UNIQUE (kind, key)
    ) STRICT;
    CREATE TABLE changes (
        kind  TEXT    NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
",
    // Everything with a version becomes a cell that can be searched. A pin that was cut into parts becomes one again;
    // one whose parts are not all there cannot be read afterwards either. Counts of days begin anew only if unreadable.
    "
    CREATE TABLE cells (
        version    INTEGER PRIMARY KEY AUTOINCREMENT,
        kind       TEXT NOT NULL,
        key        TEXT NOT NULL,
        owner      TEXT NOT NULL DEFAULT '',
        topic      TEXT NOT NULL DEFAULT '',
        state      TEXT NOT NULL DEFAULT '',
        ends_at_ms INTEGER,
        value      BLOB NOT NULL,
        UNIQUE (kind, key)
    ) STRICT;
    CREATE INDEX cells_by_owner ON cells (kind, owner) WHERE owner <> '';
    CREATE INDEX cells_by_topic ON cells (kind, topic) WHERE topic <> '';
    CREATE INDEX cells_by_end ON cells (kind, ends_at_ms) WHERE ends_at_ms IS NOT NULL;
    CREATE TABLE counters (
        key         TEXT    NOT NULL PRIMARY KEY,
        begun_at_ms INTEGER NOT NULL,
        ends_at_ms  INTEGER NOT NULL,
        count       INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    INSERT INTO cells (kind, key, value) SELECT 'anchor', key, CAST(value AS BLOB) FROM anchors;
    INSERT INTO cells (kind, key, value) SELECT 'sealed', name, sealed FROM secrets ORDER BY version;
    INSERT INTO changes (kind, count) SELECT 'sealed', seq FROM sqlite_sequence WHERE name = 'secrets' AND seq > 0;
    INSERT INTO counters (key, begun_at_ms, ends_at_ms, count)
        SELECT key, value ->> 'begun_at_ms', (value ->> 'begun_at_ms') + 86400000, value ->> 'calls'
        FROM records WHERE kind = 'quota' AND json_valid(value)
            AND json_type(value, '$.begun_at_ms') = 'integer' AND json_type(value, '$.calls') = 'integer';
    INSERT INTO cells (kind, key, value, owner, topic, state, ends_at_ms)
        SELECT kind, key, CAST(value AS BLOB), coalesce(value ->> 'caller', ''),
            coalesce(value ->> 'call_sha256', ''), coalesce(value ->> 'state', ''),
            CASE value ->> 'state'
                WHEN 'approved' THEN value -> '$.answered' ->> 'use_until_ms'
                WHEN 'pending' THEN
                    min(value ->> 'expires_at_ms', coalesce(value ->> 'awaited_until_ms', value ->> 'expires_at_ms'))
                ELSE value ->> 'expires_at_ms'
            END
        FROM records WHERE kind = 'approval' AND json_valid(value) ORDER BY version;
    INSERT INTO cells (kind, key, value, owner, topic, ends_at_ms)
        SELECT kind, key, CAST(value AS BLOB), coalesce(value ->> 'caller', ''), coalesce(value ->> 'tool', ''),
            value -> '$.bound' ->> 'until_ms'
        FROM records WHERE kind = 'grant' AND json_valid(value) ORDER BY version;
    INSERT INTO cells (kind, key, value, topic)
        SELECT kind, key, CAST(value AS BLOB), iif(json_valid(value), coalesce(value ->> 'id', ''), '')
        FROM records WHERE kind = 'key' ORDER BY version;
    INSERT INTO cells (kind, key, value)
        SELECT kind, key, CAST(coalesce((
            SELECT group_concat(part.value, '' ORDER BY CAST(substr(part.key, length(head.key) + 67) AS INTEGER))
            FROM records part WHERE part.kind = 'pin' AND json_valid(head.value)
                AND substr(part.key, 1, length(head.key) + 66) = head.key || '#' || (head.value ->> 'whole') || '#'
        ), head.value) AS BLOB)
        FROM records head WHERE kind = 'pin' AND NOT EXISTS (
            SELECT 1 FROM records other WHERE other.kind = 'pin' AND json_valid(other.value)
                AND substr(head.key, 1, length(other.key) + 66) = other.key || '#' || (other.value ->> 'whole') || '#')
        ORDER BY version;
    INSERT INTO cells (kind, key, value) SELECT kind, key, CAST(value AS BLOB) FROM records
        WHERE kind NOT IN ('approval', 'grant', 'key', 'pin', 'quota') ORDER BY version;
    DROP TABLE anchors;
    DROP TABLE secrets;
    DROP TABLE records;
    ALTER TABLE claims RENAME TO leases;
",
];

/// An empty database of an earlier version, for tests.
#[cfg(test)]
pub(super) fn make_old(connection: &Connection, version: usize) -> Result<(), Error> {
    STEPS[..version].iter().try_for_each(|step| connection.execute_batch(step))?;
    connection.pragma_update(None, "user_version", version as i64)
}

/// The version this program brings a database to, and the latest it can use.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// The version of a database; 0 for one that was just created.
pub(super) fn version(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing, all or none. Another process may be doing the same at this moment:
/// whoever gets the write lock second finds nothing left to do.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in STEPS.iter().skip(from) {
        transaction.execute_batch(step)?;
    }
    if from < STEPS.len() {
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{
        cell::{Kind, Query},
        definitions::Definitions,
        reply::wait,
        sqlite::SqliteStore,
        store::{CellStore, CounterStore, DefinitionStore, LeaseStore, Period},
    };

    /// A store over a database that an earlier release made with this in it.
    fn old(version: usize, content: &str) -> (TempDir, SqliteStore) {
        let dir = tempfile::tempdir().unwrap();
        let connection = Connection::open(dir.path().join(crate::sqlite::file::FILE)).unwrap();
        make_old(&connection, version).unwrap();
        connection.execute_batch(content).unwrap();
        drop(connection);
        let store = SqliteStore::at(dir.path());
        (dir, store)
    }

    fn value(store: &SqliteStore, kind: Kind, key: &str) -> Option<String> {
        wait(store.cell(kind, key)).unwrap().map(|cell| String::from_utf8(cell.value).unwrap())
    }

    #[test]
    fn the_first_database_gets_what_is_new() {
        let (_dir, store) = old(
            1,
            "INSERT INTO anchors VALUES ('x', 'y'); INSERT INTO definitions VALUES ('git', 'a', '[]', 7);",
        );
        assert_eq!(value(&store, Kind::Anchor, "x").as_deref(), Some("y"));
        let kept = wait(store.definitions("git", "a")).unwrap();
        let (upstream, fingerprint) = ("git".to_owned(), "a".to_owned());
        let tools_json = "[]".to_owned();
        assert_eq!(kept, Some(Definitions { upstream, fingerprint, tools_json, fetched_at_ms: 7 }));
        assert_eq!(wait(store.changes(Kind::Sealed)).unwrap(), 0);
    }

    #[test]
    fn what_was_kept_can_be_searched() {
        let (_dir, store) = old(
            3,
            r#"
            INSERT INTO secrets (name, sealed) VALUES ('oauth/a', x'01ff');
            INSERT INTO claims VALUES ('lease', 'me', 5000);
            INSERT INTO changes VALUES ('approval', 9), ('key', 4);
            INSERT INTO records (kind, key, value) VALUES
                ('approval', 'k1', '{"caller":"ann","call_sha256":"c1","state":"pending","expires_at_ms":90,"awaited_until_ms":50}'),
                ('approval', 'k2', '{"caller":"ann","call_sha256":"c2","state":"approved","expires_at_ms":90,"answered":{"use_until_ms":70}}'),
                ('approval', 'k3', '{"caller":"bob","call_sha256":"c1","state":"denied","expires_at_ms":80}'),
                ('approval', 'damaged', 'no JSON'),
                ('grant', 'g1', '{"caller":"ann","tool":"read","bound":{"for":"session","until_ms":60}}'),
                ('grant', 'g2', '{"caller":"bob","tool":"read","bound":{"for":"always"}}'),
                ('key', 'ci', '{"id":"abcdefgh"}'),
                ('key', 'damaged', 'no JSON'),
                ('key_use', 'abcdefgh', '12'),
                ('trust', '/home', '{}'),
                ('quota', 'read ann', '{"begun_at_ms":1000,"calls":3}'),
                ('quota', 'damaged', '{"begun_at_ms":"x"}');
            "#,
        );
        let found = |query: Query| {
            let cells = wait(store.cells(&query)).unwrap();
            cells.into_iter().map(|cell| cell.key).collect::<Vec<_>>()
        };
        let approvals = || Query::all(Kind::Approval);
        assert_eq!(found(Query { owner: Some("ann".into()), ..approvals() }), ["k1", "k2"]);
        assert_eq!(found(Query { topic: Some("c1".into()), ..approvals() }), ["k1", "k3"]);
        assert_eq!(found(Query { states: vec!["denied"], ..approvals() }), ["k3"]);
        for (by_ms, expected) in
            [(49, &[][..]), (50, &["k1"]), (70, &["k1", "k2"]), (90, &["k1", "k2", "k3"])]
        {
            assert_eq!(found(Query { ended_by_ms: Some(by_ms), ..approvals() }), expected, "{by_ms}");
        }
        let grants = || Query { topic: Some("read".into()), ..Query::all(Kind::Grant) };
        assert_eq!(found(Query { ends_after_ms: Some(60), ..grants() }), ["g2"]);
        assert_eq!(found(grants()), ["g1", "g2"]);
        assert_eq!(found(Query { topic: Some("abcdefgh".into()), ..Query::all(Kind::Key) }), ["ci"]);
        assert_eq!(found(Query::all(Kind::Key)), ["ci", "damaged"], "it still says that there are keys");
        assert_eq!(value(&store, Kind::KeyUse, "abcdefgh").as_deref(), Some("12"));
        assert_eq!(value(&store, Kind::Trust, "/home").as_deref(), Some("{}"));
        assert_eq!(wait(store.cell(Kind::Sealed, "oauth/a")).unwrap().unwrap().value, [1, 255]);
        let changes =
            [Kind::Approval, Kind::Key, Kind::Sealed].map(|kind| wait(store.changes(kind)).unwrap());
        assert_eq!(changes, [9, 4, 1]);
        assert!(!wait(store.acquire("lease", "you", 4_000, 6_000)).unwrap());
        let day = Period { now_ms: 2_000, lasts_ms: 24 * 60 * 60 * 1_000 };
        let taken = wait(store.take("read ann", 5, 4, day)).unwrap();
        assert_eq!((taken.begun_at_ms, taken.taken, taken.count), (1_000, 1, 4));
    }

    #[test]
    fn a_pin_that_was_cut_into_parts_is_one_again() {
        let whole = "0123456789abcdef".repeat(4);
        let parts: String = (0..12)
            .map(|nth| {
                format!(
                    "INSERT INTO records (kind, key, value) VALUES ('pin', 'a#{whole}#{nth}', '<{nth}>');"
                )
            })
            .collect();
        let (_dir, store) = old(
            3,
            &format!(
                r#"{parts}
                INSERT INTO records (kind, key, value) VALUES ('pin', 'a', '{{"parts":12,"whole":"{whole}"}}');
                INSERT INTO records (kind, key, value) VALUES ('pin', 'b', '{{"tools":{{}}}}');
                INSERT INTO records (kind, key, value) VALUES ('pin', 'c', 'no JSON');"#
            ),
        );
        let joined: String = (0..12).map(|nth| format!("<{nth}>")).collect();
        assert_eq!(value(&store, Kind::Pin, "a"), Some(joined));
        assert_eq!(value(&store, Kind::Pin, "b").as_deref(), Some(r#"{"tools":{}}"#));
        assert_eq!(value(&store, Kind::Pin, "c").as_deref(), Some("no JSON"));
        assert_eq!(wait(store.keys(Kind::Pin, "")).unwrap(), ["a", "b", "c"], "no part is left");
    }
}
