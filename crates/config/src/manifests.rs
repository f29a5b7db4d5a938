//! What files describe beside the user's own configuration and in a project: tools in folders of manifests, and skills; and what
//! is wrong with those that describe none. Each file stands for itself: a wrong one takes none of the others away.

mod project;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use ::skills::Library;
use admin::folders::HeldBack;
use declared::{Beside, Format, KeptSecrets};
use sandbox::text_file;
use serde_json::Value;
use tool_api::{AnyTool, Listing};
use upstream::NotFollowed;

use crate::find;
use crate::kept::Kept;
use crate::skills::SkillFolders;
use crate::surroundings::Surroundings;
use project::{Judged, Project};

/// The folder, beside the user's own file.
const FOLDER: &str = "tools";

/// How the names of manifests end. The last two are YAML, which has few who keep a library for it: `rules` reads it.
const ENDINGS: [&str; 4] = [".toml", ".json", ".yaml", ".yml"];

/// A tool is described in a page; more is the wrong file.
const MANIFEST_BYTES_MAX: u64 = 1024 * 1024;

/// More tools than a model can choose from; and each start reads them all.
const MANIFESTS_MAX: usize = 256;

/// The names of our own tools, also of those that are not on offer.
static BUILT_IN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let tools = tools::all(&tools::Set::ALL, tools::Budgets::default(), &tools::SearchSettings::default());
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
    /// Whose manifests wait for a person's agreement, if there are such.
    project: Option<Project>,
    /// Where secrets are kept that requests send.
    secrets: Option<Arc<dyn KeptSecrets>>,
    skill_folders: SkillFolders,
    /// Those of them that were there at the last look.
    watched_skills: Vec<PathBuf>,
    /// The skills.
    pub skills: Library,
    /// Those of sound manifests, in the order of their files.
    pub tools: Vec<Arc<dyn AnyTool>>,
    /// What is wrong with the others: a sentence each, that begins with the file.
    pub problems: Vec<String>,
    /// Those of a project to which no person has agreed.
    pub held: Vec<HeldBack>,
}

/// Kept secrets, for the hosts that a person has bound them to.
struct ForHosts(Kept);

impl KeptSecrets for ForHosts {
    fn for_host(&self, name: &str, host: &str) -> Result<String, String> {
        // Opened anew, since one may have been set meanwhile.
        let value = self.0.clone().value(name).map_err(|why| match why {
            NotFollowed::Wrong(why) | NotFollowed::Missing(why) => why,
        })?;
        match self.0.is_for(name, "", Some(host.to_owned()))? {
            true => Ok(value),
            false => Err(format!(
                "the kept secret {name} is not for {host}; let it be sent there with `toolcrib secrets set {name} --for {host}`"
            )),
        }
    }
}

impl Manifests {
    /// Where they lie, with these folders of skills besides; none has been read.
    pub(crate) fn unread(surroundings: &Surroundings, skills: &[PathBuf]) -> Manifests {
        let folder = surroundings.config_folder().map(|folder| folder.join(FOLDER));
        let skill_folders = SkillFolders::of_user(surroundings, skills);
        Manifests { folder, skill_folders, ..Manifests::default() }
    }

    /// Those of a user who has these servers and folders of `skills`, and whose agreements and secrets are `kept`, and those of the
    /// project.
    pub(crate) fn read(
        named: Option<&Path>,
        surroundings: &Surroundings,
        upstreams: &[upstream::Settings],
        skills: &[PathBuf],
        kept: &Kept,
    ) -> Manifests {
        let is_passed_over = find::named(named, surroundings).is_some();
        let servers = upstreams.iter().filter(|upstream| !upstream.prefix().is_empty());
        let prefixes = servers.map(|upstream| (upstream.prefix().to_owned(), upstream.name().to_owned()));
        let (prefixes, project) = (prefixes.collect(), Project::found(surroundings, kept.state()));
        let project = project.filter(|_| !is_passed_over);
        let secrets = Some(Arc::new(ForHosts(kept.clone())) as Arc<dyn KeptSecrets>);
        let skill_folders = match is_passed_over {
            true => SkillFolders::default(),
            false => SkillFolders::found(surroundings, skills, kept.state()),
        };
        let unread = Manifests::unread(surroundings, skills);
        Manifests { is_passed_over, prefixes, project, secrets, skill_folders, ..unread }.again()
    }

    /// This tool and no other, from no folder.
    pub fn only(tool: Arc<dyn AnyTool>) -> Manifests {
        Manifests { tools: vec![tool], ..Manifests::default() }
    }

    /// The user's folder, if its files are obeyed.
    pub fn own_folder(&self) -> Option<&Path> {
        self.folder.as_deref().filter(|_| !self.is_passed_over)
    }

    /// The user's folders of skills.
    pub(crate) fn skill_folders(&self) -> &[PathBuf] {
        self.skill_folders.own()
    }

    /// Every folder whose changes change them.
    pub fn watched(&self) -> Vec<PathBuf> {
        let project = self.project.as_ref().map(|project| project.tools.as_path());
        let of_tools = self.own_folder().into_iter().chain(project).map(Path::to_owned);
        of_tools.chain(self.watched_skills.iter().cloned()).collect()
    }

