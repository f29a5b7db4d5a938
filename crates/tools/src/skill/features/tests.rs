//! Who is shown which skill: what an author keeps for people is a prompt and nothing else.

use serde_json::Map;
use testkit::{Workspace, call};
use tool_api::{Skill, SkillFile};

use super::*;

/// `open` is for all; `closed` is for people.
struct Two;

impl Skills for Two {
    fn list(&self) -> Arc<[SkillSummary]> {
        let of = |name: &str| SkillSummary {
            name: name.into(),
            description: "d".into(),
            is_for_models: name == "open",
            is_for_people: true,
        };
        ["closed", "open"].map(of).into()
    }

    fn read(&self, name: &str, _: Option<&str>) -> Result<(Skill, Option<Vec<u8>>), ToolError> {
        let skill = Skill {
            name: name.into(),
            description: "d".into(),
            is_for_models: name == "open",
            is_for_people: true,
            fields: Map::new(),
            body: "Body".into(),
            folder: "/x".into(),
            files: vec![SkillFile { path: "SKILL.md".into(), bytes: 4, sha256: "0".into() }],
            sha256: String::new(),
        };
        Ok((skill, Some(b"Body".to_vec())))
    }
}

fn features() -> Features {
    skill_tools(&(Arc::new(Two) as Arc<dyn Skills>)).1
}

#[test]
fn a_skill_for_people_is_a_prompt_and_no_resource() {
    let features = features();
    let keys = |items: &[Item]| items.iter().map(|item| item.key.to_string()).collect::<Vec<_>>();
    assert_eq!(keys(&features.prompts), ["closed", "open"]);
    assert_eq!(keys(&features.resources), ["skill://open/SKILL.md"]);
    let claims = features.claims.expect("it has resources");
    for (uri, is_claimed) in
        [("skill://open/a.md", true), ("skill://closed/SKILL.md", false), ("skill://closed/a.md", false)]
    {
        assert_eq!(claims(uri), is_claimed, "{uri}");
    }
}

#[track_caller]
fn check(tool: &dyn AnyTool, arguments: &str, expected: &str) {
    assert_eq!(call(tool, &Workspace::new(""), arguments).trim_end(), expected, "{arguments}");
}

#[test]
fn a_skill_for_people_is_read_in_no_other_way() {
    let features = features();
    let read =
        features.actions.iter().find(|(action, _)| *action == Action::ReadResource).expect("it is one");
    check(&*read.1, r#"{"uri": "skill://open/SKILL.md"}"#, "text/markdown 4 bytes skill://open/SKILL.md");
    check(
        &*read.1,
        r#"{"uri": "skill://closed/SKILL.md"}"#,
        "error skill_unusable: the skill `closed` is for people to start; ask your user whether it is wanted",
    );
    let methods = features.extension_methods.expect("it has some");
    let method = |name: &str| methods(name).expect(name);
    let (entry, end) = (
        r#"{"frontmatter":{},"resources":[{"digest":"sha256:0","size":4,"uri":"skill://open/SKILL.md"}],"uri":"skill://open/SKILL.md"}"#,
        r#""cacheScope":"private","resultType":"complete""#,
    );
    check(&*method("skills/list"), "{}", &format!(r#"relayed: {{{end},"skills":[{entry}],"ttlMs":10000}}"#));
    check(
        &*method("skills/get"),
        r#"{"uri": "skill://closed/SKILL.md"}"#,
        "error unknown_skill: there is no skill at `skill://closed/SKILL.md`; `skills/list` lists those there are",
    );
    check(
        &*method("resources/directory/read"),
        r#"{"uri": "skill://closed"}"#,
        "error unknown_directory: there is no directory at `skill://closed`; `skills/list` lists the files that there are",
    );
}
