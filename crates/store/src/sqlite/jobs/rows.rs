//! The statements about jobs, each on one connection, within whatever transaction it is in.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::error::StoreError;
use crate::job_store::{
    Body, EVENT_PAGE_MAX, EXPIRE_MAX, Enqueued, EventRow, Hold, Holder, JOB_PAGE_MAX, JobChange, JobQuery,
    JobRow, Kept, NewJob, Room,
};

const COLUMNS: &str = "id, number, version, owner, place, tool, state, holder, wish, ends_at_ms, about";

pub(super) fn enqueue(
    connection: &Connection,
    ours: &str,
    job: &NewJob,
    room: Room,
) -> Result<Enqueued, StoreError> {
    let sql = "SELECT coalesce(sum(count), 0), coalesce(sum(count) FILTER (WHERE owner = ?1), 0) FROM jobs_under_way";
    let counts =
        connection.prepare_cached(sql)?.query_row([&job.owner], |row| Ok((row.get(0)?, row.get(1)?)));
    let (in_all, of_owner): (i64, i64) = counts?;
    if of_owner >= room.of_owner as i64 {
        return Ok(Enqueued::OwnerFull);
    }
    if in_all >= room.in_all as i64 {
        return Ok(Enqueued::Full);
    }
    let holder = job.is_held.then_some(ours);
    connection
        .prepare_cached(
            "INSERT INTO jobs (id, owner, place, tool, state, holder, about, call, bytes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            job.id,
            job.owner,
            job.place,
            job.tool,
            job.state,
            holder,
            job.about,
            job.call,
            job.call.len() as i64
        ])?;
    let number = connection.last_insert_rowid().cast_unsigned();
    append(connection, &job.id, &job.events)?;
    Ok(Enqueued::Kept(number))
}

pub(super) fn change(
    connection: &Connection,
    ours: &str,
    change: &JobChange,
) -> Result<Option<u64>, StoreError> {
    let is_over = change.ends_at_ms.is_some();
    let (sets_holder, holder) = match change.hold {
        Hold::AsItIs => (is_over, None),
        Hold::Take => (true, Some(ours).filter(|_| !is_over)),
        Hold::Release => (true, None),
    };
    let more = change.call.as_ref().map_or(0, Vec::len) + change.result.as_ref().map_or(0, Vec::len);
    let changed = connection
        .prepare_cached(
            "UPDATE jobs SET version = version + 1, state = ?3, about = ?4, call = coalesce(?5, call), \
             result = coalesce(?6, result), ends_at_ms = ?7, holder = CASE WHEN ?8 THEN ?9 ELSE holder END, \
             wish = CASE WHEN ?7 IS NULL THEN wish ELSE NULL END, bytes = bytes + ?10 \
             WHERE id = ?1 AND version = ?2",
        )?
        .execute(params![
            change.id,
            change.expected.cast_signed(),
            change.state,
            change.about,
            change.call,
            change.result,
            change.ends_at_ms,
            sets_holder,
            holder,
            more as i64
        ])?;
    if changed == 0 {
        return Ok(None);
    }
    append(connection, &change.id, &change.events)?;
    Ok(Some(change.expected + 1))
}

/// Adds events to a job, whoever holds it. One that is there already stays.
pub(super) fn append(connection: &Connection, id: &str, events: &[EventRow]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let sql = "INSERT OR IGNORE INTO job_events (job, number, at_ms, body) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = connection.prepare_cached(sql)?;
    for EventRow { number, at_ms, body } in events {
        statement.execute(params![id, number.cast_signed(), at_ms, body])?;
    }
    let bytes: usize = events.iter().map(|event| event.body.len()).sum();
    let sql = "UPDATE jobs SET bytes = bytes + ?2 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![id, bytes as i64])?;
    Ok(())
}

pub(super) fn append_held(
    connection: &Connection,
    ours: &str,
    id: &str,
    events: &[EventRow],
    about: Option<&[u8]>,
) -> Result<(), StoreError> {
    let sql = "UPDATE jobs SET about = coalesce(?3, about) WHERE id = ?1 AND holder = ?2";
    if connection.prepare_cached(sql)?.execute(params![id, ours, about])? == 1 {
        append(connection, id, events)?;
    }
    Ok(())
}

pub(super) fn wish(connection: &Connection, id: &str, wish: Option<&str>) -> Result<bool, StoreError> {
    let sql = "UPDATE jobs SET wish = ?2 WHERE id = ?1 AND ends_at_ms IS NULL";
    Ok(connection.prepare_cached(sql)?.execute(params![id, wish])? == 1)
}

pub(super) fn wishes(connection: &Connection, ours: &str) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT id, wish FROM jobs WHERE wish IS NOT NULL AND holder = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let wishes = statement.query_map([ours], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(wishes.collect::<Result<_, _>>()?)
}

pub(super) fn job(connection: &Connection, ours: &str, id: &str) -> Result<Option<JobRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], |row| stored(row, ours)).optional()?)
}