    /// The folders, without links, of which a person agrees to what their files describe.
    pub(crate) fn declaring_folders(&self) -> impl Iterator<Item = PathBuf> {
        let of_tools = self.project.as_ref().map(|project| project.folder.clone());
        of_tools.into_iter().chain(self.skill_folders.declaring_folders())
    }

    /// The same, as the files are now. Blocks on the disk.
    #[must_use]
    pub fn again(&self) -> Manifests {
        let (skills, held) = self.skill_folders.library();
        let (tools, problems) = Default::default();
        let watched_skills = self.skill_folders.watched().collect();
        let mut manifests = Manifests { tools, problems, held, skills, watched_skills, ..self.clone() };
        let mut names = BTreeMap::new();
        let own = self.own_folder().map(|folder| manifests.of_folder(folder, &mut names));
        manifests.tools.extend(own.into_iter().flatten().map(|(_, tool)| tool));
        // Behind the user's: no name of theirs is a project's.
        let Some(project) = &self.project else { return manifests };
        let consent = project.consent();
        for (path, tool) in manifests.of_folder(&project.tools, &mut names) {
            match project.judged(&path, &*tool, &consent) {
                Judged::Agreed => manifests.tools.push(tool),
                Judged::Held(held) => manifests.held.push(held),
                Judged::Wrong(why) => manifests.problems.push(format!("{}: {why}", path.display())),
            }
        }
        manifests
    }

    /// The tools of the sound files of a folder; what is wrong with the others is kept. No name is had twice.
    fn of_folder(
        &mut self,
        folder: &Path,
        names: &mut BTreeMap<String, PathBuf>,
    ) -> Vec<(PathBuf, Arc<dyn AnyTool>)> {
        let files = match files(folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.problems.push(format!("{} cannot be read: {error}", folder.display()));
                return Vec::new();
            }
        };
        if let Some(first) = files.get(MANIFESTS_MAX) {
            let why = format!(
                "{}: more than {MANIFESTS_MAX} manifests; it and those behind it are left out",
                first.display()
            );
            self.problems.push(why);
        }
        let mut tools = Vec::new();
        for path in files.into_iter().take(MANIFESTS_MAX) {
            match self.accepted(&path, names) {
                Ok(tool) => {
                    names.insert(tool.definition().name.as_str().to_owned(), path.clone());
                    tools.push((path, tool));
                }
                Err(problems) => self.problems.extend(problems),
            }
        }
        tools
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
        if !ENDINGS.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            return Err(told(vec![format!("a manifest ends with {}", ENDINGS.join(", "))]));
        }
        let text = match text_file::read_own(path, MANIFEST_BYTES_MAX) {
            Ok(Ok(text)) => text,
            Ok(Err(exposed)) => return Err(told(vec![format!("it {exposed}")])),
            Err(error) => return Err(told(vec![format!("it cannot be read: {error}")])),
        };
        let folder = text_file::real(path);
        let (text, format) = match Format::of(path) {
            Some(format) => (text, format),
            None => (rules::yaml_as_json(&text).map_err(|why| told(vec![why]))?.to_string(), Format::Json),
        };
        let folder = folder.parent().unwrap_or(path);
        let beside = Beside { folder, secrets: self.secrets.clone() };
        let tool = declared::tool(&text, format, beside).map_err(told)?;
        self.sound(tool).map_err(told)
    }

    /// The tool that a text in JSON describes, as if it lay in the folder of manifests.
    ///
    /// # Errors
    /// Everything that is wrong with it, each in a sentence.
    pub fn check_json(&self, text: &str) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let folder = self.folder.as_deref().unwrap_or_else(|| Path::new("/"));
        self.sound(declared::tool(text, Format::Json, Beside { folder, secrets: self.secrets.clone() })?)
    }

    fn sound(&self, tool: Arc<dyn AnyTool>) -> Result<Arc<dyn AnyTool>, Vec<String>> {
        let problems: Vec<String> = self.hides(&*tool).into_iter().chain(misfits(&*tool)).collect();
        if problems.is_empty() { Ok(tool) } else { Err(problems) }
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
    let mut files = Vec::new();
    for ending in ENDINGS {
        files.extend(text_file::with_ending(folder, ending)?);
    }
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
        let broken = ["2.json: EOF while parsing an object at line 1 column 1"];
        check(&[("1.json", &a), ("2.json", "{"), ("3.json", &b)], &["a", "b"], &broken);
        check(&[("1.json", &a), ("2.json", &a)], &["a"], &["2.json: id: 1.json has it already"]);
        let ours = "1.json: id: \"workspace_read\" is a tool of ours; choose another";
        check(&[("1.json", &manifest("workspace_read", ""))], &[], &[ours]);
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
            (
                "---\nid: z\n",
                "1.yaml: a second document begins here; a file is one document (line 9, column 1)",
            ),
        ] {
            check(&[("1.yaml", &format!("{yaml}{more}"))], &[], &[why]);
        }
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
        assert_eq!(
            lines,
            ["starts true", "says of itself \"d\"", "effect = \"reads\", scopes = read_workspace"]
        );
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
}
