//! What every tool of files says once the folder of the workspace is gone, and once another one stands there.

use testkit::{Workspace, call};

const GONE: &str = "error workspace_gone: the folder of the workspace is gone: it was deleted or moved away; nothing can be \
                    read or written until a folder stands at its path again, which a person or a program outside can make\n";
const EXCHANGED: &str = "error workspace_gone: the folder of the workspace was deleted or moved away, and another one stands \
                         in its place now, which is used from here on; look at what is in it and call again\n";

const CALLS: [(&str, &str); 16] = [
    ("workspace_list", "{}"),
    ("workspace_list", r#"{"path": "src", "recursive": true}"#),
    ("workspace_find", r#"{"glob": "*.md"}"#),
    ("workspace_search", r#"{"pattern": "x"}"#),
    ("workspace_search", r#"{"pattern": "x", "path": "a.md"}"#),
    ("workspace_read", r#"{"path": "a.md"}"#),
    ("workspace_read", r#"{"path": "a.md", "paths": ["b.md"]}"#),
    ("workspace_write", r#"{"path": "a.md", "content": "x"}"#),
    ("workspace_write", r#"{"path": "n/a.md", "content": "x"}"#),
    ("workspace_edit", r#"{"path": "a.md", "edits": [{"old_text": "x", "new_text": "y"}]}"#),
    ("workspace_patch", r#"{"paths": ["a.md"], "patch": "--- a.md\n+++ a.md\n@@ -1 +1 @@\n-x\n+y\n"}"#),
    ("workspace_patch", r#"{"paths": ["b.md"], "patch": "--- /dev/null\n+++ b.md\n@@ -0,0 +1 @@\n+y\n"}"#),
    ("workspace_move", r#"{"from": "a.md", "to": "b.md"}"#),
    ("workspace_delete", r#"{"path": "a.md"}"#),
    ("workspace_restore", r#"{"path": "a.md"}"#),
    ("ReadImage", r#"{"file_path": "a.png"}"#),
];

fn say(workspace: &Workspace, name: &str, arguments: &str) -> String {
    let settings = crate::SearchSettings::default();
    let tools = crate::all(&crate::offer::Set::ALL, crate::offer::Budgets::default(), &settings);
    let tool = tools.iter().find(|tool| tool.definition().name.as_str() == name).expect("it is one of ours");
    call(&**tool, workspace, arguments)
}

#[test]
fn a_workspace_whose_folder_is_gone_is_no_empty_one() {
    for (name, arguments) in CALLS {
        let workspace = Workspace::new("a.md: x\nsrc/main.rs: x\na.png: x\n");
        workspace.delete();
        for _ in 0..2 {
            assert_eq!(say(&workspace, name, arguments), GONE, "{name} {arguments}");
        }
        workspace.make_anew();
        assert_eq!(say(&workspace, name, arguments), EXCHANGED, "{name} {arguments}");
        let written = say(&workspace, "workspace_write", r#"{"path": "a.md", "content": "x"}"#);
        assert!(written.starts_with("text: Wrote 1 byte"), "{name} {arguments}: {written}");
        assert!(say(&workspace, "workspace_list", "{}").starts_with("text: a.md\\t1"), "{name} {arguments}");
    }
}
