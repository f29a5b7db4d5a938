//! The folder of manifests beside the user's own configuration: the tools that its files describe, and what is wrong with those
//! that describe none. Each file stands for itself: a wrong one takes none of the others away.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use declared::Format;
use sandbox::text_file;
use serde_json::Value;
use tool_api::{AnyTool, Listing};

use crate::find;
use crate::surroundings::Surroundings;

/// The folder, beside the user's own file.
const FOLDER: &str = "tools";

/// A tool is described in a page; more is the wrong file.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// More tools than a model can choose from; and each start reads them all.
const MANIFESTS_MAX: usize = 256;

/// The names of our own tools, also of those that are not on offer.
static BUILT_IN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let tools = tools::all(&tools::Set::ALL, tools::Budgets::default());
    tools.iter().map(|tool| tool.definition().name.to_string()).collect()
});

/// The tools that files describe, and where those lie.
#[derive(Clone, Default)]
pub struct Manifests {
    /// Nothing for who has no home.
    pub(crate) folder: Option<PathBuf>,
    /// True where nobody looks there: a file of the configuration that was named stands alone.
    is_passed_over: bool,
    /// What the names of other tools begin with, by the server that has them.
    prefixes: BTreeMap<String, String>,
    /// Those of sound manifests, in the order of their files.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// What is wrong with the others: a sentence each, that begins with the file.
    pub problems: Vec<String>,
}

impl Manifests {
    /// Where they lie; none has been read.
    pub(crate) fn unread(surroundings: &Surroundings) -> Manifests {
        let folder = surroundings.config_folder().map(|folder| folder.join(FOLDER));
        Manifests { folder, ..Manifests::default() }
    }

    /// Those of a user who has these servers.
    pub(crate) fn read(
        named: Option<&Path>,
        surroundings: &Surroundings,
        upstreams: &[upstream::Settings],
    ) -> Manifests {
        let is_passed_over = find::named(named, surroundings).is_some();
        let servers = upstreams.iter().filter(|upstream| !upstream.prefix().is_empty());
        let prefixes = servers.map(|upstream| (upstream.prefix().to_owned(), upstream.name().to_owned()));
        let prefixes = prefixes.collect();
        Manifests { is_passed_over, prefixes, ..Manifests::unread(surroundings) }.again()
    }

    /// This tool and no other, from no folder.
    pub fn only(tool: Arc<dyn AnyTool>) -> Manifests {
        Manifests { tools: vec![tool], ..Manifests::default() }
    }

    /// The folder, if its files are obeyed.
    pub fn watched(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.is_passed_over)
    }

    /// The same, as the files are now. Blocks on the disk.
    #[must_use]
    pub fn again(&self) -> Manifests {
        let mut manifests = Manifests { tools: Vec::new(), problems: Vec::new(), ..self.clone() };
        let Some(folder) = self.watched() else { return manifests };
        let files = match files(folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return manifests,
            Err(error) => {
                manifests.problems.push(format!("{} cannot be read: {error}", folder.display()));
                return manifests;
            }
        };
        if let Some(first) = files.get(MANIFESTS_MAX) {
            let why = format!(
                "{}: more than {MANIFESTS_MAX} manifests; it and those behind it are left out",
                first.display()
            );
            manifests.problems.push(why);
        }
        let mut names = BTreeMap::new();
        for path in files.into_iter().take(MANIFESTS_MAX) {
            match manifests.accepted(&path, &names) {
                Ok(tool) => {
                    names.insert(tool.definition().name.as_str().to_owned(), path);
                    manifests.tools.push(tool);
                }
                Err(problems) => manifests.problems.extend(problems),
            }
        }
        manifests
    }

    /// The tool of one file, unless one of `others` has its name.
    fn accepted(
        &self,
        path: &Path,
        others: &BTreeMap<String, PathBuf>,
    ) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let tool = self.check(path)?;
        match others.get(tool.definition().name.as_str()) {
            None => Ok(tool),
            Some(other) => Err(vec![format!("{}: id: {} has it already", path.display(), other.display())]),
        }
    }

    /// The tool that a file describes, wherever it lies.
    ///
    /// # Errors
    /// Everything that is wrong with it, each in a sentence that begins with the file.
    pub fn check(&self, path: &Path) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let told = |problems: Vec<String>| {
            problems.into_iter().map(|why| format!("{}: {why}", path.display())).collect::<Vec<_>>()
        };
        let format =
            Format::of(path).ok_or_else(|| told(vec!["a manifest ends with .toml or .json".to_owned()]))?;
        let text = match text_file::read_own(path, MANIFEST_BYTES_MAX) {
            Ok(Ok(text)) => text,
            Ok(Err(exposed)) => return Err(told(vec![format!("it {exposed}")])),
            Err(error) => return Err(told(vec![format!("it cannot be read: {error}")])),
        };
        let folder = text_file::real(path);
        let tool = declared::tool(&text, format, folder.parent().unwrap_or(path)).map_err(told)?;
        let problems: Vec<String> = self.hides(&*tool).into_iter().chain(misfits(&*tool)).collect();
        if problems.is_empty() { Ok(tool) } else { Err(told(problems)) }
    }

    /// Why its name is not its own: people and rules would take it for another's.
    fn hides(&self, tool: &dyn AnyTool) -> Option<String> {
        let name = tool.definition().name.as_str();
        if BUILT_IN.contains(name) {
            return Some(format!("id: {name:?} is a tool of ours; choose another"));
        }
        let is_its = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_'));
        let (prefix, server) = self.prefixes.iter().find(|(prefix, _)| is_its(prefix))?;
        Some(format!(
            "id: {name:?} reads as a tool of the server {server:?}, whose tools begin with {prefix:?}; choose another"
        ))
    }
}

