//! Declared tools through the whole gate: what their programs get, what becomes of what they print, and how they end.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use declared::Format;
use gate::jobs::Wants;
use gate::{
    Block, Call, Cancel, DECLARED, Failure, Features, Outcome, Payload, ProgramSettings, RateConfig, Ruleset,
};
use serde_json::{Value, json};
use testkit::SampleGate;
use tool_api::{AnyTool, Artifact};

use super::{call, holding, owner, recorded, sample, told};

/// The tool `sample`, whose program is a script of `sh`; `more` are lines of its manifest.
fn manifest(script: &str, more: &str) -> String {
    let script = script.replace('{', "{{").replace('}', "}}");
    let effect = if more.contains("effect = ") { "" } else { "effect = \"reads\"" };
    format!(
        "id = \"sample\"\nname = \"Sample\"\ndescription = \"A sample.\"\nscopes = [\"read_workspace\"]\n{effect}\n\
         command = [\"sh\", \"-c\", {script:?}]\n{more}\n\
         inputs = {{ type = \"object\", properties = {{ text = {{ type = \"string\" }} }}, additionalProperties = false }}\n\
         outputs = {{ type = \"object\", properties = {{ n = {{ type = \"integer\" }} }}, required = [\"n\"] }}\n"
    )
}

fn tool(text: &str, folder: &std::path::Path) -> Arc<dyn AnyTool> {
    declared::tool(text, Format::Toml, folder).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// A gate that has it.
fn offering(text: &str) -> SampleGate {
    let sample = sample(ProgramSettings::default());
    let tools = vec![tool(text, sample.workspace())];
    assert_eq!(sample.gate.catalog().replace(DECLARED, tools, Features::default()), []);
    sample
}

async fn ask(sample: &SampleGate, arguments: &Value) -> Result<Value, Failure> {
    told(call(sample, &owner(), "sample", arguments, (Cancel::new(), None)).await?)
}

/// What comes of a script: the number that it gives, or the code of the failure and a part of its sentence.
async fn check(script: &str, more: &str, expected: Result<i64, (&str, &str)>) {
    let sample = offering(&manifest(script, more));
    match (ask(&sample, &json!({ "text": "hello" })).await, expected) {
        (Ok(value), Ok(number)) => assert_eq!(value, json!({ "n": number }), "{script}"),
        (Err(failure), Err((code, part))) => {
            assert_eq!(failure.code(), code, "{script}: {failure}");
            assert!(failure.to_string().contains(part), "{script}: {failure}");
        }
        (found, expected) => panic!("{script}: {found:?}, expected {expected:?}"),
    }
}

#[tokio::test]
async fn a_program_gets_its_arguments_and_gives_one_json_value() {
    check("printf '{\"n\": 1}'", "", Ok(1)).await;
    check("echo '{\"n\": 2}'; echo noise >&2", "", Ok(2)).await;
    // `{"text":"hello"}` on stdin, to its end.
    check("printf '{\"n\": %d}' $(wc -c)", "", Ok(16)).await;
    // It need not be read.
    check("exec printf '{\"n\": 3}'", "", Ok(3)).await;
}

#[tokio::test]
async fn what_is_no_result_is_told_in_words() {
    let invalid = |part| Err(("invalid_output", part));
    check("true", "", invalid("printed nothing on stdout")).await;
    check("echo hello", "", invalid("printed no JSON value on stdout: expected value at line 1 column 1"))
        .await;
    check("printf '{\"n\":'; echo why >&2", "", invalid("it said last:\nwhy")).await;
    check("echo '{\"n\":1}{}'", "", invalid("more than one JSON value")).await;
    check("printf '\\377'", "", invalid("printed no JSON value")).await;
    check("printf '{\"n\":\"x\"}'", "", invalid("/n: expected integer")).await;
    check("printf '[1]'", "", invalid("(the whole)")).await;
    check("printf '{\"n\":1}'; exit 3", "", Err(("tool_failed", "exited with code 3"))).await;
    check("printf '{\"n\":1}'; kill -9 $$", "", Err(("tool_failed", "was ended by signal 9"))).await;
}

#[tokio::test]
async fn a_program_that_goes_too_far_is_ended() {
    let large = ("result_too_large", "more than 8 MiB on stdout");
    check("yes | head -c 2000000000", "", Err(large)).await;
    check("yes >&2", "", Err(("limit_reached", "its limit of output_bytes"))).await;
    let deaf = "trap '' TERM INT HUP; while :; do sleep 1; done";
    check(deaf, "timeout_seconds = 1", Err(("timeout", "did not answer within 1s"))).await;
}

#[tokio::test]
async fn a_dry_run_only_looks_and_is_the_default_where_something_could_be_written() {
    const SAYS: &str = "effect = \"writes\"\ndry_run_supported = true";
    // What it is told, and whether it could write: 0 it could not.
    let script = "grep -c '\"dry_run\":true' > /tmp/dry; echo x 2>/dev/null > made && w=1 || w=0; \
                  printf '{\"n\":%d}' $((10 * $(cat /tmp/dry) + w))";
    let writing =
        manifest(script, SAYS).replace("[\"read_workspace\"]", "[\"read_workspace\", \"write_workspace\"]");
    for (text, arguments, number) in [
        (&writing, json!({}), 10),
        (&writing, json!({ "dry_run": true }), 10),
        (&writing, json!({ "dry_run": false }), 1),
        // Whoever may not write has nothing to be asked about.
        (&manifest(script, SAYS), json!({}), 1),
        (&manifest(script, SAYS), json!({ "dry_run": true }), 10),
    ] {
        let sample = offering(text);
        assert_eq!(ask(&sample, &arguments).await.expect("a result"), json!({ "n": number }), "{arguments}");
        assert_eq!(sample.workspace().join("made").exists(), number == 1, "{arguments}");
    }
    let sample = offering(&manifest("printf '{\"n\":1}'", ""));
    assert_eq!(
        ask(&sample, &json!({ "dry_run": true })).await.expect_err("unknown").code(),
        "invalid_arguments"
    );
}

#[tokio::test]
async fn what_fails_is_tried_again_where_that_does_no_harm() {
    // It works the third time: the workspace remembers.
    let script = "echo x >> tries; n=$(wc -l < tries); test $n -ge 3 && printf '{\"n\":%d}' $n";
    for (retries, expected) in [(2, Ok(json!({ "n": 3 }))), (1, Err("tool_failed")), (0, Err("tool_failed"))]
    {
        let more = format!("effect = \"writes\"\nidempotent = true\nretries = {retries}");
        let sample = offering(&manifest(script, &more));
        let came = ask(&sample, &json!({})).await;
        assert_eq!(
            came.as_ref().map_err(Failure::code),
            expected.as_ref().map_err(|code| *code),
            "{retries}"
        );
        let tries = fs::read_to_string(sample.workspace().join("tries")).expect("a file");
        assert_eq!(tries.lines().count(), retries + 1);
    }
    // A wrong value is no better the second time.
    let sample = offering(&manifest("printf '{\"n\":1}'; yes >&2", "idempotent = true\nretries = 3"));
    assert_eq!(ask(&sample, &json!({})).await.expect_err("a limit").code(), "limit_reached");
}

/// What was told while a script ran: each step and each message, in their order.
async fn heard(script: &str, more: &str) -> Vec<String> {
    let sample = offering(&manifest(script, more));
    let heard = Arc::new(Heard::default());
    let outcome = call(&sample, &owner(), "sample", &json!({}), (Cancel::new(), Some(heard.clone()))).await;
    outcome.expect("a result");
    heard.0.lock().expect("no panic").clone()
}

#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl gate::Listener for Heard {
    fn progress(&self, progress: gate::Progress) {
        if let gate::Progress::Step { done, total, message } = progress {
            self.0
                .lock()
                .expect("no panic")
                .push(format!("{done} {total:?} {}", message.unwrap_or_default()));
        }
    }

    fn log(&self, params: bytes::Bytes) {
        self.0.lock().expect("no panic").push(String::from_utf8_lossy(&params).into_owned());
    }
}

