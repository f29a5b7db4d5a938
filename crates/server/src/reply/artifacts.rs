//! Which artifacts a result says that its call has made, for programs; its content says the same to people and models.

use gate::Artifact;
use serde_json::Value;
use wire::{Object, patch};

use super::our_meta;

/// The member of `_meta` that says it.
const ARTIFACTS_KEY: &str = "toolcrib/artifacts";

/// Adds them to the result object that stands behind `start`; to the result of a call within it, where it is a task that has
/// one.
pub(super) fn add(out: &mut Vec<u8>, start: usize, is_task: bool, artifacts: &[Artifact]) {
    if artifacts.is_empty() {
        return;
    }
    let value = artifacts.iter().map(Artifact::facts).collect::<Value>().to_string();
    let task = std::str::from_utf8(&out[start..]).ok().filter(|_| is_task).and_then(Object::parse);
    let within = task.and_then(|task| Some((task, task.object("result")?)));
    let Some((task, result)) = within else { return our_meta::add(out, start, ARTIFACTS_KEY, &value) };
    let with = patch::set(task, "result", &our_meta::with(result, ARTIFACTS_KEY, &value));
    out.truncate(start);
    out.extend_from_slice(with.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_task: bool, result: &str, expected: &str) {
        let artifact = Artifact {
            id: "ab".into(),
            name: "log".into(),
            media_type: "text/plain".into(),
            bytes: 9,
            lines: 2,
            sha256: "cd".into(),
        };
        let picture = Artifact { media_type: "image/png".into(), ..artifact.clone() };
        let mut out = [b"head ", result.as_bytes()].concat();
        add(&mut out, 5, is_task, &[]);
        assert_eq!(out, [b"head ", result.as_bytes()].concat(), "it has made none");
        add(&mut out, 5, is_task, &[artifact, picture]);
        let facts = concat!(
            r#"[{"bytes":9,"id":"ab","lines":2,"media_type":"text/plain","name":"log","sha256":"cd","uri":"artifact://ab"},"#,
            r#"{"bytes":9,"id":"ab","media_type":"image/png","name":"log","sha256":"cd","uri":"artifact://ab"}]"#
        );
        let expected = format!("head {}", expected.replace("FACTS", facts));
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }

    #[test]
    fn a_result_keeps_its_bytes_and_names_its_artifacts() {
        check(false, r#"{ "a":1.0}"#, r#"{"_meta":{"toolcrib/artifacts":FACTS}, "a":1.0}"#);
        check(false, r#"{"_meta":{"x":1e3}}"#, r#"{"_meta":{"toolcrib/artifacts":FACTS,"x":1e3}}"#);
        check(true, r#"{"result":{"a":1}}"#, r#"{"result":{"_meta":{"toolcrib/artifacts":FACTS},"a":1}}"#);
        check(true, r#"{"status":"x"}"#, r#"{"_meta":{"toolcrib/artifacts":FACTS},"status":"x"}"#);
        check(false, r#"{"result":{}}"#, r#"{"_meta":{"toolcrib/artifacts":FACTS},"result":{}}"#);
    }
}
