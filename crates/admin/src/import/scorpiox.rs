//! Moving over from scorpiox code: what its settings are here. Its servers go the way of every client's.

use std::fmt;
use std::path::{Path, PathBuf};

use clients::{ClientFile, ScorpioxSetting, ScorpioxSettings, Surroundings};
use sandbox::text_file;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::gather::Gathered;
use super::plan::Plan;

/// Its thirteen tools, which have the same names here; the setting of each is `TOOL_` and the name in capitals.
const TOOLS: [&str; 13] = [
    "Bash",
    "ReadImage",
    "ReadDocs",
    "WebSearch",
    "TaskManager",
    "PlanMode",
    "AskUserQuestion",
    "InvokeSkill",
    "BackgroundBash",
    "ReadBgOutput",
    "ListBgTasks",
    "KillBgTask",
    "SetCallback",
];

/// What its other settings are here, by the beginning of the key; the first that fits.
const MEANINGS: [(&str, &str); 19] = [
    ("ACTIVE_PROFILE", "the settings of the profile were read"),
    ("STREAMING", "nothing to set: output is told as it comes to clients that ask for progress"),
    ("TOOL_SEARCHSKILLS", "nothing to set: `InvokeSkill` lists the skills"),
    (
        "SKILL_",
        "there is no switch for one skill; take its folder away, or leave the set `skills` out of `tools.offer`",
    ),
    ("HOOKS_", "no program runs before a call; rules of the policy decide it: docs/policy.md"),
    ("MCP_SERVER_NAME", OF_SCRIPTS),
    ("MCP_TOOL_EXCLUDE", OF_SCRIPTS),
    ("MCP_FILE", "if it names a list of servers: `toolcrib mcp import FILE`"),
    ("SERVER_", OF_SCRIPTS),
    (
        "STARTUP_DIR",
        "the folder of the project that the client works in is used; `workspace.root` names another",
    ),
    ("MODEL", NO_MODEL),
    ("PROVIDER", NO_MODEL),
    ("THINKING_", NO_MODEL),
    ("ANTHROPIC_", NO_MODEL),
    ("OPENAI_", NO_MODEL),
    ("GOOGLE_", NO_MODEL),
    ("GEMINI_", NO_MODEL),
    ("AZURE_", NO_MODEL),
    ("OLLAMA_", NO_MODEL),
];

/// What names servers.
const SERVERS: [&str; 2] = ["MCP_CONFIG", "MCP_SERVER"];

/// What is said of them.
const OF_SERVERS: [&str; 3] = ["MCP", "MCP_ALLOW", "MCP_DENY"];

const OF_SCRIPTS: &str =
    "of its server of scripts; a script is a tool of your own here: docs/tools-of-your-own.md";

const NO_MODEL: &str = "nothing to set: Toolcrib speaks to no model";

/// A list in our configuration that entries are added to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grown {
    /// The table.
    pub table: String,
    /// The key in it.
    pub key: String,
    /// What it has from then on besides what it has now; with none, it is made empty where it is missing.
    pub entries: Vec<String>,
    /// The setting that it comes from, with its file.
    pub from: String,
}

impl Grown {
    /// Where it stands, as in `policy.deny`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.table, self.key)
    }
}

impl fmt::Display for Grown {
    /// As in `policy.deny = ["a"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {:?}", self.path(), self.entries)
    }
}

/// What settings of another system come to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Taken {
    /// What is set here.
    pub lists: Vec<Grown>,
    /// What is not, a line for each.
    pub told: Vec<String>,
}

impl Taken {
    /// What the settings come to, those of servers left aside.
    pub(super) fn of(settings: &ScorpioxSettings, home: &Path) -> Taken {
        let mut taken = Taken::default();
        for (key, setting) in &settings.users {
            taken.take(key, setting, home);
        }
        for settings in [&settings.users, &settings.projects] {
            let names_some = |key: &str| settings.get(key).filter(|setting| !setting.value.is_empty());
            if let (Some(file), Some(line)) = (names_some("MCP_CONFIG"), names_some("MCP_SERVER")) {
                let (line, file) = (line.place.path.display(), file.place.path.display());
                taken
                    .told
                    .push(format!("MCP_SERVER in {line}: left out, since MCP_CONFIG in {file} wins over it"));
            }
        }
        // Ours are for all folders, and whoever wrote a project's is somebody else.
        for (key, setting) in settings.projects.iter().filter(|(key, _)| !SERVERS.contains(&key.as_str())) {
            let path = setting.place.path.display();
            taken.told.push(format!("{key} in {path}: of this project alone, and left there"));
        }
        taken
    }

