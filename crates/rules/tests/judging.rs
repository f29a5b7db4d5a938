//! Judging as data: a rules file, a call, perhaps what it gave, and everything that the rules say of it.

#![expect(clippy::disallowed_methods, reason = "the tests write the rules files that they judge by")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "judging/actions.rs"]
mod actions;
#[path = "judging/changed.rs"]
mod changed;
#[path = "judging/files.rs"]
mod files;
#[path = "judging/layers.rs"]
mod layers;
#[path = "judging/matching.rs"]
mod matching;
#[path = "judging/results.rs"]
mod results;
#[path = "judging/seed.rs"]
mod seed;
#[path = "judging/spellings.rs"]
mod spellings;

use std::fmt::Write as _;
use std::ops::Not as _;
use std::path::PathBuf;

use rules::{Call, Holds, Mode, OnResult, Rules, Settings, Vocabulary};
use serde_json::Value;

/// Some words of a protocol.
fn vocabulary() -> Vocabulary {
    let others =
        ["content", "contents", "text", "data", "blob", "uri", "name", "message", "isError", "maxTokens"];
    let forms = [
        ("action", Holds::Words(&["accept", "decline", "cancel"])),
        ("arguments", Holds::Foreign),
        ("_meta", Holds::Foreign),
        ("createdAt", Holds::Time),
        ("mimeType", Holds::MediaType),
        ("progressToken", Holds::Identifier),
        ("resultType", Holds::Words(&["complete", "task"])),
        ("role", Holds::Words(&["user", "assistant"])),
        ("status", Holds::Words(&["working", "input_required", "completed", "failed", "cancelled"])),
        ("structuredContent", Holds::Foreign),
        ("taskId", Holds::Identifier),
        ("type", Holds::Words(&["text", "image", "resource", "object", "string"])),
    ];
    others.map(|name| (name, Holds::Other)).into_iter().chain(forms).collect()
}

