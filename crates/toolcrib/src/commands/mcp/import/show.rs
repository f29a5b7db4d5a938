//! An import, as it is shown: whole command lines, since they are what would run, and no values that may be secret.

use std::fmt::Write as _;
use std::path::Path;

use admin::import::{FoundIn, Gathered, Moving, Plan, Planned, SealedKey, Stays, Taken};
use clients::Server;
use terminal::print;

/// The plan for a person.
pub(super) fn text(gathered: &Gathered, plan: &Plan, taken: &Taken, target: &Path) -> String {
    let mut out = String::new();
    for planned in &plan.add {
        out.push_str(&one(planned));
        out.push('\n');
    }
    if !plan.skipped.is_empty() {
        out.push_str("not taken:\n");
        for skipped in &plan.skipped {
            let line = format!("  {} ({}): {}", skipped.from.name, place(&skipped.from), skipped.why);
            let _ = writeln!(out, "{}", on_one_line(&line));
        }
        out.push('\n');
    }
    for list in &taken.lists {
        let _ = writeln!(out, "{} ({})", on_one_line(&list.to_string()), on_one_line(&list.from));
    }
    for line in &taken.told {
        let _ = writeln!(out, "left: {}", on_one_line(line));
    }
    for note in &gathered.notes {
        let _ = writeln!(out, "note: {}", on_one_line(note));
    }
    let files = gathered.files.len();
    let end = match counted(plan, taken) {
        None if files == 0 => "no client's file was found; nothing to add".to_owned(),
        None => "nothing to add".to_owned(),
        Some(counted) => format!("{counted} for {}", target.display()),
    };
    out.push_str(&end);
    out
}

/// How much would be added; nothing if there is nothing.
pub(super) fn counted(plan: &Plan, taken: &Taken) -> Option<String> {
    let counts = [(plan.add.len(), "server"), (taken.lists.len(), "setting")].into_iter();
    let counts = counts.filter(|(count, _)| *count > 0).map(|(count, what)| print::counted(count, what));
    counts.reduce(|servers, settings| format!("{servers} and {settings}"))
}

/// What becomes of the clients' files and of the keys in them, for a person; nothing if nothing does.
pub(super) fn moving(moving: &Moving, keys: &[SealedKey]) -> String {
    let mut lines = Vec::new();
    for key in keys {
        lines.push(format!("secret {}: the value of {}, kept sealed", key.name, key.place));
    }
    for file in &moving.files {
        lines.push(format!("{}: {}", file.client.title, file.place.path.display()));
        lines.extend(file.taken.iter().map(|name| format!("- {name}")));
        lines.extend(file.gets_ours.then(|| "+ toolcrib".to_owned()));
    }
    for Stays { entry, why } in &moving.stays {
        lines.push(format!("{} stays in {}: {why}", entry.name, entry.place.path.display()));
    }
    lines.iter().map(|line| on_one_line(line)).collect::<Vec<_>>().join("\n")
}

/// One server that would be added.
fn one(planned: &Planned) -> String {
    let shown = planned.server.masked();
    let mut out = String::new();
    // Writing to a text cannot fail.
    let _ = writeln!(out, "[mcp.{}]", on_one_line(&toml_edit::Key::new(&planned.name).display_repr()));
    let mut row = |title: &str, text: &str| {
        let _ = writeln!(out, "  {title:<8} {}", on_one_line(text));
    };
    for from in &planned.from {
        let name = if from.name == planned.name { String::new() } else { format!(" ({})", from.name) };
        row("from", &format!("{}{name}", place(from)));
    }
    match &shown.url {
        Some(url) => row("reaches", url),
        None => row("runs", &command_line(&shown)),
    }
    if let Some(cwd) = &shown.cwd {
        row("in", cwd);
    }
    for (title, values) in [("env", &shown.env), ("headers", &shown.headers)] {
        if !values.is_empty() {
            let pairs: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
            row(title, &pairs.join(" "));
        }
    }
    for (title, globs) in [("offers", &shown.include), ("but not", &shown.exclude)] {
        if !globs.is_empty() {
            row(title, &globs.join(" "));
        }
    }
    let hidden: Vec<String> = planned.server.references().difference(&shown.references()).cloned().collect();
    if !hidden.is_empty() {
        row("with", &hidden.join(" "));
    }
    planned.findings.remarks.iter().for_each(|remark| row("note", remark));
    planned.findings.missing.iter().for_each(|what| row("needs", what));
    match (planned.findings.missing.is_empty(), shown.enabled == Some(false)) {
        (false, _) => row("added", "with `enabled = false`, until it has what it needs"),
        (true, true) => row("added", "with `enabled = false`, as it is off there"),
        (true, false) => {}
    }
    out
}

