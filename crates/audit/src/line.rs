//! One line of the audit log: its canonical form, written and read. The form itself is described in the
//! crate's head.

use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::chain;
use crate::checkpoint::Checkpoint;
use crate::event::Event;
use crate::hash::Hash;
use crate::head::Head;
use crate::members::Members;
use crate::record::Record;

/// What a line holds between its place in the audit log and its hash.
pub(crate) trait Body {
    /// Appends the members, each behind a comma.
    fn write(&self, into: &mut Vec<u8>);
}

impl Body for Record {
    fn write(&self, into: &mut Vec<u8>) {
        self.write_members(&mut Members::of(into));
    }
}

impl Body for Event {
    fn write(&self, into: &mut Vec<u8>) {
        members(into, self);
    }
}

/// Adds the line that follows `head`, line break included, and returns the new head.
pub(crate) fn write(into: &mut Vec<u8>, head: Head, written_at_ms: i64, body: &impl Body) -> Head {
    chain::write(into, head, written_at_ms, |into, _| body.write(into))
}

/// Appends the members of a value that is an object, behind others. `#[serde(flatten)]` would do the same by way of a map.
fn members(into: &mut Vec<u8>, value: &impl Serialize) {
    let start = into.len();
    serde_json::to_writer(&mut *into, value)
        .expect("texts and numbers become JSON, and memory takes every byte");
    // Its braces: the object goes on.
    into[start] = b',';
    into.pop();
}

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A record as it was written.
    Whole(Links),
    /// It has the form of a record, but its bytes do not match its hash, or it has none.
    Changed,
    /// It ends early: a crash, or somebody's hand.
    Torn,
}

impl Line {
    /// What it says of its place, if it is whole.
    pub(crate) fn links(self) -> Option<Links> {
        match self {
            Line::Whole(links) => Some(links),
            Line::Changed | Line::Torn => None,
        }
    }
}

/// What a whole line says of its place in the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Links {
    /// The hash it names as its predecessor's.
    pub(crate) prev: Hash,
    /// The point on the chain it makes.
    pub(crate) head: Head,
    /// When it was written, in milliseconds since 1970.
    pub(crate) written_at_ms: i64,
    /// What it is, if it is no record of a call. Its signature is not checked yet.
    pub(crate) checkpoint: Option<Box<Checkpoint>>,
}

