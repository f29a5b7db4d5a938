//! What a result says of the sandbox that the programs of its call ran in.

use gate::Sandboxed;
use serde_json::json;

use super::our_meta;

/// The member of `_meta` that says it.
const SANDBOX_KEY: &str = "toolcrib/sandbox";

/// The usual launcher, which is not said.
const OWN: &str = "own";

/// Adds it to the result object that stands behind `start`, if programs ran.
pub(super) fn add(out: &mut Vec<u8>, start: usize, sandboxed: Option<&Sandboxed>) {
    let Some(sandboxed) = sandboxed else { return };
    let Sandboxed { profile, launcher, degraded } = sandboxed;
    let mut value = json!({ "profile": profile });
    if *launcher != OWN {
        value["launcher"] = json!(launcher);
    }
    if !degraded.is_empty() {
        value["degraded"] = json!(degraded);
    }
    our_meta::add(out, start, SANDBOX_KEY, &value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(result: &str, launcher: &'static str, degraded: &[&'static str], expected: &str) {
        let mut out = [b"head ", result.as_bytes()].concat();
        add(&mut out, 5, None);
        assert_eq!(out, [b"head ", result.as_bytes()].concat(), "no program ran");
        add(&mut out, 5, Some(&Sandboxed { profile: "shell", launcher, degraded: degraded.to_vec() }));
        assert_eq!(String::from_utf8(out).expect("text"), format!("head {expected}"));
    }

    #[test]
    fn a_result_keeps_its_bytes_and_says_how_its_programs_ran() {
        check(r#"{ "a":1.0}"#, "own", &[], r#"{"_meta":{"toolcrib/sandbox":{"profile":"shell"}}, "a":1.0}"#);
        check(
            r#"{"_meta":{"x":1e3},"content":[]}"#,
            "bwrap",
            &["memory", "names"],
            r#"{"_meta":{"toolcrib/sandbox":{"degraded":["memory","names"],"launcher":"bwrap","profile":"shell"},"x":1e3},"content":[]}"#,
        );
    }
}