/// What does not fit together in it: its schemas with what a schema is, and its examples with them.
fn misfits(tool: &dyn AnyTool) -> Vec<String> {
    let definition = tool.definition();
    let Listing::Declared(described) = &definition.listing else { return Vec::new() };
    let examples = described.examples.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    let examples: Vec<Value> = examples.collect();
    let inputs = gate::schema::faults(&definition.input_schema, &examples).err();
    let outputs =
        definition.output_schema.as_ref().and_then(|schema| gate::schema::faults(schema, &[]).err());
    let keyed = |key: &'static str, faults: Option<Vec<String>>| {
        faults.into_iter().flatten().map(move |why| format!("{key}: {why}"))
    };
    keyed("inputs", inputs).chain(keyed("outputs", outputs)).collect()
}

/// The manifests of a folder, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = text_file::with_ending(folder, ".toml")?;
    files.extend(text_file::with_ending(folder, ".json")?);
    files.retain(|path| !is_hidden(path));
    files.sort();
    Ok(files)
}

/// What an editor keeps beside a file that it writes.
fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The JSON Schema of a manifest, for editors.
pub fn manifest_schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<declared::Manifest>().to_value()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "prepares a home from outside")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

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
            files.iter().for_each(|(name, text)| fs::write(home.path(name), text).expect("a file"));
            home
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(".config/toolcrib/tools").join(name)
        }

        /// The names of its tools, and what is wrong with the other files, by the name of each.
        fn read(&self, named: Option<&Path>) -> (Vec<String>, Vec<String>) {
            let variables = [("HOME".into(), self.0.path().into())].into();
            let current_dir = self.0.path().to_owned();
            let surroundings = Surroundings { current_dir, variables, ..Surroundings::default() };
            let manifests = Manifests::read(named, &surroundings, &[]);
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
            &[("1.json", &b), ("2.json", &a), (".3.json", &b), ("4.yaml", "x"), ("5.sh", "x")],
            &["b", "a"],
            &[],
        );
        let broken = ["2.json: EOF while parsing an object at line 1 column 1"];
        check(&[("1.json", &a), ("2.json", "{"), ("3.json", &b)], &["a", "b"], &broken);
        check(&[("1.json", &a), ("2.json", &a)], &["a"], &["2.json: id: 1.json has it already"]);
        let ours = "1.json: id: \"workspace_read\" is a tool of ours; choose another";
        check(&[("1.json", &manifest("workspace_read", ""))], &[], &[ours]);
    }

    #[test]
    fn schemas_and_examples_fit_together() {
        let with = |more: &str| manifest("x", more);
        check(&[("1.json", &with(r#","example_invocations":[{"n":1},{}]"#))], &["x"], &[]);
        let misfit = "1.json: inputs: example_invocations[1] does not fit it:\n- /n: expected integer, got string \"a\"";
        check(&[("1.json", &with(r#","example_invocations":[{"n":1},{"n":"a"}]"#))], &[], &[misfit]);
        for (outputs, part) in [
            (r#"{"type":"object","properties":{"a":{"type":"textual"}}}"#, "1.json: outputs: "),
            (r#"{"type":"object","required":"a"}"#, "1.json: outputs: "),
            (r##"{"type":"object","$ref":"#/$defs/none"}"##, "1.json: outputs: it cannot be used: "),
            (
                r#"{"type":"object","properties":{"a":{"pattern":"("}}}"#,
                "1.json: outputs: the pattern \"(\" is none",
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
        assert!(names.is_empty() && problems[0].contains("can be written by other users"), "{problems:?}");
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
            fs::write(home.path(&format!("{nth:03}.json")), manifest(&format!("t{nth}"), ""))
                .expect("a file");
        }
        let (names, problems) = home.read(None);
        assert_eq!((names.len(), problems.len()), (MANIFESTS_MAX, 1));
        assert!(problems[0].starts_with("256.json: more than 256 manifests"), "{problems:?}");
    }
}
