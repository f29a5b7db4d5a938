//! The tables, and how a database begins with them.

use rusqlite::{Connection, Error, TransactionBehavior};

/// The tables of a database that is begun now, as they were in version 6 already. AUTOINCREMENT: a version never comes again, even if its cell was removed.
/// What is long comes last in a row, since whoever reads a column reads past all before it. Triggers count the jobs that
/// are under way, so that a new one costs the same however many there are; such a job is never deleted.
pub(super) const TABLES: &str = "
    CREATE TABLE definitions (
        upstream      TEXT    NOT NULL,
        fingerprint   TEXT    NOT NULL,
        tools_json    TEXT    NOT NULL,
        fetched_at_ms INTEGER NOT NULL,
        PRIMARY KEY (upstream, fingerprint)
    ) STRICT;
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
    CREATE TABLE changes (
        kind  TEXT    NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE leases (
        key      TEXT    NOT NULL PRIMARY KEY,
        holder   TEXT    NOT NULL,
        until_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE counters (
        key         TEXT    NOT NULL PRIMARY KEY,
        begun_at_ms INTEGER NOT NULL,
        ends_at_ms  INTEGER NOT NULL,
        count       INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE jobs (
        number     INTEGER PRIMARY KEY AUTOINCREMENT,
        id         TEXT    NOT NULL UNIQUE,
        version    INTEGER NOT NULL DEFAULT 1,
        owner      TEXT    NOT NULL,
        place      TEXT    NOT NULL,
        tool       TEXT    NOT NULL,
        state      TEXT    NOT NULL,
        holder     TEXT,
        wish       TEXT,
        ends_at_ms INTEGER,
        bytes      INTEGER NOT NULL,
        about      BLOB    NOT NULL,
        call       BLOB    NOT NULL,
        result     BLOB
    ) STRICT;
    CREATE INDEX jobs_to_take ON jobs (place, number) WHERE holder IS NULL AND ends_at_ms IS NULL;
    CREATE INDEX jobs_by_owner ON jobs (owner, number);
    CREATE INDEX jobs_held ON jobs (holder) WHERE holder IS NOT NULL;
    CREATE TABLE job_events (
        job    TEXT    NOT NULL,
        number INTEGER NOT NULL,
        at_ms  INTEGER NOT NULL,
        body   BLOB    NOT NULL,
        PRIMARY KEY (job, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE jobs_under_way (
        owner TEXT    NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER job_came AFTER INSERT ON jobs WHEN new.ends_at_ms IS NULL BEGIN
        INSERT INTO jobs_under_way VALUES (new.owner, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    END;
    CREATE TRIGGER job_ended AFTER UPDATE OF ends_at_ms ON jobs
        WHEN old.ends_at_ms IS NULL AND new.ends_at_ms IS NOT NULL BEGIN
        UPDATE jobs_under_way SET count = count - 1 WHERE owner = old.owner;
        DELETE FROM jobs_under_way WHERE owner = old.owner AND count = 0;
    END;
    CREATE TRIGGER job_went AFTER DELETE ON jobs BEGIN
        DELETE FROM job_events WHERE job = old.id;
    END;
";

/// Tables that triggers keep: how many cells there are, so that one more costs the same however many that is.
const COUNTED: &str = "
    CREATE TABLE cells_of_kind (
        kind  TEXT    NOT NULL PRIMARY KEY,
        count INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE cells_of_owner (
        kind  TEXT    NOT NULL,
        owner TEXT    NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (kind, owner)
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER cell_came AFTER INSERT ON cells BEGIN
        INSERT INTO cells_of_kind VALUES (new.kind, 1) ON CONFLICT DO UPDATE SET count = count + 1;
        INSERT INTO cells_of_owner VALUES (new.kind, new.owner, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    END;
    CREATE TRIGGER cell_went AFTER DELETE ON cells BEGIN
        UPDATE cells_of_kind SET count = count - 1 WHERE kind = old.kind;
        UPDATE cells_of_owner SET count = count - 1 WHERE kind = old.kind AND owner = old.owner;
        DELETE FROM cells_of_owner WHERE kind = old.kind AND owner = old.owner AND count = 0;
    END;
";

/// What the tables of version 6 lack besides: the counts of the cells that are there, and when jobs are forgotten that were
/// over. One that an orderly end interrupted was written without that, and counted as under way for good.
const SINCE_6: &str = "
    INSERT INTO cells_of_kind SELECT kind, count(*) FROM cells GROUP BY kind;
    INSERT INTO cells_of_owner SELECT kind, owner, count(*) FROM cells GROUP BY kind, owner;
    UPDATE jobs SET holder = NULL, wish = NULL, ends_at_ms =
        coalesce(CAST(about AS TEXT) ->> 'ended_at_ms', CAST(about AS TEXT) ->> 'updated_at_ms', 0)
        + coalesce(CAST(about AS TEXT) ->> 'ttl_ms', 0)
        WHERE ends_at_ms IS NULL AND json_valid(CAST(about AS TEXT))
        AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted');
";

/// The version that this program uses.
pub(super) const VERSION: i64 = 7;

/// The earlier version that it makes one of its own of, when it first opens it.
pub(super) const BEFORE: i64 = 6;

/// The version of a database; 0 for one that was just created.
pub(super) fn version(connection: &Connection) -> Result<i64, Error> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the tables of a database that was just created, or brings those of the version before up to this one, all or
/// nothing. Another process may be doing the same at this moment: whoever gets the write lock second finds nothing left to do.
pub(super) fn begin(connection: &mut Connection) -> Result<(), Error> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let steps: &[&str] = match version(&transaction)? {
        0 => &[TABLES, COUNTED],
        BEFORE => &[COUNTED, SINCE_6],
        _ => return transaction.commit(),
    };
    steps.iter().try_for_each(|step| transaction.execute_batch(step))?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