pub(super) fn jobs(connection: &Connection, ours: &str, query: &JobQuery) -> Result<Vec<JobRow>, StoreError> {
    let mut sql = format!("SELECT {COLUMNS} FROM jobs WHERE TRUE");
    let mut values: Vec<Value> = Vec::new();
    let named = [("owner", &query.owner), ("place", &query.place), ("tool", &query.tool)];
    for (column, value) in named {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {column} = ?"));
            values.push(value.clone().into());
        }
    }
    if !query.states.is_empty() {
        sql.push_str(&format!(" AND state IN (?{})", ", ?".repeat(query.states.len() - 1)));
        values.extend(query.states.iter().map(|state| Value::from(state.clone())));
    }
    if query.unheld {
        sql.push_str(" AND holder IS NULL AND ends_at_ms IS NULL");
    }
    if let Some(before) = query.before {
        sql.push_str(" AND number < ?");
        values.push(before.cast_signed().into());
    }
    sql.push_str(" ORDER BY number DESC LIMIT ?");
    values.push((query.limit.min(JOB_PAGE_MAX) as i64).into());
    let mut statement = connection.prepare_cached(&sql)?;
    let jobs = statement.query_map(params_from_iter(values), |row| stored(row, ours))?;
    Ok(jobs.collect::<Result<_, _>>()?)
}

pub(super) fn tally(connection: &Connection) -> Result<Vec<(String, u64)>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT state, count(*) FROM jobs GROUP BY state")?;
    let counts = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
    Ok(counts.collect::<Result<_, _>>()?)
}

pub(super) fn body(connection: &Connection, id: &str, body: Body) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = match body {
        Body::Call => "SELECT call FROM jobs WHERE id = ?1",
        Body::Result => "SELECT result FROM jobs WHERE id = ?1",
    };
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?.flatten())
}

pub(super) fn events(
    connection: &Connection,
    id: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<EventRow>, StoreError> {
    let sql =
        "SELECT number, at_ms, body FROM job_events WHERE job = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let limit = limit.min(EVENT_PAGE_MAX) as i64;
    let events = statement.query_map(params![id, after.cast_signed(), limit], |row| {
        Ok(EventRow { number: row.get::<_, i64>(0)?.cast_unsigned(), at_ms: row.get(1)?, body: row.get(2)? })
    })?;
    Ok(events.collect::<Result<_, _>>()?)
}

/// Lets go of what holders hold that have ended.
pub(super) fn release_ended(
    connection: &Connection,
    has_ended: impl Fn(&str) -> bool,
) -> Result<u64, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT DISTINCT holder FROM jobs WHERE holder IS NOT NULL")?;
    let holders: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut released = 0;
    for holder in holders.iter().filter(|holder| has_ended(holder)) {
        let sql = "UPDATE jobs SET holder = NULL WHERE holder = ?1";
        released += connection.prepare_cached(sql)?.execute([holder])? as u64;
    }
    Ok(released)
}

pub(super) fn lease(
    connection: &Connection,
    ours: &str,
    place: &str,
    states: &[String],
    limit: usize,
) -> Result<Vec<JobRow>, StoreError> {
    let among = "?, ".repeat(states.len().saturating_sub(1));
    let sql = format!(
        "UPDATE jobs SET holder = ? WHERE number IN (SELECT number FROM jobs WHERE place = ? AND holder IS NULL \
         AND ends_at_ms IS NULL AND state IN ({among}?) ORDER BY number LIMIT ?) RETURNING {COLUMNS}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut values: Vec<Value> = vec![ours.to_owned().into(), place.to_owned().into()];
    values.extend(states.iter().map(|state| Value::from(state.clone())));
    values.push((limit.min(JOB_PAGE_MAX) as i64).into());
    let rows = statement.query_map(params_from_iter(values), |row| stored(row, ours))?;
    let mut rows: Vec<JobRow> = rows.collect::<Result<_, _>>()?;
    // RETURNING keeps no order.
    rows.sort_by_key(|row| row.number);
    Ok(rows)
}

pub(super) fn expire(connection: &Connection, by_ms: i64, kept: Kept) -> Result<u64, StoreError> {
    // The newest of each owner stay, as many as fit.
    let sql = "DELETE FROM jobs WHERE number IN (SELECT number FROM (SELECT number, ends_at_ms, row_number() OVER \
               newest AS nth, sum(bytes) OVER newest AS total FROM jobs WHERE ends_at_ms IS NOT NULL \
               WINDOW newest AS (PARTITION BY owner ORDER BY number DESC)) \
               WHERE ends_at_ms <= ?1 OR nth > ?2 OR total > ?3 LIMIT ?4)";
    let values = params![by_ms, kept.jobs as i64, kept.bytes.cast_signed(), EXPIRE_MAX as i64];
    Ok(connection.prepare_cached(sql)?.execute(values)? as u64)
}

pub(super) fn forget(connection: &Connection, id: &str) -> Result<bool, StoreError> {
    let sql = "DELETE FROM jobs WHERE id = ?1 AND ends_at_ms IS NOT NULL";
    Ok(connection.prepare_cached(sql)?.execute([id])? == 1)
}

fn stored(row: &Row<'_>, ours: &str) -> rusqlite::Result<JobRow> {
    let holder: Option<String> = row.get(7)?;
    Ok(JobRow {
        id: row.get(0)?,
        number: row.get::<_, i64>(1)?.cast_unsigned(),
        version: row.get::<_, i64>(2)?.cast_unsigned(),
        owner: row.get(3)?,
        place: row.get(4)?,
        tool: row.get(5)?,
        state: row.get(6)?,
        holder: holder.map(|holder| if holder == ours { Holder::Ours } else { Holder::Other }),
        wish: row.get(8)?,
        ends_at_ms: row.get(9)?,
        about: row.get(10)?,
    })
}