    fn take(&mut self, key: &str, setting: &ScorpioxSetting, home: &Path) {
        let from = format!("{key} in {}", setting.place.path.display());
        let mut add = |table: &str, key: &str, entries: Vec<String>| {
            let (table, key, from) = (table.to_owned(), key.to_owned(), from.clone());
            self.lists.push(Grown { table, key, entries, from });
        };
        let tool = key.strip_prefix("TOOL_");
        let tool = tool.and_then(|tool| TOOLS.iter().find(|known| known.eq_ignore_ascii_case(tool)));
        match (key, tool, switch(&setting.value)) {
            (key, ..) if SERVERS.contains(&key) || OF_SERVERS.contains(&key) => {}
            ("TOOLS", _, Some(false)) => add("tools", "offer", Vec::new()),
            ("TOOLS", _, Some(true)) => self.told.push(format!("{from}: they are on offer")),
            (_, Some(tool), Some(false)) => {
                // Here both have a shell.
                let denied = if *tool == "Bash" { vec!["Bash", "BackgroundBash"] } else { vec![*tool] };
                add("policy", "deny", denied.iter().map(|tool| format!("built-in/{tool}")).collect());
            }
            (_, Some(tool), Some(true)) => self.told.push(format!("{from}: {tool} is on offer")),
            ("ADDITIONAL_SKILLS", ..) => {
                let folders = words(&setting.value, &[',', ';', ':']);
                add("tools", "skills", folders.map(|folder| absolute(folder, setting, home)).collect());
            }
            (key, ..) => {
                let known = MEANINGS.iter().find(|(beginning, _)| key.starts_with(beginning));
                let meaning = known.map_or("nothing here answers to it", |(_, meaning)| meaning);
                self.told.push(format!("{from}: {meaning}"));
            }
        }
    }
}

/// Adds the servers that the settings name to those that were found.
pub(super) fn gather_servers(
    settings: &ScorpioxSettings,
    surroundings: &Surroundings,
    home: &Path,
    gathered: &mut Gathered,
) {
    let client = clients::client("scorpiox").expect("it is known");
    for settings in [&settings.users, &settings.projects] {
        let setting = |key: &str| settings.get(key).filter(|setting| !setting.value.is_empty());
        match (setting("MCP_CONFIG"), setting("MCP_SERVER")) {
            (Some(file), _) => {
                let path = PathBuf::from(absolute(&file.value, file, home));
                if text_file::exists(&path) {
                    gathered.look(client, &ClientFile { path, ..file.place.clone() }, surroundings);
                } else {
                    let path = path.display();
                    gathered.errors.push(format!("{path}: there is no such file, which MCP_CONFIG names"));
                }
            }
            (None, Some(line)) => {
                let (servers, broken) = servers(&line.value);
                let place = line.place.path.display();
                let broken =
                    broken.iter().map(|name| format!("{place}: MCP_SERVER says no command for {name:?}"));
                gathered.errors.extend(broken);
                gathered.read(client, &line.place, &Value::from(servers).to_string(), surroundings);
            }
            (None, None) => {}
        }
    }
}

/// Does with the servers what the user's settings say of them; what could not be done.
pub(super) fn apply(settings: &ScorpioxSettings, plan: &mut Plan) -> Vec<String> {
    let mut told = Vec::new();
    let setting = |key: &str| settings.users.get(key);
    if let Some(off) = setting("MCP").filter(|setting| switch(&setting.value) == Some(false)) {
        for planned in &mut plan.add {
            planned.server.enabled = Some(false);
            let why =
                format!("MCP is off in {}; `toolcrib mcp enable` switches it on", off.place.path.display());
            planned.findings.remarks.push(why);
        }
    }
    for key in ["MCP_ALLOW", "MCP_DENY"] {
        let Some(setting) = setting(key) else { continue };
        let place = setting.place.path.display();
        for text in words(&setting.value, &[';']) {
            let Some((name, globs)) = text.split_once(':') else {
                told.push(format!("{key} in {place}: {text:?} is no SERVER:GLOB,…"));
                continue;
            };
            let globs = words(globs, &[',']).map(str::to_owned);
            let Some(planned) = plan.add.iter_mut().find(|new| new.from.iter().any(|from| from.name == name))
            else {
                told.push(format!(
                    "{key} in {place}: no server {name:?} is added; `toolcrib mcp set` says it of one"
                ));
                continue;
            };
            let server = &mut planned.server;
            if key == "MCP_ALLOW" { &mut server.include } else { &mut server.exclude }.extend(globs);
        }
    }
    told
}

