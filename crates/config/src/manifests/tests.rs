//! Files of tools, sound and wrong, of the user and of a project.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::surroundings::Flags;

const SOUND: &str = r#"{"id":"ID","name":"N","description":"d","scopes":["read_workspace"],"effect":"reads",
    "command":["true"],"inputs":{"type":"object","properties":{"n":{"type":"integer"}}}MORE}"#;

fn manifest(id: &str, more: &str) -> String {
    SOUND.replace("ID", id).replace("MORE", more)
}

struct Home(tempfile::TempDir);

impl Home {
    /// A home with these manifests.
    fn with(files: &[(&str, &str)]) -> Home {
        let home = Home(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(home.path("")).expect("a folder");
        fs::create_dir_all(home.in_project("")).expect("a folder");
        files.iter().for_each(|(name, text)| fs::write(home.path(name), text).expect("a file"));
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(".config/toolcrib/tools").join(name)
    }

    fn in_project(&self, name: &str) -> PathBuf {
        self.0.path().join("project/.toolcrib/tools").join(name)
    }

    /// Those of whoever is in `project`, who agrees to everything or has agreed to nothing.
    fn manifests(&self, named: Option<&Path>, agrees: bool) -> Manifests {
        let variables = [("HOME".into(), self.0.path().into())].into();
        let flags = Flags { trust_folder: agrees, ..Flags::default() };
        let current_dir = self.0.path().join("project");
        let surroundings = Surroundings { current_dir, variables, flags, ..Surroundings::default() };
        let kept = Kept::new(&self.0.path().join("state"), store::KeySource::State);
        Manifests::read(named, &surroundings, &[], &[], &kept)
    }

    /// The names of its tools, and what is wrong with the other files, by the name of each.
    fn read(&self, named: Option<&Path>) -> (Vec<String>, Vec<String>) {
        let manifests = self.manifests(named, false);
        let folder = format!("{}/", self.path("").display().to_string().trim_end_matches('/'));
        let names = manifests.tools.iter().map(|tool| tool.definition().name.to_string()).collect();
        (names, manifests.problems.iter().map(|why| why.replace(&folder, "")).collect())
    }
}

#[track_caller]
fn check(files: &[(&str, &str)], names: &[&str], problems: &[&str]) {
    let found = Home::with(files).read(None);
    let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(found, (owned(names), owned(problems)), "{files:?}");
}

#[test]
fn each_file_stands_for_itself() {
    check(&[], &[], &[]);
    let (b, a) = (manifest("b", ""), manifest("a", ""));
    check(
        &[("1.json", &b), ("2.json", &a), (".3.json", &b), ("4.txt", "x"), ("5.sh", "x")],
        &["b", "a"],
        &[],
    );
    let broken = ["2.json: the file ends within a table; close it with `}` (line 1, column 1)"];
    check(&[("1.json", &a), ("2.json", "{"), ("3.json", &b)], &["a", "b"], &broken);
    check(&[("1.json", &a), ("2.json", &a)], &["a"], &["2.json: id: 1.json has it already"]);
    let ours = "1.json: id: \"workspace_read\" is a tool of ours; choose another";
    check(&[("1.json", &manifest("workspace_read", ""))], &[], &[ours]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let wrong = r#"{"id":"workspace_read","name":"N","description":"d","scopes":[],"effect":"reads","command":["true"],
        "inputs":{"type":"object","properties":{"n":{"type":"integer"}}},"example_invocations":[{"n":"a"}],
        "outputs":{"type":"object","properties":{"a":{"pattern":"("}}},"first":1,"second":2}"#;
    let (names, problems) = Home::with(&[("1.json", wrong)]).read(None);
    assert!(names.is_empty());
    for part in [
        "unknown field `first`",
        "unknown field `second`",
        "scopes: it names none",
        "id: \"workspace_read\" is a tool of ours",
        "inputs: example_invocations[0] does not fit it",
        "outputs: /properties/a/pattern: the pattern \"(\" is none",
    ] {
        assert_eq!(problems.iter().filter(|why| why.contains(part)).count(), 1, "{part}: {problems:?}");
    }
    assert_eq!(problems.len(), 6, "{problems:?}");
    for wrong in [(r#"{"id":"a","first":1}"#, "1.json"), ("id = \"a\"\nfirst = 1\n", "1.toml")] {
        let (_, problems) = Home::with(&[(wrong.1, wrong.0)]).read(None);
        for part in [
            "unknown field `first`",
            "missing field `name`",
            "missing field `scopes`",
            "missing field `inputs`",
        ] {
            assert_eq!(problems.iter().filter(|why| why.contains(part)).count(), 1, "{part}: {problems:?}");
        }
    }
}

#[test]
fn yaml_says_the_same_and_hides_nothing() {
    let yaml = "id: y\nname: N\ndescription: d\nscopes: [read_workspace]\neffect: reads\ncommand: [\"true\"]\n\
                inputs:\n  type: object\n";
    check(&[("1.yaml", yaml), ("2.yml", &yaml.replace("id: y", "id: z"))], &["y", "z"], &[]);
    for (more, why) in [
        ("id: z\n", "1.yaml: `id` is there twice; keep one of them (line 9, column 1)"),
        (
            "x: &a [1]\nretries: *a\n",
            "1.yaml: aliases are not read here; write what this stands for (line 10, column 10)",
        ),
        (
            "retries: !!int 1\n",
            "1.yaml: tags are not read here; write the value without one (line 9, column 10)",
        ),
        ("---\nid: z\n", "1.yaml: a second document begins here; a file is one document (line 9, column 1)"),
    ] {
        check(&[("1.yaml", &format!("{yaml}{more}"))], &[], &[why]);
    }
}

#[test]
fn schemas_and_examples_fit_together() {
    let with = |more: &str| manifest("x", more);
    check(&[("1.json", &with(r#","example_invocations":[{"n":1},{}]"#))], &["x"], &[]);
    let misfit =
        "1.json: inputs: example_invocations[1] does not fit it:\n- /n: expected integer, got string \"a\"";
    check(&[("1.json", &with(r#","example_invocations":[{"n":1},{"n":"a"}]"#))], &[], &[misfit]);
    for (outputs, part) in [
        (
            r#"{"type":"object","properties":{"a":{"type":"textual"}}}"#,
            "1.json: outputs: /properties/a/type: \"textual\" is no type; there are array, ",
        ),
        // A member that is only called so.
        (
            r#"{"type":"object","properties":{"type":"x"}}"#,
            "1.json: outputs: /properties/type: \"x\" is not ",
        ),
        (r#"{"type":"object","required":"a"}"#, "1.json: outputs: /required: "),
        (
            r##"{"type":"object","$ref":"#/$defs/none"}"##,
            "1.json: outputs: /$ref: the reference leads to nothing within",
        ),
        (
            r##"{"type":"object","properties":{"a/b":{"$ref":"https://a.test/x.json"}}}"##,
            "1.json: outputs: /properties/a~1b/$ref: the reference leads to nothing within the schema, and nothing is fetched",
        ),
        (
            r##"{"type":"object","$schema":"https://a.test/draft"}"##,
            "1.json: outputs: /$schema: it names no draft",
        ),
        (
            r#"{"type":"object","properties":{"a":{"pattern":"("}}}"#,
            "1.json: outputs: /properties/a/pattern: the pattern \"(\" is none",
        ),
    ] {
        let (names, problems) =
            Home::with(&[("1.json", &with(&format!(",\"outputs\":{outputs}")))]).read(None);
        assert_eq!((names.len(), problems.len()), (0, 1), "{outputs}: {problems:?}");
        assert!(problems[0].starts_with(part), "{outputs}: {problems:?}");
    }
}

#[test]
fn a_file_that_others_could_have_written_is_no_tool() {
    let home = Home::with(&[("1.json", &manifest("x", ""))]);
    fs::set_permissions(home.path("1.json"), fs::Permissions::from_mode(0o666)).expect("a mode");
    let (names, problems) = home.read(None);
    let expected = "1.json can be written by other users (mode 666); take that away with `chmod go-w 1.json`";
    assert_eq!((names, problems), (vec![], vec![expected.to_owned()]));
}

#[test]
fn what_is_wrong_with_a_manifest_in_a_request_has_no_place_in_a_file() {
    let wrong = manifest("x", "").replace("[\"true\"]", "\"ls -l\"");
    let problems = Home::with(&[]).manifests(None, false).check_json(&wrong).err().expect("it is wrong");
    assert_eq!(problems, ["command: it must be a list, and is the text \"ls -l\""]);
}

#[test]
fn who_types_a_tools_name_for_its_file_is_told_where_that_is() {
    let home = Home::with(&[("x.json", &manifest("x", ""))]);
    for (typed, expected) in [
        ("x", "x: a manifest ends with .toml, .json, .yaml, .yml; there is x.json"),
        ("y", "y: a manifest ends with .toml, .json, .yaml, .yml"),
        ("./sub/x", "./sub/x: a manifest ends with .toml, .json, .yaml, .yml"),
    ] {
        let problems = home.manifests(None, false).check(Path::new(typed)).err().expect("it is no file");
        let folder = format!("{}/", home.path("").display().to_string().trim_end_matches('/'));
        assert_eq!(problems, [expected.replace("is x.json", &format!("is {folder}x.json"))]);
    }
}

#[test]
fn neither_a_program_nor_a_folder_is_obeyed_that_others_could_have_written() {
    let text = manifest("x", "").replace("\"true\"", "\"sh\", \"./sub/x.sh\"");
    let shown = "can be written by other users (mode ";
    for (changed, mode, expected) in [
        ("sub/x.sh", 0o755, None),
        (
            "sub/x.sh",
            0o666,
            Some(format!("1.json: command: sub/x.sh {shown}666); take that away with `chmod go-w sub/x.sh`")),
        ),
        (
            "sub",
            0o777,
            Some(format!("1.json: command: sub {shown}777); take that away with `chmod go-w sub`")),
        ),
        (
            "",
            0o777,
            Some(format!(
                " {shown}777); take that away with `chmod go-w `; none of its manifests is obeyed until then"
            )),
        ),
    ] {
        let home = Home::with(&[("1.json", &text)]);
        fs::create_dir(home.path("sub")).expect("a folder");
        fs::write(home.path("sub/x.sh"), "exit 0").expect("a file");
        fs::set_permissions(home.path(changed), fs::Permissions::from_mode(mode)).expect("a mode");
        let (names, problems) = home.read(None);
        let folder = home.path("").display().to_string();
        let problems: Vec<_> =
            problems.iter().map(|why| why.replace(folder.trim_end_matches('/'), "")).collect();
        assert_eq!((names.len(), problems), (usize::from(expected.is_none()), Vec::from_iter(expected)));
    }
    // Where a link leads counts.
    let home = Home::with(&[("1.json", &text)]);
    let elsewhere = home.0.path().join("elsewhere/x.sh");
    fs::create_dir(elsewhere.parent().expect("a folder")).expect("a folder");
    fs::write(&elsewhere, "exit 0").expect("a file");
    fs::set_permissions(elsewhere.parent().expect("a folder"), fs::Permissions::from_mode(0o777))
        .expect("a mode");
    fs::create_dir(home.path("sub")).expect("a folder");
    std::os::unix::fs::symlink(&elsewhere, home.path("sub/x.sh")).expect("a link");
    let (names, problems) = home.read(None);
    assert!(names.is_empty() && problems.len() == 1 && problems[0].contains("(mode 777)"), "{problems:?}");
}

const ASKS: &str = r#"{"id":"issue","name":"N","description":"d","scopes":["network"],"effect":"reads","hosts":["127.0.0.1:8099"],
    "http":{"url":"http://127.0.0.1:8099/x","headers":{"x-key":"${store:TOKEN}"}},"inputs":{"type":"object"}}"#;

#[test]
fn the_secrets_that_its_requests_send_are_known_and_what_sets_one_is_said() {
    let home = Home::with(&[("1.json", ASKS), ("2.json", &manifest("x", ""))]);
    let manifests = home.manifests(None, false);
    let sent: Vec<_> = manifests.secrets().collect();
    assert_eq!(sent, [("TOKEN", "tool.issue".to_owned())], "{:?}", manifests.problems);
    let variables = [("HOME".into(), home.0.path().into())].into();
    let surroundings =
        Surroundings { current_dir: home.in_project(""), variables, ..Surroundings::default() };
    let (_, uses) = crate::kept(None, &surroundings).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(uses.of_secret("TOKEN"), ["tool.issue"]);
    let secrets = manifests.secrets.clone().expect("there is a place");
    assert_eq!(
        secrets.for_host("TOKEN", "127.0.0.1"),
        Err("no secret TOKEN is kept here; set it with `toolcrib secrets set TOKEN --for 127.0.0.1`"
            .to_owned())
    );
}

#[test]
fn files_that_are_wrong_are_counted_once() {
    let twice = manifest("a b", "").replace("\"read_workspace\"", "");
    let home = Home::with(&[("1.json", &twice), ("2.json", "{"), ("3.json", &manifest("x", ""))]);
    let manifests = home.manifests(None, false);
    assert_eq!((manifests.tools.len(), manifests.problems.len(), manifests.wrong_files()), (1, 3, 2));
}

#[test]
fn a_configuration_that_is_named_stands_alone() {
    let home = Home::with(&[("1.json", &manifest("x", ""))]);
    assert_eq!(home.read(None).0, ["x"]);
    assert_eq!(home.read(Some(Path::new("named.toml"))), (Vec::new(), Vec::new()));
}

#[test]
fn there_are_no_more_than_a_start_can_read() {
    let home = Home::with(&[]);
    for nth in 0..=MANIFESTS_MAX {
        fs::write(home.path(&format!("{nth:03}.json")), manifest(&format!("t{nth}"), "")).expect("a file");
    }
    let (names, problems) = home.read(None);
    assert_eq!((names.len(), problems.len()), (MANIFESTS_MAX, 1));
    assert!(problems[0].starts_with("256.json: more than 256 manifests"), "{problems:?}");
}

fn names(manifests: &Manifests) -> Vec<&str> {
    manifests.tools.iter().map(|tool| tool.definition().name.as_str()).collect()
}

#[test]
fn a_projects_manifests_wait_and_hide_nobody_elses() {
    let home = Home::with(&[("1.json", &manifest("mine", ""))]);
    for (file, id) in [("a.json", "mine"), ("b.json", "theirs"), ("c.json", "workspace_read")] {
        fs::write(home.in_project(file), manifest(id, "")).expect("a file");
    }
    let held = home.manifests(None, false);
    let waiting = held.held.iter().map(|held| (&*held.declaration.key, &*held.declaration.place));
    assert_eq!(waiting.collect::<Vec<_>>(), [(".toolcrib/tools tool.theirs", ".toolcrib/tools/b.json")]);
    let lines: Vec<&str> = held.held[0].declaration.lines.iter().map(|line| &*line.shown).collect();
    assert_eq!(lines, ["starts true", "says of itself \"d\"", "effect = \"reads\", scopes = read_workspace"]);
    assert_eq!(names(&held), ["mine"]);
    assert!(held.problems[0].contains("a.json: id: ") && held.problems[0].contains("has it already"));
    assert!(held.problems[1].contains("c.json: id: \"workspace_read\" is a tool of ours"));
    assert_eq!(names(&home.manifests(None, true)), ["mine", "theirs"]);
    let named = home.manifests(Some(Path::new("named.toml")), true);
    assert!(names(&named).is_empty() && named.held.is_empty() && named.watched().is_empty());
}

#[test]
fn another_text_of_a_projects_manifest_is_another_thing_to_agree_to() {
    let home = Home::with(&[]);
    let hash = |text: &str| {
        fs::write(home.in_project("x.json"), text).expect("a file");
        home.manifests(None, false).held.remove(0).declaration.sha256
    };
    assert_eq!(hash(&manifest("x", "")), hash(&manifest("x", "")));
    assert_ne!(hash(&manifest("x", "")), hash(&manifest("x", ",\"idempotent\":true")));
}

#[test]
fn a_projects_program_is_a_file_of_the_project() {
    let home = Home::with(&[]);
    fs::write(home.path("secret"), "x").expect("a file");
    std::os::unix::fs::symlink(home.path("secret"), home.in_project("link.sh")).expect("a link");
    fs::write(home.in_project("own.sh"), "x").expect("a file");
    for (word, is_its) in
        [("./own.sh", true), ("./link.sh", false), ("./../../../.config/toolcrib/tools/secret", false)]
    {
        let text = manifest("x", "").replace("\"true\"", &format!("\"cat\",\"{word}\""));
        fs::write(home.in_project("x.json"), text).expect("a file");
        let manifests = home.manifests(None, true);
        assert_eq!(names(&manifests).len(), usize::from(is_its), "{word}: {:?}", manifests.problems);
        assert!(is_its || manifests.problems[0].contains("lies outside the project"), "{word}");
    }
}