/// The text as it can neither pretend to be another line nor be shown in another order than it runs.
fn on_one_line(text: &str) -> String {
    print::harmless(text).replace(['\n', '\t'], "\u{fffd}")
}

fn place(from: &FoundIn) -> String {
    format!("{}, {}", from.client, from.file)
}

/// The command line as a shell would take it.
fn command_line(server: &Server) -> String {
    server.endpoint().into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A word in quotes, if it needs them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@=,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use admin::import::Skipped;
    use clients::Findings;

    use super::*;

    #[test]
    fn whole_command_lines_and_no_secret() {
        let from = |name: &str| FoundIn {
            client: "Cursor".to_owned(),
            file: "/f.json".to_owned(),
            name: name.to_owned(),
        };
        let args = ["-c", "rm -rf 'it'", "", "\u{1b}[2J\nnote:\u{202e}", "a=b"];
        let secrets = [
            ("KEY", "hunter2"),
            ("REF", "${env:REF}"),
            ("BOTH", "hunter2 ${env:REF}"),
            ("FILE", "{file:/etc/passwd}"),
        ];
        let program = Server {
            command: Some("sh".to_owned()),
            args: args.map(str::to_owned).into(),
            env: secrets.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            cwd: Some("/work".to_owned()),
            ..Server::default()
        };
        let address = Server {
            url: Some("https://ada:hunter2@a.example/mcp?key={env:KEY}".to_owned()),
            headers: [("X-Key".to_owned(), "hunter2".to_owned())].into(),
            enabled: Some(false),
            ..Server::default()
        };
        let findings = Findings { remarks: vec!["something".to_owned()], missing: Vec::new() };
        let needs = Findings { remarks: Vec::new(), missing: vec!["a token".to_owned()] };
        let plan = Plan {
            add: vec![
                Planned {
                    name: "a b".to_owned(),
                    server: program,
                    findings,
                    from: vec![from("a b"), from("c")],
                    entries: Vec::new(),
                },
                Planned {
                    name: "web".to_owned(),
                    server: address,
                    findings: needs,
                    from: vec![from("web")],
                    entries: Vec::new(),
                },
            ],
            skipped: vec![Skipped { from: from("git"), why: "it is Toolcrib itself".to_owned() }],
            ..Plan::default()
        };
        let gathered = Gathered { notes: vec!["a note".to_owned()], ..Gathered::default() };
        let shown = text(&gathered, &plan, &Taken::default(), Path::new("/crib.toml"));
        assert!(!shown.contains("hunter2"), "{shown}");
        expect![[r#"
            [mcp."a b"]
              from     Cursor, /f.json
              from     Cursor, /f.json (c)
              runs     sh -c 'rm -rf '\''it'\''' '' '�[2J�note:�' a=b
              in       /work
              env      BOTH=*** FILE=*** KEY=*** REF=${env:REF}
              with     ${file:/etc/passwd}
              note     something

            [mcp.web]
              from     Cursor, /f.json
              reaches  https://***@a.example/mcp?key=***
              headers  X-Key=***
              with     ${env:KEY}
              needs    a token
              added    with `enabled = false`, until it has what it needs

            not taken:
              git (Cursor, /f.json): it is Toolcrib itself

            note: a note
            2 servers for /crib.toml"#]]
        .assert_eq(&shown);
    }
}
