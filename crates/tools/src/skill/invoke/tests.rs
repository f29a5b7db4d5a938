//! Skills loaded, and what models are told of those there are.

use serde_json::Map;
use testkit::{Workspace, call};
use tool_api::SkillFile;

use super::*;

struct Two;

fn skill(name: &str, is_for_models: bool) -> Skill {
    Skill {
        name: name.into(),
        description: "d".into(),
        is_for_models,
        is_for_people: true,
        fields: Map::new(),
        body: "Do $ARGUMENTS".into(),
        folder: "/x".into(),
        files: vec![SkillFile { path: "a.md".into(), bytes: 1, sha256: String::new() }],
        sha256: String::new(),
    }
}

impl Skills for Two {
    fn list(&self) -> Arc<[SkillSummary]> {
        Arc::default()
    }

    fn read(&self, name: &str, wanted: Option<&str>) -> Result<(Skill, Option<Vec<u8>>), ToolError> {
        let file = match wanted {
            Some("a.md" | "references/style.md") => Some(b"beside".to_vec()),
            Some("a.bin") => Some(vec![0xff]),
            Some("large") => Some(vec![b'x'; FILE_BYTES_MAX + 1]),
            _ => None,
        };
        match name {
            "release-notes" => Ok((skill(name, true), file)),
            "closed" => Ok((skill(name, false), file)),
            _ => Err(ToolError::new("unknown_skill", "there is none")),
        }
    }
}

#[track_caller]
fn check(arguments: &str, expected: &str) {
    let said = call(&*invoke(&(Arc::new(Two) as Arc<dyn Skills>)), &Workspace::new(""), arguments);
    assert_eq!(said.trim_end(), expected, "{arguments}");
}

#[test]
fn a_skill_is_loaded() {
    let beside = "The skill `release-notes` lies in /x. Commands do not see this folder, unless `read` in `[sandbox]` of the user's toolcrib.toml names it; what they are to run is copied into the workspace first. Beside it, to be read with `InvokeSkill` and `file`:\n- a.md (1 bytes)¶";
    check(r#"{"skill_name": "release-notes", "arguments": "it"}"#, &format!("text: Do it\n\n{beside}"));
    check(r#"{"skill_name": "release-notes", "file": "a.md"}"#, "text: beside¶");
    check(
        r#"{"skill_name": "release-notes", "file": "a.bin"}"#,
        "application/octet-stream 1 bytes skill://release-notes/a.bin",
    );
    check(
        r#"{"skill_name": "release-notes", "file": "../a"}"#,
        "error not_found: the skill `release-notes` has no file `../a`; load it without `file` to see which it has",
    );
    check(
        r#"{"skill_name": "release-notes", "file": "large"}"#,
        "error too_large: large has 262145 bytes, and 262144 are the most that is said",
    );
    check(
        r#"{"skill_name": "closed"}"#,
        "error skill_unusable: the skill `closed` is for people to start; ask your user whether it is wanted",
    );
    check(r#"{"skill_name": "other"}"#, "error unknown_skill: there is none");
}

#[test]
fn the_tool_is_sound() {
    testkit::check_catalogue(&[invoke(&(Arc::new(Two) as Arc<dyn Skills>))]);
}

#[track_caller]
fn check_description(skills: &[(&str, &str, bool)], expected: &str) {
    let summary = |&(name, description, is_for_models): &(&str, &str, bool)| SkillSummary {
        name: name.into(),
        description: description.into(),
        is_for_models,
        is_for_people: true,
    };
    let skills: Vec<_> = skills.iter().map(summary).collect();
    let text = description(&skills);
    let (_, listed) = text.split_once("There are:").expect("they are listed");
    assert_eq!(listed, expected, "{skills:?}");
}

#[test]
fn models_are_told_which_there_are() {
    check_description(&[("a", "for a", true), ("b", "for b", false)], "\n- a: for a");
    let long = "é".repeat(DESCRIPTION_CHARS_SHOWN + 1);
    let shown = format!("\n- a: {}…", "é".repeat(DESCRIPTION_CHARS_SHOWN));
    check_description(&[("a", &long, true)], &shown);
    let many: Vec<_> = (0..14).map(|_| ("a", &*long, true)).collect();
    check_description(&many, &format!("{}\n- and a, a, a", shown.repeat(11)));
}