/// `name:command:argument,…;…` or `name:https://…;…`, in the form of a file of servers; and the names that have no command.
fn servers(line: &str) -> (Map<String, Value>, Vec<String>) {
    let (mut servers, mut broken) = (Map::new(), Vec::new());
    for text in words(line, &[';']) {
        let (name, what) = text.split_once(':').unwrap_or((text, ""));
        let (command, arguments) = what.split_once(':').unwrap_or((what, ""));
        let entry = match what {
            _ if ["http://", "https://"].iter().any(|scheme| what.starts_with(scheme)) => {
                json!({ "url": what })
            }
            _ if command.is_empty() => {
                broken.push(name.to_owned());
                continue;
            }
            _ => json!({ "command": command, "args": Vec::from_iter(words(arguments, &[','])) }),
        };
        servers.insert(name.to_owned(), entry);
    }
    (servers, broken)
}

fn words<'t>(text: &'t str, between: &'static [char]) -> impl Iterator<Item = &'t str> {
    text.split(between).map(str::trim).filter(|word| !word.is_empty())
}

fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// A path as the setting means it, from where it stands: below the project or the home.
fn absolute(path: &str, setting: &ScorpioxSetting, home: &Path) -> String {
    let start = setting.place.project.as_deref().unwrap_or(home);
    let path = path.strip_prefix("~/").map_or_else(|| start.join(path), |path| home.join(path));
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "files to be read")]

    use std::collections::BTreeMap;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::Fault;
    use crate::import::{ImportPart, Ourselves, Target};

    /// A file that bears every server.
    struct Anything;

    impl Target for Anything {
        fn path(&self) -> &Path {
            Path::new("toolcrib.toml")
        }

        fn text(&self) -> Result<String, Fault> {
            Ok(String::new())
        }

        fn check(&self, text: &str, _: &[(&str, &clients::Server)]) -> Result<(String, Vec<String>), Fault> {
            Ok((text.to_owned(), Vec::new()))
        }
    }

    /// What comes of a user's and a project's settings, and of `~/servers.json`.
    #[track_caller]
    fn check(users: &str, projects: &str, expected: Expect) {
        let disk = tempfile::tempdir().expect("a folder");
        let (home, project) = (disk.path().join("home"), disk.path().join("home/project"));
        for (folder, text) in [(&home, users), (&project, projects)] {
            std::fs::create_dir_all(folder.join(".claude")).expect("a folder");
            std::fs::write(folder.join(".claude/scorpiox-env.txt"), text).expect("writable");
        }
        std::fs::write(home.join("servers.json"), r#"{"files": {"command": "mcp-files"}}"#)
            .expect("writable");
        let variables = [("HOME".into(), home.into())].into();
        let part = ImportPart {
            surroundings: Surroundings { current_dir: project, variables },
            configured: BTreeMap::new(),
            ourselves: Ourselves::default(),
            target: Box::new(Anything),
        };
        let (gathered, plan, taken) = part.plan_scorpiox().expect("a plan");
        let mut said: Vec<String> = Vec::new();
        for new in &plan.add {
            said.push(format!(
                "[mcp.{}] # {}\n{}",
                new.name,
                new.findings.remarks.join("; "),
                new.server.to_toml()
            ));
        }
        said.extend(taken.lists.iter().map(|list| format!("{list} ({})\n", list.from)));
        said.extend(taken.told.iter().map(|line| format!("{line}\n")));
        said.extend(gathered.notes.iter().chain(&gathered.errors).map(|line| format!("! {line}\n")));
        expected.assert_eq(&said.concat().replace(&format!("{}/", disk.path().display()), ""));
    }

    #[test]
    fn settings_become_lists_or_are_told() {
        check(
            "TOOLS=false\nTOOL_BASH=0\nTOOL_WEBSEARCH=1\nTOOL_NONE=0\nADDITIONAL_SKILLS=~/a, b;/c\n",
            "",
            expect![[r#"
                tools.skills = ["home/a", "home/b", "/c"] (ADDITIONAL_SKILLS in home/.claude/scorpiox-env.txt)
                tools.offer = [] (TOOLS in home/.claude/scorpiox-env.txt)
                policy.deny = ["built-in/Bash", "built-in/BackgroundBash"] (TOOL_BASH in home/.claude/scorpiox-env.txt)
                TOOL_NONE in home/.claude/scorpiox-env.txt: nothing here answers to it
                TOOL_WEBSEARCH in home/.claude/scorpiox-env.txt: WebSearch is on offer
            "#]],
        );
        check(
            "STREAMING=true\nMODEL=sonnet\nANTHROPIC_API_KEY=sk-1\nSKILL_PDF=0\nHOOKS_ENABLED=1\nTOOLS=maybe\n",
            "",
            expect![[r#"
                ANTHROPIC_API_KEY in home/.claude/scorpiox-env.txt: nothing to set: Toolcrib speaks to no model
                HOOKS_ENABLED in home/.claude/scorpiox-env.txt: no program runs before a call; rules of the policy decide it: docs/policy.md
                MODEL in home/.claude/scorpiox-env.txt: nothing to set: Toolcrib speaks to no model
                SKILL_PDF in home/.claude/scorpiox-env.txt: there is no switch for one skill; take its folder away, or leave the set `skills` out of `tools.offer`
                STREAMING in home/.claude/scorpiox-env.txt: nothing to set: output is told as it comes to clients that ask for progress
                TOOLS in home/.claude/scorpiox-env.txt: nothing here answers to it
            "#]],
        );
        check(
            "",
            "TOOLS=0\nTOOL_SETCALLBACK=0\nADDITIONAL_SKILLS=x\n",
            expect![[r#"
            ADDITIONAL_SKILLS in home/project/.claude/scorpiox-env.txt: of this project alone, and left there
            TOOLS in home/project/.claude/scorpiox-env.txt: of this project alone, and left there
            TOOL_SETCALLBACK in home/project/.claude/scorpiox-env.txt: of this project alone, and left there
        "#]],
        );
    }

    #[test]
    fn servers_are_found_and_narrowed() {
        check(
            "MCP_SERVER=git:uvx:mcp-git,--verbose;web:https://a.example/mcp;bad;:x\nMCP_ALLOW=git:git_*,x;gone:*;web\nMCP_DENY=git:git_push\n",
            "",
            expect![[r#"
                [mcp.server] # called "" there; that name is taken or cannot be used here
                command = "x"
                [mcp.git] # 
                command = "uvx"
                args = ["mcp-git", "--verbose"]
                include = ["git_*", "x"]
                exclude = ["git_push"]
                [mcp.web] # 
                url = "https://a.example/mcp"
                MCP_ALLOW in home/.claude/scorpiox-env.txt: no server "gone" is added; `toolcrib mcp set` says it of one
                MCP_ALLOW in home/.claude/scorpiox-env.txt: "web" is no SERVER:GLOB,…
                ! home/.claude/scorpiox-env.txt: MCP_SERVER says no command for "bad"
            "#]],
        );
        check(
            "MCP=0\nMCP_CONFIG=~/servers.json\nMCP_SERVER=git:uvx:mcp-git\n",
            "",
            expect![[r#"
            [mcp.files] # MCP is off in home/.claude/scorpiox-env.txt; `toolcrib mcp enable` switches it on
            command = "mcp-files"
            enabled = false
            MCP_SERVER in home/.claude/scorpiox-env.txt: left out, since MCP_CONFIG in home/.claude/scorpiox-env.txt wins over it
        "#]],
        );
        check(
            "MCP_CONFIG=none.json\n",
            "",
            expect![[r#"
            ! home/none.json: there is no such file, which MCP_CONFIG names
        "#]],
        );
        check(
            "",
            "MCP_SERVER=theirs:./run:a\n",
            expect![[r#"
            [mcp.theirs] # 
            command = "home/project/run"
            args = ["a"]
        "#]],
        );
    }
}
