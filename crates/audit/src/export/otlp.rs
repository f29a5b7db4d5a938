//! Lines of the audit log as OpenTelemetry logs: the JSON form of an `ExportLogsServiceRequest` (OTLP 1, over HTTP).

use serde_json::{Value, json};

/// Lines in one request. Collectors take a few megabytes at once.
pub const LOGS_MAX: usize = 512;

/// Bytes of lines in one request.
pub const LOGS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Members that the log record has in places of its own.
const OWN_PLACES: [&str; 3] = ["opened_at_ms", "written_at_ms", "trace_id"];

/// A request for these lines; what is no line of the audit log is left out.
pub fn otlp_logs<'l>(lines: impl IntoIterator<Item = &'l str>) -> Value {
    let logs: Vec<Value> = lines.into_iter().filter_map(log).collect();
    json!({
        "resourceLogs": [{
            "resource": { "attributes": [attribute("service.name", &Value::from("toolcrib"))] },
            "scopeLogs": [{ "scope": { "name": "toolcrib.audit" }, "logRecords": logs }],
        }],
    })
}

fn log(line: &str) -> Option<Value> {
    let record: Value = serde_json::from_str(line).ok()?;
    let members = record.as_object()?;
    let written = record["written_at_ms"].as_i64()?;
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let (event, body, severity) = match members.get("checkpoint") {
        Some(checkpoint) => {
            let why = checkpoint["why"].as_str().unwrap_or_default();
            ("toolcrib.audit.checkpoint", format!("checkpoint: {why}"), INFO)
        }
        None if members.contains_key("event") => {
            let body = format!("{} {}", text("event"), text("upstream")).trim_end().to_owned();
            let has_escaped = record["escaped"].as_array().is_some_and(|escaped| !escaped.is_empty());
            ("toolcrib.audit.event", body, if has_escaped { ERROR } else { INFO })
        }
        None => {
            let body = format!("{} {} {}", text("caller"), text("tool"), text("outcome"));
            ("toolcrib.audit.call", body, severity(text("outcome")))
        }
    };
    let attributes: Vec<Value> = members
        .iter()
        .filter(|(name, _)| !OWN_PLACES.contains(&name.as_str()))
        .map(|(name, value)| attribute(&format!("toolcrib.{name}"), value))
        .collect();
    let mut log = json!({
        "timeUnixNano": nanoseconds(record["opened_at_ms"].as_i64().unwrap_or(written)),
        "observedTimeUnixNano": nanoseconds(written),
        "severityNumber": severity.0,
        "severityText": severity.1,
        "eventName": event,
        "body": { "stringValue": body },
        "attributes": attributes,
    });
    // Hexadecimal in the JSON form, unlike other bytes.
    if let Some(trace_id) = record["trace_id"].as_str().filter(|id| id.len() == 32) {
        log["traceId"] = Value::from(trace_id);
    }
    Some(log)
}

/// 64-bit numbers are texts in the JSON form.
fn nanoseconds(ms: i64) -> String {
    (u128::try_from(ms).unwrap_or(0) * 1_000_000).min(u128::from(u64::MAX)).to_string()
}

const INFO: (u8, &str) = (9, "INFO");
const WARN: (u8, &str) = (13, "WARN");
const ERROR: (u8, &str) = (17, "ERROR");

fn severity(outcome: &str) -> (u8, &'static str) {
    match outcome {
        "result" => INFO,
        // The second is the older word.
        "internal" | "unknown_after_crash" | "crashed" => ERROR,
        _ => WARN,
    }
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::String(text) => json!({ "stringValue": text }),
        Value::Number(number) if number.is_i64() => json!({ "intValue": number.to_string() }),
        other => json!({ "stringValue": other.to_string() }),
    };
    json!({ "key": key, "value": value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        head::Head,
        line,
        record::{Outcome, tests::sample},
    };

    #[test]
    fn a_record_is_a_log_and_what_is_none_is_left_out() {
        let mut record = sample("c1");
        record.outcome = Outcome::Refused;
        record.opening.trace_id = Some("0af7651916cd43dd8448eb211c80319c".into());
        let mut bytes = Vec::new();
        line::write(&mut bytes, Head::START, 1_700_000_000_020, &record);
        let line = String::from_utf8(bytes).unwrap();
        let request = otlp_logs([&*line, "torn", "{}"]);
        let logs = request["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
        let [log] = &logs[..] else { panic!("{logs:?}") };
        assert_eq!(log["timeUnixNano"], "1700000000000000000");
        assert_eq!(log["observedTimeUnixNano"], "1700000000020000000");
        assert_eq!((&log["severityText"], &log["severityNumber"]), (&json!("WARN"), &json!(13)));
        assert_eq!(log["body"]["stringValue"], "local workspace_read refused");
        assert_eq!(log["traceId"], "0af7651916cd43dd8448eb211c80319c");
        let attributes = log["attributes"].as_array().unwrap();
        let has = |key, value| attributes.contains(&json!({ "key": key, "value": value }));
        assert!(has("toolcrib.seq", json!({ "intValue": "1" })), "{log:#}");
        assert!(has("toolcrib.caller", json!({ "stringValue": "local" })), "{log:#}");
        let verdicts = json!({ "stringValue": r#"[["scope","pass"],["policy","pass"]]"# });
        assert!(has("toolcrib.verdicts", verdicts), "{log:#}");
    }
    #[test]
    fn an_event_is_a_log_and_an_escape_an_error() {
        for (line, body, severity) in [
            (
                r#"{"seq":1,"written_at_ms":5,"event":"server_reached","upstream":"git"}"#,
                "server_reached git",
                "INFO",
            ),
            (
                r#"{"seq":1,"written_at_ms":5,"event":"sandbox_self_test","escaped":[]}"#,
                "sandbox_self_test",
                "INFO",
            ),
            (
                r#"{"seq":1,"written_at_ms":5,"event":"sandbox_self_test","escaped":["trace"]}"#,
                "sandbox_self_test",
                "ERROR",
            ),
        ] {
            let request = otlp_logs([line]);
            let log = &request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
            assert_eq!((&log["body"]["stringValue"], &log["severityText"]), (&json!(body), &json!(severity)));
            assert_eq!(log["eventName"], "toolcrib.audit.event");
        }
    }
}
