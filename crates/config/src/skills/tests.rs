//! Where skills are found, and which of them wait.

use std::fs;

use tool_api::Skills as _;

use super::*;
use crate::surroundings::Flags;

/// The names found, each with whose it is, and the keys of those that wait; of whoever is in `project`.
#[track_caller]
fn check(skills: &[(&str, &str)], agrees: bool, expected: &[&str], held: &[&str]) {
    let home = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(home.path().join("project/.git")).expect("a folder");
    for (folder, name) in skills {
        let folder_of_skill = home.path().join(folder).join(name);
        fs::create_dir_all(&folder_of_skill).expect("a folder");
        let text = format!("---\nname: {name}\ndescription: of {folder}\n---\n");
        fs::write(folder_of_skill.join("SKILL.md"), text).expect("a file");
    }
    let variables = [("HOME".into(), home.path().into())].into();
    let flags = Flags { trust_folder: agrees, ..Flags::default() };
    let current_dir = home.path().join("project");
    let surroundings = Surroundings { current_dir, variables, flags, ..Surroundings::default() };
    let more = [home.path().join("more")];
    let (library, waiting) = SkillFolders::found(&surroundings, &more, &home.path().join("state")).library();
    let found: Vec<_> =
        library.list().iter().map(|skill| format!("{} {}", skill.name, skill.description)).collect();
    let keys: Vec<_> = waiting.iter().map(|held| held.declaration.key.clone()).collect();
    assert_eq!(
        (found, keys),
        (expected.iter().map(ToString::to_string).collect(), held.iter().map(ToString::to_string).collect()),
        "{skills:?}"
    );
    assert_eq!(library.problems, [""; 0]);
}

#[test]
fn a_users_skills_are_found() {
    let own =
        [("more", "a"), (".agents/skills", "a"), (".claude/skills", "a"), (".config/toolcrib/skills", "a")];
    check(&own, false, &["a of .config/toolcrib/skills"], &[]);
    check(&own[..3], false, &["a of .claude/skills"], &[]);
    check(&own[..2], false, &["a of .agents/skills"], &[]);
    check(&own[..1], false, &["a of more"], &[]);
    check(&[], false, &[], &[]);
}

#[test]
fn a_projects_wait_for_an_agreement() {
    let skills = [("project/.claude/skills", "a"), ("project/.toolcrib/skills", "b"), ("more", "a")];
    check(&skills, false, &["a of more"], &[".toolcrib/skills skill.b", ".claude/skills skill.a"]);
    check(&skills, true, &["a of project/.claude/skills", "b of project/.toolcrib/skills"], &[]);
}
