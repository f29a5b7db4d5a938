//! What waits for a person's agreement, in words: whole for whoever decides, in a line for whoever only has to know.

use admin::folders::{Agreement, HeldBack};

/// Every declaration with all that it does.
pub(crate) fn declarations(held: &[HeldBack]) -> String {
    let mut lines = Vec::new();
    let mut folder = None;
    for one in held {
        if folder != Some(&one.declaration.folder) {
            folder = Some(&one.declaration.folder);
            lines.push(format!("{} declares", one.declaration.folder.display()));
        }
        lines.extend(declaration(one));
    }
    lines.join("\n")
}

/// One declaration; if another one was agreed to under its name, with what is different.
fn declaration(held: &HeldBack) -> Vec<String> {
    let declaration = &held.declaration;
    let name = name(held);
    let state = match &held.why {
        Agreement::Changed { .. } => ", which has changed since you agreed to it",
        Agreement::Given { .. } | Agreement::Unknown | Agreement::Unreadable(_) => "",
    };
    let mut lines = vec![format!("  {name} ({}){state}:", declaration.place)];
    let before: &[String] = match &held.why {
        Agreement::Changed { before } => before,
        Agreement::Given { .. } | Agreement::Unknown | Agreement::Unreadable(_) => &[],
    };
    let kept: Vec<&str> = declaration.lines.iter().map(|line| line.kept.as_str()).collect();
    let gone = before.iter().filter(|line| !kept.contains(&line.as_str()));
    lines.extend(gone.map(|line| format!("  - {line}")));
    lines.extend(declaration.lines.iter().map(|line| {
        let is_new = !before.is_empty() && !before.contains(&line.kept);
        format!("  {} {}", if is_new { '+' } else { ' ' }, line.shown)
    }));
    if !before.is_empty() && before.iter().map(String::as_str).eq(kept) {
        lines.push("    (a value in it is another one)".to_owned());
    }
    if let Agreement::Unreadable(why) = &held.why {
        lines.push(format!("    ({why})"));
    }
    lines
}

/// What is declared, without the file: `mcp.git`, or `policy`.
pub(crate) fn name(held: &HeldBack) -> &str {
    held.declaration.key.split_once(' ').map_or(&*held.declaration.key, |(_, name)| name)
}

/// In one line, for a log and for a person who is looking at something else; nothing if nothing waits.
pub(crate) fn line(held: &[HeldBack]) -> Option<String> {
    let folder = held.first()?.declaration.folder.display();
    let names: Vec<&str> = held.iter().map(name).collect();
    Some(format!(
        "not in force, since you have not agreed to what the folder {folder} declares: {}; `toolcrib trust` shows it and asks",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use admin::folders::{Declaration, Line};
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(why: Agreement, expected: Expect) {
        let line = |shown: &str, kept: &str| Line { shown: shown.to_owned(), kept: kept.to_owned() };
        let declaration = Declaration {
            folder: "/project".into(),
            key: "toolcrib.toml mcp.git".to_owned(),
            place: "toolcrib.toml:3:6".to_owned(),
            sha256: "ab".to_owned(),
            lines: vec![
                line("starts git-mcp -v", "starts git-mcp -v"),
                line("sets the variable A to 1", "sets the variable A"),
            ],
            secrets: Vec::new(),
        };
        expected.assert_eq(&declarations(&[HeldBack { declaration, why }]));
    }

    #[test]
    fn who_decides_sees_everything_and_what_is_new() {
        check(
            Agreement::Unknown,
            expect![[r#"
                /project declares
                  mcp.git (toolcrib.toml:3:6):
                    starts git-mcp -v
                    sets the variable A to 1"#]],
        );
        let before = |lines: [&str; 2]| Agreement::Changed { before: lines.map(str::to_owned).to_vec() };
        check(
            before(["starts git-mcp", "sets the variable A"]),
            expect![[r#"
                /project declares
                  mcp.git (toolcrib.toml:3:6), which has changed since you agreed to it:
                  - starts git-mcp
                  + starts git-mcp -v
                    sets the variable A to 1"#]],
        );
        check(
            before(["starts git-mcp -v", "sets the variable A"]),
            expect![[r#"
                /project declares
                  mcp.git (toolcrib.toml:3:6), which has changed since you agreed to it:
                    starts git-mcp -v
                    sets the variable A to 1
                    (a value in it is another one)"#]],
        );
    }
}
