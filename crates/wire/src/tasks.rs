//! Tasks that a server of ours keeps: the core tasks of 2025-11-25, and those of the extension of 2026-07-28. The first
//! stand in an object of their own and are asked for; the second lie flat and are the server's choice.

use crate::object::{self, Object};
use crate::object_writer::ObjectWriter;
use crate::paging;
use crate::relayed::invalid;
use crate::revision::Revision;
use crate::string::literal;
use crate::text::Text;
use crate::{WireError, patch};

/// Names the task that a message of 2025-11-25 belongs to, in its `_meta`.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It waits for its start, or runs.
    Working,
    /// It waits for answers of its client.
    InputRequired,
    /// It has a result, if only one that says that the tool failed.
    Completed,
    /// It ended in an error of the protocol.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

impl Status {
    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::InputRequired => "input_required",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// A task as its client is told of it.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What the client knows it by.
    pub id: &'a str,
    /// What it is doing.
    pub status: Status,
    /// The same in a sentence.
    pub message: Option<&'a str>,
    /// When it began, after RFC 3339.
    pub created_at: &'a str,
    /// When it changed last.
    pub updated_at: &'a str,
    /// How long it is kept from its beginning, in milliseconds.
    pub ttl_ms: u64,
    /// How long to wait between two looks.
    pub poll_ms: u64,
}

/// What a look at a task of the extension finds beside how it is doing, as JSON text.
#[derive(Debug, Clone, Copy)]
pub enum Detail<'a> {
    /// Nothing.
    None,
    /// An `inputRequests` object.
    Asks(&'a str),
    /// The result of the call.
    Result(&'a str),
    /// A JSON-RPC error object.
    Error(&'a str),
}

impl Task<'_> {
    /// The answer to a call that has become a task.
    pub fn created(&self, revision: Revision) -> String {
        let mut out = Vec::with_capacity(256);
        if revision.is_modern() {
            let task = ObjectWriter::begin(&mut out).string("resultType", "task");
            self.members(task, revision).end();
        } else {
            let mut result = ObjectWriter::begin(&mut out);
            self.members(ObjectWriter::begin(result.member("task")), revision).end();
            result.end();
        }
        text(out)
    }

    /// The task as a look at it finds it. Of 2025-11-25 the detail is asked for by a request of its own.
    pub fn seen(&self, revision: Revision, detail: Detail<'_>) -> String {
        let mut out = Vec::with_capacity(256);
        let mut task = self.members(ObjectWriter::begin(&mut out), revision);
        if revision.is_modern() {
            task = match detail {
                Detail::None => task,
                Detail::Asks(requests) => task.json("inputRequests", requests),
                Detail::Result(result) => task.json("result", result),
                Detail::Error(error) => task.json("error", error),
            };
        }
        task.end();
        text(out)
    }

    fn members<'o>(&self, task: ObjectWriter<'o>, revision: Revision) -> ObjectWriter<'o> {
        let (ttl, poll) = match revision.is_modern() {
            true => ("ttlMs", "pollIntervalMs"),
            false => ("ttl", "pollInterval"),
        };
        task.string("taskId", self.id)
            .string("status", self.status.name())
            .string("statusMessage", self.message)
            .string("createdAt", self.created_at)
            .string("lastUpdatedAt", self.updated_at)
            .json(ttl, &*self.ttl_ms.to_string())
            .json(poll, &*self.poll_ms.to_string())
    }
}

/// A page of `tasks/list`: each task as [`Task::seen`] gives it.
pub fn write_list(tasks: &[String], next_cursor: Option<&str>) -> Vec<u8> {
    paging::write_list_result("tasks", tasks.iter(), next_cursor, None)
}

/// How long a client of 2025-11-25 wants to have its task kept, in milliseconds, if it says so; from the `task` of its call.
///
/// # Errors
/// `InvalidParams` if it is no object, or says something else than a number.
pub fn wanted_ttl(task: &Text) -> Result<Option<u64>, WireError> {
    let task = task.object().ok_or_else(|| invalid("\"task\" must be an object"))?;
    match task.get("ttl") {
        None | Some("null") => Ok(None),
        Some(ttl) => ttl
            .parse()
            .map(Some)
            .map_err(|_| invalid("\"ttl\" of a task must be a whole number of milliseconds")),
    }
}

/// The id in the parameters of a request about a task.
///
/// # Errors
/// `InvalidParams` if there is none.
pub fn id(params: Option<&Text>) -> Result<String, WireError> {
    let id = params.and_then(Text::object).and_then(|params| params.string("taskId"));
    id.map(std::borrow::Cow::into_owned)
        .ok_or_else(|| invalid("a request about a task needs the string \"taskId\""))
}