#[tokio::test]
async fn what_it_tells_on_descriptor_3_is_passed_on_and_no_part_of_the_result() {
    let script = r#"echo '{"type":"progress","done":1,"total":4,"message":"half"}' >&3
        echo 'no JSON' >&3; echo '{"type":"other"}' >&3; head -c 100000 /dev/zero | tr '\0' x >&3; echo >&3
        echo '{"type":"progress","done":1}' >&3
        printf '{"type":"output","chu' >&3; printf '%s\n' 'nk":"line\n"}' >&3
        echo '{"type":"progress","done":3}' >&3; printf '{"n":1}'"#;
    let chunk = r#"{"data":"line\n","level":"info","logger":"sample"}"#;
    assert_eq!(heard(script, "").await, ["1 Some(4.0) half", chunk, "3 None "]);
    let script = r#"test -e tried && printf '{"n":1}' && exit; echo >> tried; echo '{"type":"progress","done":5}' >&3; exit 3"#;
    let again = heard(script, "effect = \"writes\"\nidempotent = true\nretries = 1").await;
    let told = "attempt 1 of 2 failed: the program of `sample` exited with code 3; the next begins in 1 s";
    assert_eq!(again, ["5 None ", &format!("6 None {told}")]);
}

/// What a script's run says beside its result, or with its failure, with the ids of artifacts left out; and what these hold.
async fn kept(script: &str, more: &str, files: &[(&str, &str)]) -> (String, Vec<String>) {
    let (sample, artifacts) = sample(ProgramSettings::default()).keeping_artifacts();
    sample.plant(&["planted-secret-1"]);
    let tools = vec![tool(&manifest(script, more), sample.workspace())];
    sample.gate.catalog().replace(DECLARED, tools, Features::default());
    for (name, text) in files {
        fs::write(sample.workspace().join(name), text).expect("a file");
    }
    let came = call(&sample, &owner(), "sample", &json!({}), (Cancel::new(), None)).await;
    let facts: Vec<Value> = match &came {
        Ok(outcome) => outcome.artifacts.iter().map(Artifact::facts).collect(),
        Err(Failure::Tool(error)) => {
            let told = error.details().and_then(|details| details["artifacts"].as_array());
            told.cloned().unwrap_or_default()
        }
        Err(other) => panic!("{other:?}"),
    };
    let mut said = match came {
        Ok(Outcome { payload: Payload::Ours { blocks, .. }, .. }) => match &blocks[..] {
            [Block::Text(_), Block::Text(said)] => said.clone(),
            [Block::Text(_)] => String::new(),
            other => panic!("{other:?}"),
        },
        Ok(other) => panic!("{other:?}"),
        Err(failure) => failure.to_string(),
    };
    let mut texts = Vec::new();
    while let Some(at) = said.to_lowercase().find(" read it with") {
        let rest = said.split_off(at);
        let (id, rest) = rest[" Read it with artifact_read (id: \"".len()..].split_at(32);
        said.push_str(rest["\")".len()..].trim_start_matches('.'));
        let reader = artifacts.open_any(id).expect("a disk").expect("it is kept");
        let mut bytes = vec![0; usize::try_from(reader.entry.bytes).expect("it is small")];
        assert_eq!(reader.read_at(0, &mut bytes).expect("a disk"), bytes.len());
        let entry = &reader.entry;
        let is_it = |one: &&Value| one["id"] == id;
        let fact = facts.iter().find(is_it).unwrap_or_else(|| panic!("no {id} in {facts:?}"));
        assert_eq!((&fact["name"], &fact["sha256"]), (&json!(entry.name), &json!(entry.sha256)), "{fact}");
        assert_eq!((&fact["uri"], &fact["bytes"]), (&json!(format!("artifact://{id}")), &json!(entry.bytes)));
        texts.push(String::from_utf8(bytes).expect("text"));
    }
    assert_eq!(facts.len(), texts.len(), "{facts:?}");
    (said, texts)
}