/// A workspace called `internal/monorepo`, with whatever rules files.
struct World {
    folder: tempfile::TempDir,
    settings: Settings,
    /// What the tools declare of arguments and results.
    schema: Option<bytes::Bytes>,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap().join("internal/monorepo");
        std::fs::create_dir_all(&workspace).unwrap();
        let local_upstreams = ["git".to_owned()].into();
        let spellings = vec!["/workspace".into()];
        let home = workspace.parent().map(PathBuf::from);
        let vocabulary = vocabulary();
        let settings =
            Settings { workspace, spellings, home, local_upstreams, vocabulary, ..Settings::default() };
        World { folder, settings, schema: None }
    }

    /// Writes a file below the workspace.
    fn file(self, path: &str, text: &str) -> World {
        self.write(path, text);
        self
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.settings.workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn organisation(mut self, text: &str) -> World {
        self.settings.organisation = Some(self.write("../organisation.yaml", text));
        self
    }

    fn user(mut self, text: &str) -> World {
        self.settings.user = Some(self.write("../user.yaml", text));
        self
    }

    fn schema(mut self, text: &'static str) -> World {
        self.schema = Some(text.into());
        self
    }

    fn mode(mut self, mode: Mode) -> World {
        self.settings.mode = mode;
        self
    }

    /// With the servers whose calls the project's rules may change.
    fn own_servers(mut self, names: &[&str]) -> World {
        self.settings.own_servers = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    fn rules(&self) -> Rules {
        Rules::new(self.settings.clone())
    }

    /// A text without the folder that differs with every run.
    fn plain(&self, text: &str) -> String {
        let root = self.settings.workspace.display().to_string();
        text.replace(&root, "ROOT").replace(&*self.folder.path().to_string_lossy(), "TMP")
    }

    /// What the rules say of a call, and of what it gave.
    fn said(&self, rules: &Rules, call: &str, gave: &str) -> String {
        let (call, meta) = call.split_once(" & ").unwrap_or((call, ""));
        let (call, answers) = call.split_once(" + ").unwrap_or((call, ""));
        let (name, arguments) = call.split_once(' ').unwrap();
        let arguments = arguments.replace("ROOT", &self.settings.workspace.display().to_string());
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        // `upstream/tool`, `tool`, or `tool!` for one that reaches the world.
        let (upstream, tool) = name.split_once('/').map_or((None, name), |(up, tool)| (Some(up), tool));
        let (tool, open_world) = tool.strip_suffix('!').map_or((tool, false), |tool| (tool, true));
        // What stands behind `+` is what the client answers in a further round, behind `&` what it sends beside the arguments.
        let answers = answers.is_empty().not().then_some(answers);
        let meta = meta.is_empty().not().then_some(meta);
        let judgement = rules.judge(&Call {
            tool,
            upstream,
            open_world,
            is_action: false,
            // Our own tools say which of their arguments are paths.
            paths: (upstream.is_none() && tool.starts_with("workspace_")).then_some(&["path"]),
            input_schema: self.schema.as_ref(),
            output_schema: self.schema.as_ref(),
            arguments: &arguments,
            begun_with: None,
            answers,
            meta,
        });
        let mut said = String::new();
        for finding in &judgement.findings {
            writeln!(said, "{} {}: {}", finding.layer.word(), finding.rule, finding.effect).unwrap();
        }
        for approval in &judgement.approvals {
            writeln!(said, "ask {:?} {}: `{tool}` {}", approval.roles, approval.rule, approval.why).unwrap();
        }
        if let Some(arguments) = &judgement.arguments {
            writeln!(said, "arguments {arguments}").unwrap();
        }
        if let Some(answers) = &judgement.answers {
            writeln!(said, "answers {answers}").unwrap();
        }
        if let Some(meta) = &judgement.meta {
            writeln!(said, "meta {meta}").unwrap();
        }
        if judgement.struck > 0 {
            writeln!(said, "struck {}", judgement.struck).unwrap();
        }
        match judgement.stop {
            Some(stop) => writeln!(said, "STOP {}: `{tool}` {}", stop.rule, stop.why).unwrap(),
            None if gave.is_empty() => {}
            None => said.push_str(&after(judgement.on_result, gave)),
        }
        if said.is_empty() { "nothing".to_owned() } else { self.plain(said.trim_end()) }
    }
}

/// What the rules say of what a call gave: `text …`, `structured {…}`, `message {…}` or `bytes 00 …`.
fn after(on_result: Option<OnResult>, gave: &str) -> String {
    let Some(mut on_result) = on_result else { return format!("gave {gave}\n") };
    let (kind, content) = gave.split_once(' ').unwrap();
    let left = match kind {
        "text" => on_result.text(content),
        "structured" => on_result.structured(content.as_bytes()),
        "message" => on_result.message(content.as_bytes()),
        "bytes" => {
            let bytes: Vec<u8> =
                content.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
            let left = on_result.bytes(&bytes).map(|left| String::from_utf8(left).unwrap());
            left.or(Some("as it was".to_owned()))
        }
        _ => panic!("{kind}"),
    };
    let words = on_result.end();
    let mut said = String::new();
    for finding in &words.findings {
        writeln!(said, "after: {} {}: {}", finding.layer.word(), finding.rule, finding.effect).unwrap();
    }
    if words.struck > 0 {
        writeln!(said, "after: struck {}", words.struck).unwrap();
    }
    match words.stop {
        Some(stop) => writeln!(said, "after: STOP {}: it {}", stop.rule, stop.why).unwrap(),
        None => writeln!(said, "gave {}", left.as_deref().unwrap_or(content)).unwrap(),
    }
    said
}

/// A project's rules: one rule from what it matches and what it does, in YAML.
fn one_rule(matches: &str, action: &str) -> String {
    format!("version: '1.0'\nrules:\n- id: r\n  match: {matches}\n  action: {action}\n")
}

/// The only place that judges by one rule.
#[track_caller]
fn check(matches: &str, action: &str, call: &str, expected: expect_test::Expect) {
    check_result(matches, action, call, "", expected);
}

#[track_caller]
fn check_result(matches: &str, action: &str, call: &str, gave: &str, expected: expect_test::Expect) {
    let world = World::new().file(".toolcrib/ai-rules.yaml", &one_rule(matches, action));
    expected.assert_eq(&world.said(&world.rules(), call, gave));
}