/// An object of 2025-11-25, such as a result, that says in its `_meta` which task it belongs to.
pub fn related(object: Object<'_>, id: &str) -> String {
    let task = format!("{{\"taskId\":{}}}", literal(id));
    let meta = match object.object("_meta") {
        Some(meta) => patch::set(meta, RELATED_TASK, &task),
        None => format!("{{\"{RELATED_TASK}\":{task}}}"),
    };
    patch::set(object, "_meta", &meta)
}

/// A JSON-RPC error object, as a task that failed shows it.
pub fn error_text(error: &WireError) -> String {
    let mut out = Vec::with_capacity(128);
    ObjectWriter::begin(&mut out)
        .json("code", &*error.code.number().to_string())
        .string("message", &*error.message)
        .json("data", error.data.as_deref())
        .end();
    text(out)
}

/// What is left of an `inputRequests` object once these answers have come; nothing if nothing is. Both are JSON text.
pub fn unanswered(requests: &str, answers: &str) -> Option<String> {
    let (requests, answers) = (Object::parse(requests)?, Object::parse(answers)?);
    let open = requests.members().filter(|asked| answers.get(&asked.key()).is_none());
    joined(open)
}

/// Those of the answers that `requests` asks for, behind those that came before; the first answer to a question counts. All
/// are JSON text.
pub fn answered(requests: &str, before: &str, answers: &str) -> Option<String> {
    let (requests, before) = (Object::parse(requests)?, Object::parse(before)?);
    let fitting = Object::parse(answers)?;
    let is_new = |key: &str| requests.get(key).is_some() && before.get(key).is_none();
    let new = fitting.members().filter(|answer| is_new(&answer.key()));
    joined(before.members().chain(new))
}

/// The same requests under keys that no other question of their task has: a task's keys are unique for as long as it lives, and
/// tools ask under the same ones again and again. Of what is no object, nothing.
pub fn numbered(requests: &str, number: u64) -> String {
    let all = Object::parse(requests).and_then(|requests| {
        let key = |member: &object::Member<'_>| literal(&format!("{}#{number}", member.key()));
        of_pairs(requests.members().map(|member| (key(&member), member.value)))
    });
    all.unwrap_or_else(|| "{}".to_owned())
}

/// The answers that were given to the requests of this [number](numbered), under the keys that these had before. Those to others
/// are left out.
pub fn of_number(answers: &str, number: u64) -> String {
    let end = format!("#{number}");
    let all = Object::parse(answers).and_then(|answers| {
        of_pairs(answers.members().filter_map(|member| {
            let key = literal(member.key().strip_suffix(&end)?);
            Some((key, member.value))
        }))
    });
    all.unwrap_or_else(|| "{}".to_owned())
}

fn of_pairs<'t>(pairs: impl Iterator<Item = (String, &'t str)>) -> Option<String> {
    let all: Vec<String> = pairs.map(|(key, value)| format!("{key}:{value}")).collect();
    (!all.is_empty()).then(|| format!("{{{}}}", all.join(",")))
}

/// An object of these members; nothing if there are none.
fn joined<'t>(members: impl Iterator<Item = object::Member<'t>>) -> Option<String> {
    of_pairs(members.map(|member| (member.key_literal().to_owned(), member.value)))
}

fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("slices of text and encoded strings are UTF-8")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::error::Code;

    const TASK: Task<'_> = Task {
        id: "job_1",
        status: Status::InputRequired,
        message: Some("asks \"why\""),
        created_at: "c",
        updated_at: "u",
        ttl_ms: 5,
        poll_ms: 7,
    };

    fn checked(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check(told: &str, expected: Expect) {
        checked(told);
        expected.assert_eq(told);
    }

    #[test]
    fn keys_are_those_of_one_question() {
        let asked = r##"{"a":{"m":1},"b\"#5":{}}"##;
        let told = numbered(asked, 7);
        assert_eq!(told, r##"{"a#7":{"m":1},"b\"#5#7":{}}"##);
        assert_eq!(of_number(&told, 7), asked);
        for (answers, own) in [
            (r##"{"a#7":{"x":1.0},"a#6":{},"a":{},"a#17":{}}"##, r#"{"a":{"x":1.0}}"#),
            (r#"{"a\u0023\u0037":{}}"#, r#"{"a":{}}"#),
            (r##"{"a#07":{},"a#7 ":{}}"##, "{}"),
            ("{}", "{}"),
        ] {
            assert_eq!(of_number(answers, 7), own, "{answers}");
        }
        assert_eq!(numbered("{}", 7), "{}");
    }

    #[test]
    fn each_era_is_told_in_its_own_shape() {
        check(
            &TASK.created(Revision::MODERN),
            expect![[
                r#"{"resultType":"task","taskId":"job_1","status":"input_required","statusMessage":"asks \"why\"","createdAt":"c","lastUpdatedAt":"u","ttlMs":5,"pollIntervalMs":7}"#
            ]],
        );
        check(
            &TASK.created(Revision::V2025_11_25),
            expect![[
                r#"{"task":{"taskId":"job_1","status":"input_required","statusMessage":"asks \"why\"","createdAt":"c","lastUpdatedAt":"u","ttl":5,"pollInterval":7}}"#
            ]],
        );
        let plain = Task { message: None, status: Status::Completed, ..TASK };
        check(
            &plain.seen(Revision::MODERN, Detail::Result(r#"{"content":[]}"#)),
            expect![[
                r#"{"taskId":"job_1","status":"completed","createdAt":"c","lastUpdatedAt":"u","ttlMs":5,"pollIntervalMs":7,"result":{"content":[]}}"#
            ]],
        );
        check(
            &plain.seen(Revision::V2025_11_25, Detail::Result("{}")),
            expect![[
                r#"{"taskId":"job_1","status":"completed","createdAt":"c","lastUpdatedAt":"u","ttl":5,"pollInterval":7}"#
            ]],
        );
        let failed = Task { message: None, status: Status::Failed, ..TASK };
        let error =
            error_text(&WireError::new(Code::InternalError, "broke").with_data("{\"a\":1}".to_owned()));
        check(
            &failed.seen(Revision::MODERN, Detail::Error(&error)),
            expect![[
                r#"{"taskId":"job_1","status":"failed","createdAt":"c","lastUpdatedAt":"u","ttlMs":5,"pollIntervalMs":7,"error":{"code":-32603,"message":"broke","data":{"a":1}}}"#
            ]],
        );
        let page = write_list(&[plain.seen(Revision::V2025_11_25, Detail::None)], Some("next"));
        check(
            std::str::from_utf8(&page).expect("UTF-8"),
            expect![[
                r#"{"tasks":[{"taskId":"job_1","status":"completed","createdAt":"c","lastUpdatedAt":"u","ttl":5,"pollInterval":7}],"nextCursor":"next"}"#
            ]],
        );
    }

    #[test]
    fn a_time_to_live_is_a_number_or_nothing() {
        for (task, expected) in [
            ("{}", Some(None)),
            (r#"{"ttl":null}"#, Some(None)),
            (r#"{"ttl":60000,"pollInterval":5}"#, Some(Some(60_000))),
            (r#"{"ttl":"60000"}"#, None),
            (r#"{"ttl":-1}"#, None),
            (r#"{"ttl":1.5}"#, None),
            ("5", None),
        ] {
            assert_eq!(wanted_ttl(&checked(task)).ok(), expected, "{task}");
        }
    }

    #[test]
    fn the_id_of_a_task_is_a_string() {
        assert_eq!(id(Some(&checked(r#"{"taskId":"job\u005f1"}"#))).ok().as_deref(), Some("job_1"));
        for params in [r#"{"taskId":1}"#, "{}", "[]"] {
            assert_eq!(id(Some(&checked(params))).expect_err("no id").code, Code::InvalidParams, "{params}");
        }
        assert!(id(None).is_err());
    }

    #[test]
    fn a_result_says_which_task_it_is_of() {
        let related = |json: &str| related(Object::parse(json).expect("an object"), "job_1");
        check(
            &related(r#"{"content":[]}"#),
            expect![[
                r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"job_1"}},"content":[]}"#
            ]],
        );
        check(
            &related(r#"{"_meta":{"x":1.0},"content":[]}"#),
            expect![[
                r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"job_1"},"x":1.0},"content":[]}"#
            ]],
        );
    }

    #[test]
    fn answers_come_one_after_the_other_and_the_first_to_a_question_counts() {
        let asked = r#"{"a":{"method":"x"},"b":{"method":"y"}}"#;
        assert_eq!(unanswered(asked, r#"{"a":{}}"#).as_deref(), Some(r#"{"b":{"method":"y"}}"#));
        assert_eq!(unanswered(asked, r#"{"a":{},"b":{}}"#), None);
        let first = answered(asked, "{}", r#"{"a":{"n":1},"no":{}}"#).expect("one fits");
        assert_eq!(first, r#"{"a":{"n":1}}"#);
        let both = answered(asked, &first, r#"{"b":{"n":2},"a":{"n":3}}"#);
        assert_eq!(both.as_deref(), Some(r#"{"a":{"n":1},"b":{"n":2}}"#));
        assert_eq!(answered(asked, "{}", r#"{"no":{}}"#), None);
    }
}
