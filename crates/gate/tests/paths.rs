//! What our own tools make of a path, rules about paths must know as well, however it is spelt.

#![expect(clippy::disallowed_methods, reason = "the test writes the rules file that it judges by")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use proptest::prelude::*;
use rules::{Call, Rules, Settings};
use sandbox::{Access, Root};
use serde_json::json;

const RULES: &str = r#"{"version":"1.0","rules":[
    {"id":"r","match":{"paths":["secrets/**"]},"action":{"on_violation":"block"}}]}"#;

struct World {
    folder: tempfile::TempDir,
    rules: Rules,
    root: Root,
}

thread_local! {
    static WORLD: World = {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().to_owned();
        std::fs::create_dir_all(workspace.join("secrets/deep")).unwrap();
        std::fs::write(workspace.join("rules.json"), RULES).unwrap();
        let rules = Rules::new(Settings {
            spellings: sandbox::spellings(&workspace),
            home: workspace.parent().map(std::path::PathBuf::from),
            project: Some(workspace.join("rules.json")),
            workspace: workspace.clone(),
            ..Settings::default()
        });
        World { folder, rules, root: Root::open(&workspace, Access::Read).unwrap() }
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_rule_knows_every_path_that_our_own_tools_take(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "secrets", "secrets", "secrets/", "key", "/", "/", "//", "..", "../", "/..", "/../", ".", "./", ":", "://", "#",
            "?", "%", "%2e", "%2F", "file", "file:", "file://", "x", "x:", "+", "~", "~/", "$HOME", "$", "${", "}", "\\", " ",
            "\n", "\t", "ROOT", "/workspace", "deep", "{", "*",
        ]), 1..10),
        member in proptest::sample::select(vec!["path", "uri", "v", "command", "cwd"]),
    ) {
        WORLD.with(|world| {
            let text = parts.concat().replace("ROOT", &world.folder.path().display().to_string());
            let Ok(inside) = world.root.locate(&text) else { return Ok(()) };
            // Lines in what is not called a path are content.
            let is_content = inside.as_str().contains('\n') && ["v", "command"].contains(&member);
            let is_secret = inside.as_str().split('/').next() == Some("secrets") && !is_content;
            let arguments = json!({ member: text });
            let judgement = world.rules.judge(&Call {
                tool: "x",
                upstream: None,
                open_world: false,
                is_action: false,
                paths: None,
                input_schema: None,
                output_schema: None,
                arguments: &arguments,
                begun_with: None,
                answers: None,
                meta: None,
            });
            prop_assert!(!is_secret || judgement.stop.is_some(), "{arguments} is {inside}");
            Ok(())
        })?;
    }
}