#[tokio::test]
async fn what_it_tells_of_artifacts_is_kept_and_the_result_says_where() {
    let script = r#"exec 4>&1 1>&3; printf '{"n":1}' >&4
        printf '%s\n' '{"type":"artifact","name":"a.txt","text":"one planted-secret-1\n"}'
        echo '{"type":"artifact","name":"b","media_type":"text/html","file":"page.html"}'
        echo '{"type":"artifact","name":"a.txt","text":"two"}'"#;
    let (said, texts) = kept(script, "", &[("page.html", "<p>")]).await;
    assert_eq!(
        said,
        "[artifact \"b\": text/html, 3 bytes.]\n[artifact \"a.txt\": text/plain; charset=utf-8, 26 bytes.]"
    );
    assert_eq!(texts, ["<p>", "one [REDACTED:PLANTED]\ntwo"]);
    // The failure of one that failed says it as well.
    let fails = r#"echo '{"type":"artifact","name":"a","text":"x"}' >&3; exit 3"#;
    let (said, texts) = kept(fails, "", &[]).await;
    let failed =
        "the program of `sample` exited with code 3\n[artifact \"a\": text/plain; charset=utf-8, 1 bytes.]";
    assert_eq!((said.as_str(), &texts[..]), (failed, &["x".to_owned()][..]));
}

