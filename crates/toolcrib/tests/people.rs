//! Who may answer at a command line, with real processes and terminals: a client in a process of its own asks, and the
//! answer comes from below it or beside it, with a terminal or without. `script` of util-linux gives the terminals.

#![expect(clippy::disallowed_methods, reason = "the test starts processes and writes a configuration")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tempfile::TempDir;

const TOOLCRIB: &str = env!("CARGO_BIN_EXE_toolcrib");

const CONFIG: &str = r#"
[workspace]
root = "."
[state]
dir = "state"
[approvals]
wait = "0s"
[[policy.rules]]
id = "mine"
effect = "ask"
tools = ["workspace_read"]
"#;

const REQUESTS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workspace_read","arguments":{"path":"a.md"}}}
"#;

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// A child of the client, as an agent's shell is.
    Below,
    /// A child of the client that has opened a terminal of its own.
    BelowAtATerminal,
    /// Another process, without a terminal.
    Beside,
    /// A person.
    BesideAtATerminal,
}

/// A client: a shell that starts what it is told to.
struct ClientProcess {
    shell: Child,
    told: ChildStdin,
    said: BufReader<ChildStdout>,
    folder: TempDir,
}

impl ClientProcess {
    fn start() -> ClientProcess {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toolcrib.toml"), CONFIG).unwrap();
        fs::write(folder.path().join("requests"), REQUESTS).unwrap();
        let mut shell = in_folder(Command::new("sh"), folder.path());
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (told, said) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
        ClientProcess { shell, told, said, folder }
    }

    /// Has the shell run this; what it prints.
    fn run(&mut self, command: &str) -> String {
        writeln!(self.told, "{{ {command}\n}} 2>&1; printf '\\ndone\\n'").unwrap();
        let (mut said, mut line) = (String::new(), String::new());
        while line != "done\n" {
            said += &line;
            line.clear();
            assert_ne!(self.said.read_line(&mut line).unwrap(), 0, "the shell ended: {said}");
        }
        said
    }

