//! `Event`: what the audit log notes beside calls. Nobody asked for it, so it has no caller, no verdict and no outcome.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use crate::record::{Reached, TEXT_BYTES_MAX, cut_text, cut_word};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When it happened or began, in milliseconds since 1970.
    pub opened_at_ms: i64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// A server's program reached a host, or was refused it, so often within an hour.
    ServerReached {
        /// The server.
        upstream: Arc<str>,
        /// The host. A list of one, so that it stands where records of calls have theirs.
        hosts: [Reached; 1],
    },
    /// The sandbox was tried by attempts to escape.
    SandboxSelfTest(SelfTest),
}

/// What was tried of the sandbox, and what came of it. All words are ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelfTest {
    /// The program's version.
    pub version: Cow<'static, str>,
    /// The kernel's.
    pub kernel: Arc<str>,
    /// Who Toolcrib ran as.
    pub user: u32,
    /// The layers, by how they stand.
    pub layers: Layers,
    /// How many attempts were made.
    pub attempts: usize,
    /// Those that succeeded.
    pub escaped: Vec<&'static str>,
}

/// The layers of the sandbox, by how they stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Layers {
    /// They are there.
    pub ok: Vec<&'static str>,
    /// They are there in a weaker form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<&'static str>,
    /// They are not, and an operator does without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<&'static str>,
}

impl Event {
    /// Shortens what is longer than the audit log keeps.
    pub(crate) fn cut(&mut self) {
        match &mut self.what {
            What::ServerReached { upstream, hosts: [reached] } => {
                cut_text(upstream, TEXT_BYTES_MAX);
                reached.cut();
            }
            What::SandboxSelfTest(test) => {
                cut_text(&mut test.kernel, TEXT_BYTES_MAX);
                cut_word(&mut test.version, TEXT_BYTES_MAX);
            }
        }
    }

    /// The texts that are not ours, in which a secret may be.
    pub(crate) fn foreign(&mut self) -> Option<&mut Arc<str>> {
        match &mut self.what {
            What::ServerReached { hosts: [reached], .. } => Some(&mut reached.host),
            What::SandboxSelfTest(_) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::line::{self, Line};
    use crate::{head::Head, record::tests::sample};

    /// A server has asked for a host three times.
    pub(crate) fn reached(host: &str) -> Event {
        let reached = Reached {
            host: host.into(),
            blocked: None,
            approval: None,
            connections: 3,
            sent_bytes: 7,
            received_bytes: 8,
        };
        Event {
            opened_at_ms: 1_700_000_000_000,
            what: What::ServerReached { upstream: "git".into(), hosts: [reached] },
        }
    }

    fn self_test() -> Event {
        let layers = Layers { ok: vec!["root", "proc"], degraded: Vec::new(), waived: vec!["landlock"] };
        let test = SelfTest {
            version: "1.2.3".into(),
            kernel: "6.18".into(),
            user: 1000,
            layers,
            attempts: 64,
            escaped: vec!["connect_tcp"],
        };
        Event { opened_at_ms: 5, what: What::SandboxSelfTest(test) }
    }

    #[track_caller]
    fn check(event: &Event, expected: &str) {
        let mut line = Vec::new();
        line::write(&mut line, Head::START, 9, event);
        let text = String::from_utf8(line).unwrap();
        let (_, members) = text.split_once(r#""written_at_ms":9,"#).unwrap();
        let (members, _) = members.split_once(r#","hash":"#).unwrap();
        assert_eq!(members, expected);
        assert!(matches!(line::read(text.trim_end().as_bytes()), Line::Whole(_)));
    }

    #[test]
    fn an_event_is_a_line_like_a_call() {
        check(
            &reached("a.test:443"),
            r#""opened_at_ms":1700000000000,"event":"server_reached","upstream":"git","hosts":[{"host":"a.test:443","connections":3,"sent_bytes":7,"received_bytes":8}]"#,
        );
        check(
            &self_test(),
            r#""opened_at_ms":5,"event":"sandbox_self_test","version":"1.2.3","kernel":"6.18","user":1000,"layers":{"ok":["root","proc"],"waived":["landlock"]},"attempts":64,"escaped":["connect_tcp"]"#,
        );
    }

    #[test]
    fn it_stands_among_calls_on_one_chain() {
        let mut lines = Vec::new();
        let head = line::write(&mut lines, Head::START, 1, &sample("c1"));
        let head = line::write(&mut lines, head, 2, &reached("a.test:443"));
        assert_eq!(line::write(&mut lines, head, 3, &sample("c2")).seq, 3);
    }

    #[test]
    fn long_texts_are_cut() {
        let mut event = reached(&"h".repeat(300));
        event.cut();
        let What::ServerReached { hosts: [reached], .. } = &event.what else { panic!("{event:?}") };
        assert_eq!(&*reached.host, "h".repeat(TEXT_BYTES_MAX));
    }
}