#[tokio::test]
async fn what_is_no_result_is_kept_to_be_looked_at() {
    let (said, texts) = kept("echo half planted-secret-1", "", &[]).await;
    let none = "the program of `sample` printed no JSON value on stdout: expected value at line 1 column 1";
    assert_eq!(said, format!("{none}\n[artifact \"stdout.txt\": text/plain; charset=utf-8, 24 bytes.]"));
    assert_eq!(texts, ["half [REDACTED:PLANTED]\n"]);
    let (said, texts) = kept(r#"printf '{"n":"planted-secret-1"}'"#, "", &[]).await;
    assert!(
        said.contains("breaks its own output schema") && said.ends_with("What it gave is kept:"),
        "{said}"
    );
    assert_eq!(texts, [r#"{"n":"[REDACTED:PLANTED]"}"#]);
    let (said, texts) = kept("true", "", &[]).await;
    assert!(said.contains("printed nothing") && texts.is_empty(), "{said}");
}

#[tokio::test]
async fn what_is_no_artifact_is_refused_in_words() {
    let long = "x".repeat(101);
    let none = r#"sandbox = { workspace = "none" }"#;
    for (line, more, why) in [
        (r#""name":"a","file":"../x""#, "", "outside"),
        (r#""name":"a","file":"/etc/passwd""#, "", "outside"),
        (r#""name":"a","file":"link""#, "effect = \"writes\"", ""),
        (r#""name":"a","file":"none""#, "", ""),
        (r#""name":"a","file":".""#, "", ""),
        (r#""name":"a","file":"there""#, none, "the program itself sees"),
        (r#""name":"a""#, "", "it has `text` or `file`"),
        (r#""name":"a","text":"x","file":"there""#, "", "it has `text` or `file`"),
        (r#""name":"a/b","text":"x""#, "", "without `/`"),
        (&format!(r#""name":"{long}","text":"x""#), "", "1 to 100 characters"),
        (r#""name":"a","media_type":"html","text":"x""#, "", "its media type is none"),
    ] {
        let script = format!(
            "ln -s /etc/passwd link 2>/dev/null; echo '{{\"type\":\"artifact\",{line}}}' >&3; printf '{{\"n\":1}}'"
        );
        let (said, texts) = kept(&script, more, &[("there", "x")]).await;
        assert!(said.contains("was not kept: ") && said.contains(why), "{line}: {said}");
        assert!(texts.is_empty(), "{line}");
    }
    let many = r#"for n in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo "{\"type\":\"artifact\",\"name\":\"$n\",\"text\":\"x\"}" >&3; done; printf '{"n":1}'"#;
    let (said, texts) = kept(many, "", &[]).await;
    assert!(said.ends_with("[artifact \"13\" was not kept: one run makes at most 12.]"), "{said}");
    assert_eq!(texts.len(), 12);
}

#[tokio::test]
async fn long_output_is_an_artifact_from_its_beginning_and_short_output_none() {
    let script = "i=0; while [ $i -lt LINES ]; do echo \"line $i ......................................\" >&2; i=$((i+1)); done
        echo '{\"type\":\"output\",\"chunk\":\"last\"}' >&3; printf '{\"n\":1}'";
    let (said, texts) = kept(&script.replace("LINES", "2000"), "", &[]).await;
    assert!(said.starts_with("[artifact \"output.txt\": text/plain; charset=utf-8, "), "{said}");
    assert!(texts[0].starts_with("line 0 ") && texts[0].contains("line 1999 "), "all of it");
    assert!(texts[0].contains("last"), "both streams");
    assert_eq!(kept(&script.replace("LINES", "20"), "", &[]).await, (String::new(), Vec::new()));
}

#[tokio::test]
async fn what_it_prints_on_stderr_is_passed_on_in_whole_lines() {
    let told = heard("printf 'one\ntw' >&2; printf 'o\nend' >&2; printf '{\"n\":1}'", "").await;
    let said: String = told
        .iter()
        .map(|params| {
            let params: Value = serde_json::from_str(params).expect("JSON");
            assert_eq!((&params["level"], &params["logger"]), (&json!("debug"), &json!("sample.stderr")));
            let text = params["data"].as_str().expect("text").to_owned();
            assert!(text.ends_with('\n') || text == "end", "{text:?}");
            text
        })
        .collect();
    assert_eq!(said, "one\ntwo\nend");
}

#[tokio::test]
async fn what_it_said_last_holds_no_half_of_a_secret() {
    // The end that is repeated begins within the secret.
    let script = "printf '%s' planted-secret-1 >&2; printf '%2040s' ' the end' | tr ' ' x >&2; exit 3";
    let (said, _) = kept(script, "", &[]).await;
    assert!(said.contains("xxx") && !said.contains("secret-1"), "{said}");
}

#[tokio::test]
async fn a_long_line_is_passed_on_in_pieces_of_whole_characters() {
    // Two bytes each, behind one: no piece of an even length ends with a whole one.
    let script = "{ printf x; printf '%40000s'; } | sed 's/ /é/g' >&2; printf '{\"n\":1}'";
    let told = heard(script, "").await;
    let texts =
        told.iter().map(|params| serde_json::from_str::<Value>(params).expect("JSON")["data"].clone());
    let said: String = texts.map(|text| text.as_str().expect("text").to_owned()).collect();
    assert_eq!(said, format!("x{}", "é".repeat(40_000)));
    assert!(told.len() > 2, "{}", told.len());
}

#[tokio::test]
async fn what_is_told_counts_as_output() {
    let large = ("limit_reached", "its limit of output_bytes");
    check("yes >&3", "", Err(large)).await;
}

#[tokio::test]
async fn it_touches_what_its_manifest_says_and_no_more() {
    const WRITE: &str = "echo x 2>/dev/null > made && printf '{\"n\":1}' || printf '{\"n\":0}'";
    const READ: &str = "test -e there && printf '{\"n\":1}' || printf '{\"n\":0}'";
    for (script, more, number, profile) in [
        (WRITE, "effect = \"reads\"", 0, "shell"),
        (WRITE, "effect = \"writes\"", 1, "write"),
        (WRITE, "effect = \"executes\"", 1, "write"),
        (READ, "", 1, "shell"),
        (READ, "sandbox = { workspace = \"none\" }", 0, "worker"),
        ("printf '{\"n\":%d}' $(ulimit -n)", "sandbox = { open_files = 99 }", 99, "shell"),
    ] {
        let sample = offering(&manifest(script, more));
        fs::write(sample.workspace().join("there"), "").expect("a file");
        assert_eq!(
            ask(&sample, &json!({})).await.expect("a result"),
            json!({ "n": number }),
            "{script} {more}"
        );
        assert_eq!(recorded(&sample).0, json!(profile), "{script} {more}");
    }
}

#[tokio::test]
async fn a_tool_that_stands_for_another_is_that_one_to_everybody_who_decides() {
    let stands_for = |id: &str, tool: &str| {
        let text = format!(
            "id = \"{id}\"\nname = \"N\"\ndescription = \"d\"\nscopes = [\"read_workspace\"]\neffect = \"reads\"\n\
             mcp = {{ tool = \"{tool}\", arguments = {{ fixed = 1 }} }}\n\
             inputs = {{ type = \"object\", properties = {{ text = {{ type = \"string\" }} }}, additionalProperties = false }}\n"
        );
        declared::tool(&text, Format::Toml, std::path::Path::new("/")).expect("a manifest")
    };
    let real = manifest("cat > got; printf '{\"n\":1}'", "effect = \"writes\"")
        .replace("text = {", "fixed = { type = \"integer\" }, text = {");
    let sample = sample(ProgramSettings::default());
    let tools = vec![
        tool(&real, sample.workspace()),
        stands_for("a", "sample"),
        stands_for("b", "a"),
        stands_for("c", "none"),
    ];
    sample.gate.catalog().replace(DECLARED, tools, Features::default());
    let ask = async |name: &str, arguments: Value| {
        call(&sample, &owner(), name, &arguments, (Cancel::new(), None)).await.map(|_| ())
    };
    ask("a", json!({ "text": "x" })).await.expect("a result");
    let got = fs::read_to_string(sample.workspace().join("got")).expect("what the real one was sent");
    assert_eq!(serde_json::from_str::<Value>(&got).expect("JSON"), json!({ "fixed": 1, "text": "x" }));
    // The record names the tool that ran, and the checks of both hold.
    for (name, arguments, code) in [
        ("a", json!({ "text": "x", "fixed": 2 }), "invalid_arguments"),
        ("a", json!({ "text": 1 }), "invalid_arguments"),
        ("b", json!({}), "unknown_tool"),
        ("c", json!({}), "unknown_tool"),
    ] {
        assert_eq!(ask(name, arguments).await.expect_err("refused").code(), code, "{name}");
    }
    let offer = sample.gate.catalog().offer();
    let may_see = |name: &str| offer.get(name).is_some_and(|tool| sample.gate.may_see(&owner(), tool));
    assert_eq!(["sample", "a", "c"].map(may_see), [true, true, false]);
    let denied = holding(&["read_workspace"]);
    let came = call(&sample, &denied, "a", &json!({}), (Cancel::new(), None)).await;
    assert!(came.is_ok(), "scopes of both are held: {came:?}");

    // A job is judged so when it is taken, not only when it starts.
    let sample = sample.taking_jobs();
    let rule = json!({ "id": "x", "effect": "deny", "tools": ["sample"], "when": "args.text == 'x'" });
    let policy = serde_json::from_value(json!({ "rules": [rule] })).expect("a policy");
    let policy = policy::Policy::new(&policy).expect("it is sound");
    sample.gate.govern(Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 }));
    let jobs = sample.gate.jobs().expect("it takes them");
    let submit = async |name: &str, arguments: Value| {
        let call = Call::tool(name, Some(arguments.to_string().into()));
        let taken = jobs.submit(&sample.gate, &owner(), call, Wants::default()).await;
        taken.map_or_else(|failure| failure.code().to_owned(), |job| job.tool)
    };
    assert_eq!(submit("a", json!({ "text": "y" })).await, "a");
    assert_eq!(submit("a", json!({ "text": "x" })).await, "policy_denied");
    assert_eq!(submit("c", json!({})).await, "unknown_tool");
}

#[tokio::test]
async fn a_file_beside_the_manifest_is_read_and_nothing_else_there() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("p.sh"), "test -e \"$1/other\"; printf '{\"n\":%d}' $?").expect("a file");
    fs::write(folder.path().join("other"), "").expect("a file");
    let text = manifest("", "")
        .replace("[\"sh\", \"-c\", \"\"]", &format!("[\"sh\", \"./p.sh\", {:?}]", folder.path()));
    let sample = sample(ProgramSettings::default());
    sample.gate.catalog().replace(DECLARED, vec![tool(&text, folder.path())], Features::default());
    assert_eq!(ask(&sample, &json!({})).await.expect("a result"), json!({ "n": 1 }));
}

#[tokio::test]
async fn a_program_that_others_could_have_written_since_is_not_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("p.sh");
    fs::write(&program, "printf '{\"n\":1}'").expect("a file");
    // As root, programs run as another user.
    for (path, mode) in [(folder.path(), 0o755), (&*program, 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }
    let text = manifest("", "").replace("[\"sh\", \"-c\", \"\"]", "[\"sh\", \"./p.sh\"]");
    let sample = sample(ProgramSettings::default());
    let tools = vec![tool(&text, folder.path())];
    assert_eq!(sample.gate.catalog().replace(DECLARED, tools, Features::default()), []);
    assert_eq!(ask(&sample, &json!({})).await.expect("a result"), json!({ "n": 1 }));
    for (path, mode, back) in [(&*program, 0o666, 0o644), (folder.path(), 0o777, 0o755)] {
        let set = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        set(mode);
        let failure = ask(&sample, &json!({})).await.expect_err("others could have written it");
        let why = format!(
            "{0} can be written by other users (mode {mode:o}); take that away with `chmod go-w {0}`",
            path.display()
        );
        assert_eq!((failure.code(), &*failure.to_string()), ("program_not_run", &*why));
        set(back);
    }
    assert_eq!(ask(&sample, &json!({})).await.expect("a result"), json!({ "n": 1 }));
}

#[tokio::test]
async fn arguments_that_do_not_fit_start_nothing() {
    let text = manifest("", "").replace("\"-c\", \"\"", "\"-c\", \"touch made; echo 1\", \"{text}\"");
    for (arguments, code) in [
        (json!({ "text": 7 }), "invalid_arguments"),
        (json!({ "txt": "" }), "invalid_arguments"),
        (json!({ "text": "-x" }), "invalid_arguments"),
    ] {
        let sample = offering(&text);
        assert_eq!(ask(&sample, &arguments).await.expect_err("they do not").code(), code, "{arguments}");
        assert_eq!(recorded(&sample).0, Value::Null, "nothing ran");
    }
    let absent = manifest("", "").replace("\"sh\"", "\"no-such-program\"");
    let failure = ask(&offering(&absent), &json!({})).await.expect_err("there is none");
    assert_eq!(failure.code(), "program_not_run");
}

#[tokio::test]
async fn who_may_not_call_it_does_not_see_it() {
    let sample = offering(&manifest("printf '{\"n\":1}'", ""));
    let asked = async |caller, tool| {
        call(&sample, &caller, tool, &json!({ "text": "x" }), (Cancel::new(), None)).await
    };
    let failure = asked(holding(&["write_workspace"]), "sample").await.expect_err("the scope is missing");
    assert_eq!(failure.code(), "unknown_tool");
    assert!(asked(owner(), "sample").await.is_ok());
    let policy = json!({ "rules": [{ "id": "d", "effect": "deny", "origins": ["declared"] }] });
    let policy: policy::Config = serde_json::from_value(policy).expect("a policy");
    let policy = policy::Policy::new(&policy).expect("it is sound");
    sample.gate.govern(Ruleset::new(policy, RateConfig { per_second: 0, burst: 1 }));
    assert_eq!(asked(owner(), "sample").await.expect_err("denied").code(), "unknown_tool");
    assert!(asked(owner(), "echo").await.is_ok(), "it is built in");
}

#[tokio::test]
async fn its_name_hides_no_other_tool() {
    let sample = sample(ProgramSettings::default());
    let text = manifest("printf '{\"n\":1}'", "").replace("\"sample\"", "\"echo\"");
    let taken =
        sample.gate.catalog().replace(DECLARED, vec![tool(&text, sample.workspace())], Features::default());
    let taken: Vec<_> = taken.iter().map(|one| (&*one.name, &*one.source)).collect();
    assert_eq!(taken, [("echo", DECLARED)]);
    // A server that comes later takes its name away from it.
    let catalog = sample.gate.catalog();
    let named =
        |name: &str| tool(&manifest("", "").replace("\"sample\"", &format!("{name:?}")), sample.workspace());
    catalog.replace(DECLARED, vec![named("later")], Features::default());
    catalog.replace("server", vec![named("later")], Features::default());
    catalog.arrange(&["server"]);
    let lost: Vec<_> = catalog.offer().collisions.iter().map(|one| one.source.to_string()).collect();
    assert_eq!(lost, [DECLARED]);
}
