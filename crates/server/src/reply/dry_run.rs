//! What the result of a dry run says to programs.

use gate::Planned;
use serde_json::json;

use super::our_meta;

/// The member of `_meta` that says it.
const DRY_RUN_KEY: &str = "toolcrib/dry_run";

/// Adds it to the result object that stands behind `start`, if it was one.
pub(super) fn add(out: &mut Vec<u8>, start: usize, planned: Option<&Planned>) {
    let Some(planned) = planned else { return };
    let Planned { plan_hash, changes, is_cut, diff: _ } = planned;
    let changes: Vec<_> =
        changes.iter().map(|(path, what)| json!({ "path": path, "change": what })).collect();
    let mut value = json!({ "plan_hash": &**plan_hash, "changes": changes });
    if *is_cut {
        value["is_cut"] = json!(true);
    }
    our_meta::add(out, start, DRY_RUN_KEY, &value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_what_would_change() {
        let planned = |is_cut| Planned {
            plan_hash: "ab".into(),
            changes: vec![("a".into(), "added")],
            is_cut,
            diff: String::new(),
        };
        for (is_cut, expected) in [
            (
                false,
                r#"{"_meta":{"toolcrib/dry_run":{"changes":[{"change":"added","path":"a"}],"plan_hash":"ab"}},"x":1.0}"#,
            ),
            (
                true,
                r#"{"_meta":{"toolcrib/dry_run":{"changes":[{"change":"added","path":"a"}],"is_cut":true,"plan_hash":"ab"}},"x":1.0}"#,
            ),
        ] {
            let mut out = br#"head {"x":1.0}"#.to_vec();
            add(&mut out, 5, None);
            assert_eq!(out, br#"head {"x":1.0}"#);
            add(&mut out, 5, Some(&planned(is_cut)));
            assert_eq!(String::from_utf8(out).expect("text"), format!("head {expected}"));
        }
    }
}
