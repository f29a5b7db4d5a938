//! Operations by the socket: the same comes of each as by the command of its name.

use super::*;

#[test]
fn an_operation_comes_to_the_same_by_socket_and_by_command() {
    run(async {
        let text = "[policy]\nallow = [\"workspace_*\"]\n[mcp.off]\ncommand = \"x\"\nenabled = false\n";
        let process = Process::start(folder(), text).await;
        let project = process.folder.path().join("project");
        std::fs::create_dir(&project).expect("a folder");
        std::fs::write(project.join("toolcrib.toml"), "[mcp.own]\ncommand = \"x\"\n").expect("written");
        let list = || Call::tool("workspace_list", Some(r#"{"path":"."}"#.to_owned().into()));
        for _ in 0..3 {
            process.crib.gate.call(&Caller::local_user(Via::CommandLine), list()).await.expect("listed");
        }
        process.crib.shared.audit_log.flush().expect("written");
        let file = process.folder.path().join("toolcrib.toml");
        let surroundings = surroundings(process.folder.path());
        let redactor = redact::Redactor::new(&redact::Config::default());
        let by_command = crate::administration::all(Some(&file), &surroundings, &redactor, Neighbours::on);
        let by_command = Arc::new(by_command.expect("a sound configuration"));
        for (operation, input) in [
            ("approvals.list", json!({ "all": true })),
            ("approvals.show", json!({ "id": "nobody" })),
            ("keys.list", json!({})),
            ("keys.create", json!({ "name": "anna", "person": true })),
            ("secrets.list", json!({})),
            ("audit.verify", json!({})),
            ("audit.tail", json!({ "lines": 3 })),
            ("import.preview", json!({ "from": ["nobody"] })),
            ("import.preview", json!({})),
            ("import.preview", json!({ "from": ["cursor"], "environment": { "HOME": "/nowhere" } })),
            ("audit.export", json!({ "records": 2 })),
            ("audit.export", json!({ "records": 2, "after": 1, "format": "csv" })),
            ("audit.export", json!({ "since_ms": 1, "format": "otlp" })),
            ("audit.export", json!({ "format": "xml" })),
            ("servers.list", json!({})),
            ("servers.status", json!({})),
            ("servers.status", json!({ "servers": ["of"] })),
            ("servers.reload", json!({})),
            ("servers.reconnect", json!({ "server": "off" })),
            ("servers.reconnect", json!({ "server": "on" })),
            ("servers.stderr", json!({ "server": "off" })),
            ("folders.list", json!({})),
            ("folders.show", json!({ "folder": project })),
            ("folders.show", json!({ "folder": "/nowhere/at/all" })),
            ("folders.agree", json!({ "folder": project, "to": [] })),
            (
                "folders.agree",
                json!({ "folder": project, "to": [{ "declaration": "toolcrib.toml mcp.own", "sha256": "ab" }] }),
            ),
            ("folders.revoke", json!({ "folder": project })),
            ("mcp.list", json!({})),
            ("policy.explain", json!({ "tool": "workspace_write", "arguments": { "path": "CLAUDE.md" } })),
            ("policy.explain", json!({ "tool": "workspace_wrote" })),
            ("policy.test", json!({})),
            ("policy.replay", json!({ "last": 9 })),
            ("trust.list", json!({})),
            ("trust.show", json!({ "server": "git", "item": "x" })),
            ("rules.check", json!({})),
            ("rules.show", json!({})),
            ("rules.test", json!({ "tool": "workspace_read", "arguments": { "path": "a" } })),
        ] {
            let (admin, given) = (by_command.clone(), input.clone());
            let work = move || admin.perform(operation, given, &admin::By::owner());
            let here = tokio::task::spawn_blocking(work).await.expect("it does not panic");
            let here =
                here.map_or_else(|fault| json!({ "fault": fault }), |output| json!({ "output": output }));
            let request = json!({ "do": "operate", "operation": operation, "input": input });
            let there = process.ask(format!("{request}\n").as_bytes()).await;
            assert_eq!(serde_json::from_str::<Value>(&there).expect("JSON"), json!([{ "ok": here }]));
        }
        let theirs = json!({ "from": ["cursor"], "environment": { "HOME": "/nowhere" } });
        let request = json!({ "do": "operate", "operation": "import.preview", "input": theirs });
        let answer = process.ask(format!("{request}\n").as_bytes()).await;
        assert!(answer.contains("Cursor has no file at /nowhere/.cursor/mcp.json"), "{answer}");
        let (mut last, mut seen) = (Some(0), Vec::new());
        while let Some(after) = last.filter(|_| seen.len() < 9) {
            let input = json!({ "records": 2, "after": after });
            let request = json!({ "do": "operate", "operation": "audit.export", "input": input });
            let page: Value =
                serde_json::from_str(&process.ask(format!("{request}\n").as_bytes()).await).expect("JSON");
            let page = &page[0]["ok"]["output"];
            seen.push((page["records"].as_u64(), page["text"].as_str().map(|text| text.lines().count())));
            last = page["last"].as_u64();
        }
        assert_eq!(seen, [(Some(2), Some(2)), (Some(1), Some(1)), (Some(0), Some(0))]);
        let request = json!({ "do": "operate", "operation": "keys.create", "input": { "name": "ci" } });
        let created: Value =
            serde_json::from_str(&process.ask(format!("{request}\n").as_bytes()).await).expect("JSON");
        let key = created[0]["ok"]["output"]["key"].as_str().expect("shown this once");
        assert!(key.starts_with("tc_") && key.len() == 59, "{created}");
        process.end().await;
    });
}

#[test]
fn what_an_import_lacks_is_in_no_other_operations_way() {
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path().join("project");
    std::fs::create_dir(&project).expect("a folder");
    // Somebody else's, and wrong.
    std::fs::write(project.join("toolcrib.toml"), "[mcp.x\n").expect("written");
    let variables = [("HOME".into(), home.path().into())].into();
    let surroundings = Surroundings { current_dir: project, variables, ..Surroundings::default() };
    let redactor = redact::Redactor::new(&redact::Config::default());
    let admin = crate::administration::all(None, &surroundings, &redactor, Neighbours::on);
    let admin = admin.expect("the person's own configuration is sound");
    let by = admin::By::owner();
    assert!(admin.perform("keys.list", json!({}), &by).is_ok());
    let fault = admin.perform("import.preview", json!({}), &by).expect_err("it cannot be read");
    assert_eq!(fault.code, "configuration", "{fault}");
}