    /// The id of a question that the client has asked.
    fn asks(&mut self) -> String {
        let told = self.run(&format!("{TOOLCRIB} stdio --config toolcrib.toml <requests"));
        assert!(told.contains("approval_required"), "{told}");
        let listed = self.beside(&["approvals", "list", "--json"]);
        let id = listed.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next());
        let id = id.unwrap_or_else(|| panic!("a question: {listed}")).to_owned();
        let result = told.lines().find(|line| line.contains("approval_required")).unwrap();
        assert!(!result.contains(&id), "a model is not told the id: {result}");
        id
    }

    /// Runs the program beside the client, without a terminal.
    fn beside(&self, words: &[&str]) -> String {
        let mut command = in_folder(Command::new("setsid"), self.folder.path());
        command.args(["-w", TOOLCRIB]).args(words).args(["--config", "toolcrib.toml"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// Runs it at a terminal, and types each line once its question is there.
    fn at_a_terminal(&self, words: &[&str], typed: &[(&str, &str)]) -> String {
        let mut command = in_folder(Command::new("script"), self.folder.path());
        command.args([
            "-qefc",
            &format!("{TOOLCRIB} {} --config toolcrib.toml", words.join(" ")),
            "/dev/null",
        ]);
        let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut keys, mut screen) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (mut said, mut byte, mut read_to) = (Vec::new(), [0], 0);
        for (question, answer) in typed {
            while !String::from_utf8_lossy(&said[read_to..]).contains(question) {
                assert_eq!(
                    screen.read(&mut byte).unwrap(),
                    1,
                    "{question}: {}",
                    String::from_utf8_lossy(&said)
                );
                said.push(byte[0]);
            }
            read_to = said.len();
            keys.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
        screen.read_to_end(&mut said).unwrap();
        script.wait().unwrap();
        String::from_utf8_lossy(&said).into_owned()
    }

    fn answer(&mut self, from: From, words: &[&str]) -> String {
        let line = format!("{TOOLCRIB} {} --config toolcrib.toml", words.join(" "));
        match from {
            From::Below => self.run(&line),
            From::BelowAtATerminal => self.run(&format!("script -qefc '{line}' /dev/null </dev/null")),
            From::Beside => self.beside(words),
            From::BesideAtATerminal => self.at_a_terminal(words, &[]),
        }
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// In a home of its own, with nothing of ours.
fn in_folder(mut command: Command, folder: &Path) -> Command {
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_STATE_HOME");
    command
}

#[test]
fn an_answer_is_taken_from_a_terminal_beside_the_client_alone() {
    for (from, word, expected) in [
        (From::Below, "approve", "was started by the client that asks"),
        (From::Below, "deny", "was started by the client that asks"),
        (From::BelowAtATerminal, "approve", "was started by the client that asks"),
        (From::BelowAtATerminal, "deny", "was started by the client that asks"),
        (From::Beside, "approve", "this process has no terminal"),
        (From::Beside, "deny", "this process has no terminal"),
        (From::BesideAtATerminal, "approve", "approved"),
        (From::BesideAtATerminal, "deny", "denied"),
    ] {
        let mut client = ClientProcess::start();
        let id = client.asks();
        let said = client.answer(from, &["approvals", word, &id]);
        assert!(said.contains(expected), "{from:?} {word}: {said}");
        let shown = client.beside(&["approvals", "show", &id, "--json"]);
        let is_answered = from == From::BesideAtATerminal;
        assert_eq!(shown.contains("\"through\": \"terminal\""), is_answered, "{from:?} {word}: {shown}");
        assert_eq!(shown.contains("\"state\": \"pending\""), !is_answered, "{from:?} {word}: {shown}");
    }
}

/// An agent that starts a Toolcrib of its own would be the client that shows the form.
#[test]
fn a_form_goes_to_no_client_that_another_client_has_started() {
    let mut client = ClientProcess::start();
    let forms = REQUESTS.replace(r#""capabilities":{}"#, r#""capabilities":{"elicitation":{}}"#);
    fs::write(client.folder.path().join("forms"), &forms).unwrap();
    client.run(&format!(
        "mkfifo in; {TOOLCRIB} stdio --config toolcrib.toml <in >out & exec 3>in; cat requests >&3"
    ));
    client.run("while [ ! -S state/run/$!.sock ]; do sleep 0.05; done");
    let told = client.run(&format!("sh -c '{TOOLCRIB} stdio --config toolcrib.toml <forms; true'"));
    assert!(told.contains("approval_required") && !told.contains("elicitation/create"), "{told}");
    let mut another = in_folder(Command::new(TOOLCRIB), client.folder.path());
    another
        .args(["stdio", "--standalone", "--config", "toolcrib.toml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut another = another.spawn().unwrap();
    another.stdin.as_mut().unwrap().write_all(forms.as_bytes()).unwrap();
    let mut lines = BufReader::new(another.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told = lines.nth(1).expect("a second line");
    assert!(told.contains("elicitation/create"), "{told}");
    another.kill().unwrap();
    another.wait().unwrap();
}

/// What an agent could answer with later is not made by it either.
#[test]
fn a_persons_key_and_a_code_are_made_at_a_terminal() {
    let mut client = ClientProcess::start();
    // A Toolcrib of the client is running meanwhile: what is not about a question is held against its clients.
    client.run(&format!(
        "mkfifo in; {TOOLCRIB} stdio --config toolcrib.toml <in >out & exec 3>in; cat requests >&3"
    ));
    client.run("while [ ! -S state/run/$!.sock ]; do sleep 0.05; done");
    for words in [&["keys", "create", "bot", "--person"][..], &["approvals", "pin"]] {
        for (from, expected) in [
            (From::Below, "was started by the client that asks"),
            (From::BelowAtATerminal, "was started by the client that asks"),
            (From::Beside, "this process has no terminal"),
        ] {
            let said = client.answer(from, words);
            assert!(said.contains(expected), "{from:?} {words:?}: {said}");
        }
    }
    assert!(client.beside(&["keys", "list"]).contains("there is no key"));
    let said = client.answer(From::BesideAtATerminal, &["keys", "create", "ada", "--person"]);
    assert!(said.contains("tc_"), "{said}");
    assert!(client.beside(&["keys", "create", "ci"]).contains("tc_"), "others are made as before");
}

#[test]
fn a_code_is_typed_unseen_and_asked_for() {
    let mut client = ClientProcess::start();
    let set = [("New code", "k33n"), ("again", "k33n")];
    let said = client.at_a_terminal(&["approvals", "pin"], &set);
    assert!(said.contains("nothing is allowed without this code") && !said.contains("k33n"), "{said}");
    let id = client.asks();
    let approve = ["approvals", "approve", &id];
    let said = client.at_a_terminal(&approve, &[("Code", "wrong")]);
    assert!(said.contains("the code is wrong") && !said.contains("approved"), "{said}");
    let said = client.at_a_terminal(&approve, &[("Code", "k33n")]);
    assert!(said.contains("approved") && !said.contains("k33n"), "{said}");
    let said = client.at_a_terminal(&["approvals", "pin", "--remove"], &[("Present", "wrong")]);
    assert!(said.contains("the code is wrong"), "{said}");
    let said = client.at_a_terminal(&["approvals", "pin", "--remove"], &[("Present", "k33n")]);
    assert!(said.contains("take no code any more"), "{said}");
}

/// What is agreed to is what was shown, and no agent agrees.
#[test]
fn a_folder_is_agreed_to_at_a_terminal() {
    let mut client = ClientProcess::start();
    client.run(&format!(
        "mkfifo in; {TOOLCRIB} stdio --config toolcrib.toml <in >out & exec 3>in; cat requests >&3"
    ));
    client.run("while [ ! -S state/run/$!.sock ]; do sleep 0.05; done");
    let project = client.folder.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("toolcrib.toml"), "[mcp.own]\ncommand = \"x\"\nenv = { A = { store = \"T\" } }\n")
        .unwrap();
    let said = client.answer(From::Beside, &["trust", "project"]);
    assert!(said.contains("starts x") && said.contains("nobody can be asked here"), "{said}");
    let said = client.at_a_terminal(&["trust", "project"], &[("agree to mcp.own?", "n")]);
    assert!(said.contains("your kept secret T"), "{said}");
    assert!(!client.beside(&["trust", "project", "--json"]).contains("agreed_at_ms"));
    let typed = [("agree to mcp.own?", "y"), ("may mcp.own use your kept secret T?", "y")];
    client.at_a_terminal(&["trust", "project"], &typed);
    let shown = client.beside(&["trust", "project", "--json"]);
    assert!(shown.contains("agreed_at_ms") && shown.contains("\"waiting\": []"), "{shown}");
    let said = client.beside(&["trust", "project", "--revoke"]);
    assert!(said.contains("what you had agreed to is taken back"), "{said}");
    assert!(client.beside(&["trust", "project"]).contains("starts x"), "it waits again");
}
