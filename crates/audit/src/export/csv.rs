//! Calls as a table (RFC 4180), in which nothing drives a terminal. Cells that a spreadsheet would take for a formula begin with an apostrophe:
//! names and arguments are other people's texts.

use serde_json::Value;

/// The columns, which are the members of a record.
const COLUMNS: &str = "seq opened_at_ms written_at_ms call_id caller caller_kind via tool upstream effect outcome code \
                       duration_us result_bytes redactions verdicts decisions approval arguments_sha256 arguments_bytes \
                       arguments definition_sha256 trace_id hash caller_roles caller_scopes meta_sha256 profile \
                       degraded hosts hosts_more event version kernel user layers attempts escaped launcher request_id \
                       claims job dry_run artifacts";

/// The first row, line break included.
pub fn csv_head() -> String {
    COLUMNS.replace(' ', ",") + "\r\n"
}

/// A record's row, line break included; `None` for a line that is neither a call nor an event.
pub fn csv_row(line: &str) -> Option<String> {
    let record: Value = serde_json::from_str(line).ok()?;
    record.get("call_id").or(record.get("event"))?;
    let cells: Vec<String> = COLUMNS.split(' ').map(|column| cell(&record[column])).collect();
    Some(cells.join(",") + "\r\n")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => quoted(&value.to_string()),
    }
}

fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '|', '%']);
    let escape = if is_formula { "'" } else { "" };
    let is_driving = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text = text.replace('"', "\"\"").replace(is_driving, "\u{fffd}");
    format!("\"{escape}{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_row_and_nothing_in_it_a_formula() {
        let line = r#"{"seq":1,"opened_at_ms":-7,"call_id":"=1+1","caller":"a,\"b\"\nc","tool":"@x","outcome":"refused",
            "verdicts":[["scope","pass"]],"arguments":"{\"a\":\"=2\"}"}"#;
        let row = csv_row(line).expect("a record");
        assert_eq!(
            row,
            "1,-7,,\"'=1+1\",\"a,\"\"b\"\"\nc\",,,\"'@x\",,,\"refused\",,,,,\"[[\"\"scope\"\",\"\"pass\"\"]]\",,,,,\
             \"{\"\"a\"\":\"\"=2\"\"}\",,,,,,,,,,,,,,,,,,,,,,,\r\n"
        );
        let row = csv_row(r#"{"call_id":"a\u001b[2Jb\u009bc\rd\te"}"#).expect("a record");
        assert_eq!(row, ",,,\"a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\te\"".to_owned() + &",".repeat(40) + "\r\n");
        let row = csv_row(r#"{"opened_at_ms":5,"event":"server_reached","upstream":"git","hosts":["=x"]}"#);
        let expected = ",5,,,,,,,\"git\"".to_owned()
            + &",".repeat(21)
            + "\"[\"\"=x\"\"]\",,\"server_reached\",,,,,,,,,,,,\r\n";
        assert_eq!(row, Some(expected));
        let row = csv_row(r#"{"call_id":"a","job":"j1","dry_run":"true","artifacts":["a1","a2"]}"#);
        let expected =
            ",,,\"a\"".to_owned() + &",".repeat(38) + "\"j1\",\"true\",\"[\"\"a1\"\",\"\"a2\"\"]\"\r\n";
        assert_eq!(row, Some(expected));
        for wrong in ["", "{\"seq\":", "{\"seq\":1,\"checkpoint\":{}}", "[]"] {
            assert_eq!(csv_row(wrong), None, "{wrong}");
        }
        assert_eq!(csv_head().split(',').count(), COLUMNS.split(' ').count());
    }
}
