//! A task of 2025-11-25 in the form of the modern extension.

use std::time::Duration;

use wire::Object;
use wire::string::literal;

use super::status::State;

/// How a task is shown to a modern client.
pub(super) struct Shape<'t> {
    /// As its server tells of it.
    pub(super) task: Object<'t>,
    /// The name by which the gate knows it.
    pub(super) key: &'t str,
    /// What it is said to be doing.
    pub(super) state: State,
    /// What else is said of that; nothing if there is nothing.
    pub(super) message: Option<&'t str>,
    /// How long it is kept here at most, from its beginning.
    pub(super) kept: Duration,
}

impl Shape<'_> {
    /// A whole result of this `resultType`. `more` are further members, each behind a comma. Nothing if its server does
    /// not say when the task was begun, which the modern form must.
    pub(super) fn write(&self, result_type: &str, more: &str) -> Option<String> {
        let time = |key| self.task.string(key).map(|time| literal(&time));
        let created = time("createdAt")?;
        let updated = time("lastUpdatedAt").unwrap_or_else(|| created.clone());
        let number = |key: &str| self.task.get(key).and_then(|value| value.parse::<u64>().ok());
        let kept = self.kept.as_millis().try_into().unwrap_or(u64::MAX);
        let ttl = number("ttl").map_or(kept, |ttl| ttl.min(kept));
        let poll = number("pollInterval").map(|poll| format!(",\"pollIntervalMs\":{poll}"));
        let message = self.message.map(|message| format!(",\"statusMessage\":{}", literal(message)));
        Some(format!(
            "{{\"resultType\":\"{result_type}\",\"taskId\":{},\"status\":\"{}\"{},\"createdAt\":{created},\
             \"lastUpdatedAt\":{updated},\"ttlMs\":{ttl}{}{more}}}",
            literal(self.key),
            self.state.name(),
            message.unwrap_or_default(),
            poll.unwrap_or_default(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(task: &str, message: Option<&str>, more: &str, expected: Option<&str>) {
        let task = Object::parse(task).expect("an object");
        let (state, kept) = (State::InputRequired, Duration::from_secs(60));
        let shape = Shape { task, key: "ours", state, message, kept };
        assert_eq!(shape.write("task", more).as_deref(), expected);
    }

    #[test]
    fn times_take_their_modern_names_and_the_servers_id_stays_with_us() {
        check(
            r#"{"taskId":"theirs","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":5,"pollInterval":7}"#,
            Some("half"),
            r#","inputRequests":{}"#,
            Some(
                r#"{"resultType":"task","taskId":"ours","status":"input_required","statusMessage":"half","createdAt":"c","lastUpdatedAt":"u","ttlMs":5,"pollIntervalMs":7,"inputRequests":{}}"#,
            ),
        );
        let plain = |ttl: &str| {
            format!(
                r#"{{"resultType":"task","taskId":"ours","status":"input_required","createdAt":"c","lastUpdatedAt":"c","ttlMs":{ttl}}}"#
            )
        };
        check(r#"{"createdAt":"c","ttl":null}"#, None, "", Some(&plain("60000")));
        check(r#"{"createdAt":"c","ttl":99999999}"#, None, "", Some(&plain("60000")));
        check(r#"{"taskId":"theirs","ttl":5}"#, None, "", None);
    }
}
