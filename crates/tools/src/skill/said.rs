//! A skill as an agent reads it.

use std::fmt::Write as _;
use std::path::Path;

use tool_api::{INVOKE_SKILL, SKILL_FILE, Skill, ToolError};

use super::words::{is_whole, place, words};

/// How an author says where what the skill is called with belongs.
const ARGUMENTS: &str = "$ARGUMENTS";

/// How an author names the skill's own folder.
const FOLDER: &str = "${CLAUDE_SKILL_DIR}";

/// Most bytes of a text that is filled in: each place of it may hold a long one.
const FILLED_BYTES_MAX: usize = 256 * 1024;

/// How many files beside it are named.
const FILES_SHOWN: usize = 100;

/// What is said of a folder outside of the workspace: what lies there is read by the tool, and by no command.
const UNSEEN: &str = " Commands do not see this folder, unless `read` in `[sandbox]` of the user's toolcrib.toml names it; what \
                      they are to run is copied into the workspace first.";

/// Its instructions, with what it is called with, and what lies beside it.
pub(super) fn said(skill: &Skill, arguments: &str, workspace: &Path) -> Result<String, ToolError> {
    let too_large = || {
        let why = format!(
            "the skill has more than {FILLED_BYTES_MAX} bytes with these arguments; say less in them"
        );
        ToolError::new("too_large", why)
    };
    let mut said = filled(skill, arguments).ok_or_else(too_large)?;
    let _ = write!(said, "\n\nThe skill `{}` lies in {}.", skill.name, skill.folder.display());
    let beside: Vec<_> = skill.files.iter().filter(|file| file.path != SKILL_FILE).collect();
    if beside.is_empty() {
        return Ok(said);
    }
    if !skill.folder.starts_with(workspace) {
        said.push_str(UNSEEN);
    }
    let _ = match skill.is_for_models {
        true => write!(said, " Beside it, to be read with `{INVOKE_SKILL}` and `file`:"),
        // The tool loads nothing of such a one.
        false => write!(said, " Beside it are:"),
    };
    for file in beside.iter().take(FILES_SHOWN) {
        let _ = write!(said, "\n- {} ({} bytes)", file.path, file.bytes);
    }
    if let Some(more) = beside.len().checked_sub(FILES_SHOWN).filter(|more| *more > 0) {
        let _ = write!(said, "\nand {more} more");
    }
    Ok(said)
}