/// Reads one line without its line break. Zeros behind it are what a power cut leaves of what was not
/// written yet.
pub(crate) fn read(line: &[u8]) -> Line {
    #[derive(Deserialize)]
    struct Body {
        seq: u64,
        prev: Hash,
        written_at_ms: i64,
        #[serde(default)]
        checkpoint: Option<Box<Checkpoint>>,
    }
    let line = chain::without_zeros(line);
    let Some((body, hash)) = chain::split(line) else {
        // What a crash cut short lacks its end; a whole object without our hash came from somebody's hand.
        let line = line.trim_ascii_end();
        let is_whole = line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        return if is_whole { Line::Changed } else { Line::Torn };
    };
    if Hash::of(body) != hash {
        return Line::Changed;
    }
    match serde_json::from_slice(line) {
        Ok(Body { seq, prev, written_at_ms, checkpoint }) => {
            Line::Whole(Links { prev, head: Head { seq, hash }, written_at_ms, checkpoint })
        }
        Err(_) => Line::Changed,
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, sync::Arc};

    use super::*;
    use crate::record::{Approved, Decided, Outcome, Reached, tests::sample};

    fn written(record: &Record) -> String {
        let mut line = Vec::new();
        write(&mut line, Head::START, 1_700_000_000_020, record);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn the_canonical_form() {
        let body = format!(
            r#"{{"seq":1,"prev":"{}","written_at_ms":1700000000020,"call_id":"c1","opened_at_ms":1700000000000,"caller":"local","caller_kind":"local_user","via":"stdio","tool":"workspace_read","effect":"reads","arguments_sha256":"{}","arguments_bytes":2,"verdicts":[["scope","pass"],["policy","pass"]],"outcome":"result","duration_us":12,"result_bytes":34"#,
            "0".repeat(64),
            Hash::of(b"{}"),
        );
        let hash = Hash::of(body.as_bytes());
        assert_eq!(written(&sample("c1")), format!("{body},\"hash\":\"{hash}\"}}\n"));
    }

    #[test]
    fn every_member_has_its_place() {
        let mut record = sample("c1");
        let hash = Hash::of(b"x");
        record.opening.upstream = Some("up".into());
        record.opening.arguments = Some(r#"{"a":"é\n"}"#.into());
        record.opening.definition_sha256 = Some(hash);
        record.opening.trace_id = Some("0af7".into());
        record.opening.caller_roles = Some("agent".into());
        record.opening.caller_scopes = Some("git:call".into());
        record.verdicts = Cow::Borrowed(&[("policy", "refuse")]);
        let decided = Decided { by: "policy", rule: "no\"1".into(), effect: "deny".into() };
        record.decisions = vec![decided.clone(), Decided { by: "ai_rules", ..decided }];
        record.approval =
            Some(Approved { id: "a1".into(), by: "ann".into(), through: "terminal", answer: "denied" });
        record.profile = Some("write");
        record.launcher = Some("bwrap");
        record.degraded = vec!["landlock", "memory"];
        record.limits = vec!["processes"];
        let reached = Reached {
            host: "a.test:443".into(),
            blocked: None,
            approval: None,
            connections: 2,
            sent_bytes: 7,
            received_bytes: 8,
        };
        let denied = Approved { id: "a2".into(), by: "ann".into(), through: "terminal", answer: "denied" };
        let blocked = Reached { blocked: Some("no rule".into()), approval: Some(denied), ..reached.clone() };
        (record.hosts, record.hosts_more) = (vec![reached, blocked], 4);
        (record.protected_changed, record.protected_more) = (vec!["a/.envrc".into()], 5);
        record.redactions = 3;
        record.outcome = Outcome::ToolError;
        record.code = Some("timeout".into());
        let line = written(&record);
        let members = [
            r#","caller_kind":"local_user","caller_roles":"agent","caller_scopes":"git:call","via":"stdio""#,
            r#","upstream":"up","effect":"reads","arguments_sha256":""#,
            r#"","arguments_bytes":2,"arguments":"{\"a\":\"é\\n\"}","definition_sha256":""#,
            &format!(
                r#""{hash}","trace_id":"0af7","verdicts":[["policy","refuse"]],"decisions":[{{"by":"policy","#
            )[1..],
            r#","rule":"no\"1","effect":"deny"},{"by":"ai_rules","rule":"no\"1","effect":"deny"}],"approval":{"id":"a1","#,
            r#","by":"ann","through":"terminal","answer":"denied"},"profile":"write","launcher":"bwrap"#,
            r#"","degraded":["landlock","memory"],"limits":["processes"],"hosts":[{"host":"a.test:443","connections":2,"sent_bytes":7,"#,
            r#""received_bytes":8},{"host":"a.test:443","blocked":"no rule","#,
            r#""approval":{"id":"a2","by":"ann","through":"terminal","answer":"denied"},"connections":2,"#,
            r#"}],"hosts_more":4,"protected_changed":["a/.envrc"],"protected_more":5,"redactions":3,"outcome":"tool_error","#,
            r#","code":"timeout","duration_us":12,"result_bytes":34,"hash":""#,
        ];
        let mut at = 0;
        for members in members {
            let found = line[at..].find(members);
            at += found.unwrap_or_else(|| panic!("{members} is not behind byte {at} of {line}"));
        }
        record.verdicts = Cow::Borrowed(&[]);
        assert!(written(&record).contains(r#","verdicts":[],"#));
    }

    #[test]
    fn hostile_texts_stay_on_their_line() {
        let mut record = sample("c1");
        let tool = "a\n{\"seq\":1}\r\0\u{1b}[31m\u{7}\",\"hash\":\"";
        record.opening.tool = Arc::from(tool);
        record.opening.upstream = Some(Arc::from("up\\stream"));
        record.outcome = Outcome::Refused;
        record.code = Some(Cow::Borrowed("policy.deny"));
        let line = written(&record);
        assert_eq!(line.bytes().filter(|byte| byte.is_ascii_control()).count(), 1, "{line}");
        let line = line.trim_end();
        assert!(matches!(
            read(line.as_bytes()),
            Line::Whole(Links { head: Head { seq: 1, .. }, prev: Hash::ZERO, .. })
        ));
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["tool"], tool);
        assert_eq!((&value["outcome"], &value["code"]), (&"refused".into(), &"policy.deny".into()));
    }

    #[test]
    fn the_longest_line_can_be_read_back() {
        let longest: Arc<str> = Arc::from("\0".repeat(1_000_000));
        let mut record = sample(&longest);
        record.opening.caller = Arc::clone(&longest);
        record.opening.tool = Arc::clone(&longest);
        record.opening.upstream = Some(Arc::clone(&longest));
        record.opening.via = Cow::Owned(longest.to_string());
        record.opening.effect = Some(Cow::Owned(longest.to_string()));
        record.code = Some(Cow::Owned(longest.to_string()));
        record.opening.trace_id = Some(Arc::clone(&longest));
        record.opening.caller_kind = Cow::Owned(longest.to_string());
        record.opening.caller_roles = Some(Cow::Owned(longest.to_string()));
        record.opening.caller_scopes = Some(longest[..crate::TEXT_BYTES_MAX].into());
        let effect = Cow::Owned(longest.to_string());
        record.decisions = vec![Decided { by: "policy", rule: Arc::clone(&longest), effect }; 100];
        let (id, by) = (Arc::clone(&longest), Arc::clone(&longest));
        record.approval = Some(Approved { id, by, through: "terminal", answer: "approved" });
        record.cut();
        record.opening.arguments = Some(Arc::from("\"".repeat(crate::ARGUMENTS_BYTES_MAX)));
        let line = written(&record);
        assert!(line.len() < chain::LINE_BYTES_MAX, "{}", line.len());
        assert!(matches!(read(line.trim_end().as_bytes()), Line::Whole(_)));
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_seen() {
        let line = written(&sample("c1")).trim_end().as_bytes().to_vec();
        for at in 0..line.len() {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(!matches!(read(&changed), Line::Whole(_)), "byte {at}");
            assert_eq!(read(&line[..at]), Line::Torn, "cut at {at}");
        }
    }

    #[test]
    fn a_whole_object_without_our_hash_is_no_torn_line() {
        let line = written(&sample("c1"));
        let body = &line[..line.rfind(",\"hash\"").unwrap()];
        for forged in
            ["{}", &format!("{body}}}"), &format!("{body},\"hash\":\"0123\"}}"), "{\"tool\":\"x\"} "]
        {
            assert_eq!(read(forged.as_bytes()), Line::Changed, "{forged}");
        }
        assert_eq!(read(format!("{body},\"a\":{{}}").as_bytes()), Line::Torn, "a crash may end it there");
    }

    #[test]
    fn zeros_that_a_power_cut_left_do_not_cost_the_record_before_them() {
        let line = written(&sample("c1"));
        let zeros = [line.trim_end().as_bytes(), &[0; 100]].concat();
        assert!(matches!(read(&zeros), Line::Whole(_)));
        assert_eq!(read(&[0; 100]), Line::Torn);
    }

    #[test]
    fn what_a_line_begins_with_is_read_without_the_rest() {
        let line = written(&sample("c1"));
        let told = |line: &str| (chain::seq_of(line.as_bytes()), chain::written_at_of(line.as_bytes()));
        assert_eq!(told(&line), (Some(1), Some(1_700_000_000_020)));
        assert_eq!(told(&line[..113]), (Some(1), Some(1_700_000_000_020)));
        for wrong in [&line[..112], "", "{}", "{\"seq\":,", &line.replace("\"prev\"", "\"next\"")] {
            assert_eq!(told(wrong).1, None, "{wrong}");
        }
    }

    #[test]
    fn a_head_is_written_and_read() {
        let head = Head { seq: 7, hash: Hash::of(b"x") };
        assert_eq!(Head::parse(&head.to_string()), Some(head));
        for wrong in ["", "7", "7 abc", &format!("-1 {}", head.hash), &format!("7  {}", head.hash)] {
            assert_eq!(Head::parse(wrong), None, "{wrong}");
        }
    }
}
