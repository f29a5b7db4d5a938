//! The records of calls, the latest first: those of all for who may audit, and else the caller's own.

use gate::Caller;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::answer::{Answered, fresh};
use super::super::door::Door;
use super::super::problem::Problem;
use super::super::query::Query;
use super::auditors::{AUDIT_SCOPE, scope_denied};
use super::operations::perform;

/// Most records in one page.
const PAGE_MAX: u64 = 1_000;

/// Records in a page of which nobody says how long it is to be.
const PAGE: u64 = 100;

/// A page of records.
#[derive(Serialize)]
struct Page {
    /// As they are written.
    records: Vec<Box<RawValue>>,
    /// Where the next page begins; nothing on the last one.
    next_cursor: Option<String>,
}

/// Lists them.
pub(super) async fn list(door: &Door, caller: &Caller, query: Option<&str>) -> Answered {
    let known = ["limit", "cursor", "tool", "caller", "outcome", "since_ms", "events"];
    let query = Query::read(query, &known)?;
    let limit = query.number("limit", 1..=PAGE_MAX)?.unwrap_or(PAGE);
    let filter = filter(caller, &query)?;
    // One more than is shown tells whether there is a next page.
    let before = query.cursor()?;
    let input = json!({ "lines": limit + 1, "before": before, "filter": filter });
    let found = perform(door, "audit.tail", input, caller).await?;
    Ok(fresh(&page(&found["lines"], usize::try_from(limit).unwrap_or(usize::MAX))))
}

/// Which are meant, of those that the caller may see.
fn filter(caller: &Caller, query: &Query) -> Result<Value, Problem> {
    let sees_all = caller.scopes().contains(AUDIT_SCOPE);
    let (whose, events) = (query.text("caller"), query.flag("events")?);
    if !sees_all && (events || whose.is_some_and(|whose| whose != &**caller.id())) {
        return Err(scope_denied("seeing more than one's own records"));
    }
    let whose = if sees_all { whose } else { Some(&**caller.id()) };
    let since_ms = query.number("since_ms", 0..=i64::MAX as u64)?;
    Ok(json!({
        "caller": whose,
        "tool": query.text("tool"),
        "outcome": query.text("outcome"),
        "since_ms": since_ms,
        "events": events,
    }))
}

fn page(lines: &Value, limit: usize) -> Page {
    let lines: Vec<&str> = lines.as_array().into_iter().flatten().filter_map(Value::as_str).rev().collect();
    let shown = &lines[..lines.len().min(limit)];
    let next = shown.last().filter(|_| lines.len() > limit);
    let seq = |line: &&str| Some(serde_json::from_str::<Value>(line).ok()?["seq"].as_u64()?.to_string());
    let raw = |line: &&str| RawValue::from_string((*line).to_owned()).ok();
    Page { records: shown.iter().filter_map(raw).collect(), next_cursor: next.and_then(seq) }
}

#[cfg(test)]
mod tests {
    use gate::{Role, Via};

    use super::*;

    #[test]
    fn whoever_may_not_audit_sees_its_own_alone() {
        let owner = Caller::local_user(Via::Http);
        let agent = owner.clone().with_scopes(Role::Agent.scopes());
        for (query, is_owner, expected) in [
            ("", true, Some(Value::Null)),
            ("caller=ann", true, Some("ann".into())),
            ("events=true", true, Some(Value::Null)),
            ("", false, Some("local".into())),
            ("caller=local", false, Some("local".into())),
            ("caller=ann", false, None),
            ("events=true", false, None),
        ] {
            let read = Query::read(Some(query), &["caller", "events"]).expect("sound");
            let found = filter(if is_owner { &owner } else { &agent }, &read).ok();
            assert_eq!(found.map(|mut filter| filter["caller"].take()), expected, "{query} {is_owner}");
        }
    }

    #[test]
    fn a_page_is_the_latest_first_and_says_where_the_next_begins() {
        let lines = json!(["{\"seq\":3}", "{ \"seq\":4 }", "{\"seq\":5}"]);
        for (limit, expected) in [
            (3, r#"{"records":[{"seq":5},{ "seq":4 },{"seq":3}],"next_cursor":null}"#),
            (2, r#"{"records":[{"seq":5},{ "seq":4 }],"next_cursor":"4"}"#),
        ] {
            assert_eq!(serde_json::to_string(&page(&lines, limit)).expect("JSON"), expected);
        }
    }
}