/// The text with its places filled. Nothing in what is filled in is a place, and a `$1` without such a word is what a line of shell
/// means by it, as is one behind a backslash. Nothing if that is too much.
fn filled(skill: &Skill, arguments: &str) -> Option<String> {
    let folder = skill.folder.to_string_lossy();
    let (mut out, mut rest) = (String::with_capacity(skill.body.len()), &*skill.body);
    let mut has_place = false;
    if arguments.len() > FILLED_BYTES_MAX {
        return None;
    }
    let words = words(arguments);
    while let Some(at) = rest.find('$').filter(|_| out.len() <= FILLED_BYTES_MAX) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let word = place(rest).filter(|_| !out.ends_with('\\'));
        let word = word.and_then(|(number, after)| Some((words.get(number)?, after)));
        let all = || rest.strip_prefix(ARGUMENTS).filter(|after| is_whole(after) && place(rest).is_none());
        if let Some((word, after)) = word {
            (rest, has_place) = (after, true);
            out.push_str(word);
        } else if let Some(after) = all() {
            (rest, has_place) = (after, true);
            out.push_str(arguments);
        } else if let Some(after) = rest.strip_prefix(FOLDER) {
            rest = after;
            out.push_str(&folder);
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    if !has_place && !arguments.is_empty() {
        let _ = write!(out, "\n\nARGUMENTS: {arguments}");
    }
    (out.len() <= FILLED_BYTES_MAX).then_some(out)
}

#[cfg(test)]
mod tests {
    use tool_api::SkillFile;

    use super::*;

    fn skill(body: &str, files: usize) -> Skill {
        let file = |n| SkillFile { path: format!("f{n}"), bytes: n as u64, sha256: String::new() };
        Skill {
            name: "s".into(),
            description: "d".into(),
            is_for_models: true,
            is_for_people: true,
            fields: serde_json::Map::new(),
            body: body.to_owned(),
            folder: "/x/s".into(),
            files: (0..files).map(file).collect(),
            sha256: String::new(),
        }
    }

    #[track_caller]
    fn check(body: &str, arguments: &str, expected: &str) {
        assert_eq!(filled(&skill(body, 0), arguments).as_deref(), Some(expected), "{body:?} {arguments:?}");
    }

    #[test]
    fn placeholders_are_filled_once() {
        check("Do $ARGUMENTS now", "a b", "Do a b now");
        check("$ARGUMENTS $ARGUMENTS", "$ARGUMENTS", "$ARGUMENTS $ARGUMENTS");
        check("$ARGUMENTS.", "${CLAUDE_SKILL_DIR}", "${CLAUDE_SKILL_DIR}.");
        check("run ${CLAUDE_SKILL_DIR}/a.sh", "", "run /x/s/a.sh");
        // Shell's own.
        check("echo $1 $ARGUMENTS_MORE $$ $", "", "echo $1 $ARGUMENTS_MORE $$ $");
        check("Do $ARGUMENTS", "", "Do ");
        check("Do", "it", "Do\n\nARGUMENTS: it");
        check("Move $0 to $1", "a 'b c'", "Move a to b c");
        check("Move $ARGUMENTS[0] of $ARGUMENTS", "a 'b c'", "Move a of a 'b c'");
        check("$0", "$1 x", "$1");
        // Prices, and words that were not given.
        check("$0 for $5.00, not $10 or $1st", "it now", "it for $5.00, not $10 or $1st");
        check("awk '{print $1}'", "x", "awk '{print $1}'\n\nARGUMENTS: x");
        check(r"awk '{print \$0}' $0", "x", r"awk '{print \$0}' x");
        check("$ARGUMENTS[3]", "x", "$ARGUMENTS[3]\n\nARGUMENTS: x");
        check("`!rm -rf /`", "", "`!rm -rf /`");
    }

    #[test]
    fn a_text_does_not_grow_without_end() {
        let long = "x".repeat(FILLED_BYTES_MAX / 2);
        assert!(filled(&skill("$ARGUMENTS", 0), &long).is_some());
        for (body, arguments) in [("$ARGUMENTS".repeat(10_000), &*long), ("B".to_owned(), &*long.repeat(3))] {
            assert!(filled(&skill(&body, 0), arguments).is_none());
        }
        assert!(filled(&skill(&"x".repeat(FILLED_BYTES_MAX), 0), "y").is_none());
    }

    #[test]
    fn what_lies_beside_is_named() {
        let said =
            |skill: &Skill, arguments: &str| super::said(skill, arguments, Path::new("/x")).expect("it fits");
        assert_eq!(said(&skill("B", 0), ""), "B\n\nThe skill `s` lies in /x/s.");
        let named = " Beside it, to be read with `InvokeSkill` and `file`:\n- f0 (0 bytes)";
        assert_eq!(said(&skill("B", 1), ""), format!("B\n\nThe skill `s` lies in /x/s.{named}"));
        let elsewhere = super::said(&skill("B", 1), "", Path::new("/w")).expect("it fits");
        assert_eq!(elsewhere, format!("B\n\nThe skill `s` lies in /x/s.{UNSEEN}{named}"));
        let for_people = Skill { is_for_models: false, ..skill("B", 1) };
        let named = " Beside it are:\n- f0 (0 bytes)";
        assert_eq!(said(&for_people, ""), format!("B\n\nThe skill `s` lies in /x/s.{named}"));
        let many = said(&skill("B", FILES_SHOWN + 2), "");
        assert!(many.ends_with("\n- f99 (99 bytes)\nand 2 more"), "{many}");
    }
}
