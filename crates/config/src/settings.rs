//! What the configuration means: checked, resolved, ready to be put together. Nothing behind this reads the
//! environment or a file of configuration.

mod absent;
mod bucket;
mod confined;
mod governing;
mod learnt;
mod search;
mod servers;
mod shown;
mod told;
mod touched;
mod vocabulary;
mod workspaces;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use store::KeySource;

use crate::file::File;
use crate::find::folder_of;
use crate::folder::Folders;
use crate::kept::Kept;
use crate::problem::{Problem, Source};
use crate::reference::Unfollowed;
use crate::surroundings::Surroundings;
use crate::tree::Node;
use sandbox::text_file;
pub use shown::ShownTools;

/// Everything the program needs to know.
#[derive(Clone)]
pub struct Settings {
    /// The HTTP door.
    pub server: server::Config,
    /// Who may come in there.
    pub identity: server::identity::Config,
    /// An absolute path.
    pub workspace: PathBuf,
    /// Why the workspace has no file tools, in a sentence, if nobody has chosen it and it holds more than a project.
    pub too_wide: Option<String>,
    /// Which of the files that others obey are written without asking.
    pub writable: sandbox::Writable,
    /// How programs are confined.
    pub sandbox: crate::confinement::Confinement,
    /// The variables by which the programs of tools know language and time zone.
    pub locale: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// An absolute path.
    pub state: PathBuf,
    /// The files it was read from, as absolute paths.
    pub files: Vec<PathBuf>,
    /// The files that its references name, as absolute paths.
    pub secret_files: Vec<PathBuf>,
    /// The built-in tools on offer.
    pub tools: Vec<tools::Set>,
    /// How much these say at once.
    pub budgets: tools::Budgets,
    /// What a web search asks.
    pub search: tools::SearchSettings,
    /// The tools that files of the user's describe.
    pub manifests: crate::manifests::Manifests,
    /// How often tools may be called.
    pub rates: gate::Rates,
    /// How much of a result one answer holds.
    pub result: gate::ResultLimit,
    /// What is kept beyond that.
    pub artifacts: artifacts::Limits,
    /// Where it is kept, if not in the state folder.
    pub bucket: Option<artifacts::Bucket>,
    /// Where rules for AI come from.
    pub rules: rules::Settings,
    /// What callers may do.
    pub policy: policy::Policy,
    /// How people are asked.
    pub approvals: gate::approvals::Config,
    /// How many calls may outlive their request, and how long they are kept.
    pub jobs: gate::jobs::Config,
    /// What an operator is shown.
    pub telemetry: telemetry::Config,
    /// What the audit log keeps, and for how long.
    pub audit: audit::Config,
    /// Knows the configured secrets; whatever leaves the program passes it.
    pub redactor: redact::Redactor,
    /// What the redactor was made from.
    pub redaction: redact::Config,
    /// The secrets that it holds or refers to.
    pub secrets: Vec<redact::Known>,
    /// Those that are kept.
    pub kept: Kept,
    /// The user's before a folder's, each in the order of their names, which settles who wins a tool's name.
    pub upstreams: Vec<upstream::Settings>,
    /// More folders of skills.
    pub skills: Vec<PathBuf>,
    /// Which tools are offered.
    pub shown: ShownTools,
    /// The workspaces that have names, by these; each has none itself.
    pub named: BTreeMap<String, Settings>,
    /// What is logged.
    pub log: crate::log::Config,
}

impl Settings {
    /// The defaults, but with everything below one folder, no rule and no limit in the way, and no upstream.
    pub fn for_selftest(folder: &Path) -> Settings {
        let config = serde_json::json!({
            "workspace": { "root": folder }, "state": { "dir": folder.join("state") },
            "policy": { "allow": ["*"] }, "limits": { "rate": { "per_second": 0 } },
        });
        let file = serde_json::from_value(config).expect("it is a configuration");
        let surroundings = Surroundings { current_dir: folder.to_owned(), ..Surroundings::default() };
        let tree = Node::nothing();
        let settled = settle(file, Settling::new(&tree, &[], &surroundings));
        settled.unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// The same with these tools, in each of its workspaces.
    pub(crate) fn with_manifests(mut self, manifests: &crate::manifests::Manifests) -> Settings {
        self.manifests = manifests.clone();
        self.named.values_mut().for_each(|settings| settings.manifests = manifests.clone());
        self
    }
}

/// Settles a file.
///
/// # Errors
/// Everything that is wrong, not only the first.
pub(crate) fn settle(mut file: File, mut settling: Settling<'_>) -> Result<Settings, Vec<Problem>> {
    file.policy.destructive = file.destructive();
    let (sources, surroundings) = (settling.sources, settling.surroundings);
    let kept = settling.kept(&file);
    let workspace = settling.workspace(&file.workspace.root);
    let written = settling.upstreams(&file, kept.as_ref());
    let differing = settling.workspaces(&file, &workspace, &written);
    let too_wide = settling.too_wide(&workspace);
    let given = for_programs(&workspace, too_wide.is_some());
    let upstreams: Vec<_> = written.into_iter().map(|upstream| upstream.working_in(given)).collect();
    let server = settling.server(file.server);
    let identity = settling.identity(file.identity, &server);
    let writable = settling.writable(&file.workspace.writable);
    let skills = settling.tools(&file.tools);
    let mut tools = file.tools.sets();
    tools.retain(|set| too_wide.is_none() || !set.is_of_workspace());
    let policy = settling.policy(&file.policy, &workspace);
    let rules = settling.rules(&file.rules, &workspace, &upstreams);
    let rates = settling.rates(&file.limits);
    let (sandbox, of_proxy) = settling.sandbox(&file.sandbox, kept.as_ref());
    let of_hook = settling.notify(&mut file.jobs, sandbox.proxy.as_ref(), kept.as_ref());
    settling.audit(&file.audit);
    let (search, of_search) = settling.search(&file.search, kept.as_ref());
    let (bucket, of_bucket) = settling.artifacts(&file.artifacts, kept.as_ref());
    settling.telemetry(&file.telemetry);
    settling.redaction(&file.redaction);
    let Settling { problems, secret_files, .. } = settling;
    match (policy, rates, kept) {
        (Some(policy), Some(rates), Some(kept)) if problems.is_empty() => {
            let mut secrets = learnt::secrets(&file.secrets, &upstreams, surroundings);
            secrets.extend(of_proxy.into_iter().chain(of_bucket).chain(of_hook).chain(of_search));
            // Knows no secret yet.
            let redactor =
                redact::Redactor::with_vocabulary(&file.redaction, upstream::redaction_vocabulary());
            let files = sources.iter().map(|source| surroundings.current_dir.join(&source.path)).collect();
            let secret_files = secret_files.into_inner();
            let state = kept.state().to_owned();
            let settings = Settings {
                server,
                identity,
                workspace,
                too_wide,
                writable,
                sandbox,
                locale: surroundings.locale(),
                state,
                files,
                secret_files,
                tools,
                budgets: file.tools.budgets(),
                search,
                manifests: crate::manifests::Manifests::unread(surroundings, &skills),
                rates,
                result: file.limits.result,
                artifacts: file.artifacts.limits(),
                bucket,
                rules,
                policy,
                approvals: file.approvals,
                jobs: file.jobs,
                telemetry: file.telemetry,
                audit: file.audit,
                redactor,
                redaction: file.redaction,
                secrets,
                kept,
                upstreams,
                skills,
                shown: ShownTools::default(),
                named: BTreeMap::new(),
                log: file.log,
            };
            Ok(settings.with_named(differing).with_confined_servers())
        }
        _ => Err(problems),
    }
}

/// What the files come to, and what is found wrong with it.
pub(crate) struct Settling<'a> {
    /// Tells where the values stand.
    tree: &'a Node,
    sources: &'a [Source],
    surroundings: &'a Surroundings,
    /// What folders' files come to; nothing where there are none.
    pub folders: Option<&'a Folders>,
    /// Those found so far.
    secret_files: RefCell<Vec<PathBuf>>,
    pub unfollowed: Unfollowed,
    pub problems: Vec<Problem>,
}

impl<'a> Settling<'a> {
    pub(crate) fn new(tree: &'a Node, sources: &'a [Source], surroundings: &'a Surroundings) -> Settling<'a> {
        let (secret_files, problems) = (RefCell::default(), Vec::new());
        let unfollowed = Unfollowed::IsWrong;
        Settling { tree, sources, surroundings, folders: None, secret_files, unfollowed, problems }
    }
}

impl Settling<'_> {
    /// The secrets that are kept; nothing if something is wrong with `[state]` and `[secrets]`. Nothing is opened yet.
    pub(crate) fn kept(&mut self, file: &File) -> Option<Kept> {
        let state = self.state(file.state.dir.as_deref());
        let located = |path: &Path| self.located(&["secrets", "key", "file"], path);
        let source = file.secrets.source(&|name| self.surroundings.variable(name), &located);
        let source = match (source, self.unfollowed) {
            (Ok(source), _) => Some(source),
            // Nothing can be opened without it, as whoever needs that is told.
            (Err(_), Unfollowed::IsPassedOver) => Some(KeySource::State),
            (Err(why), Unfollowed::IsWrong | Unfollowed::FailsItsServer) => {
                self.report(&["secrets", "key"], format!("secrets.key: {why}"));
                None
            }
        };
        Some(Kept::new(&state?, source?))
    }

    fn server(&mut self, config: server::Config) -> server::Config {
        let socket = config.socket.as_deref().filter(|path| !path.as_os_str().is_empty());
        let socket = socket.map(|path| self.path(&["server", "socket"], path)).or(config.socket.clone());
        let tls = config.tls.as_ref().map(|tls| server::Tls {
            certificate: self.path(&["server", "tls", "certificate"], &tls.certificate),
            key: self.located(&["server", "tls", "key"], &tls.key),
        });
        let flags = &self.surroundings.flags;
        let mut bind = flags.bind.unwrap_or(config.bind);
        bind.set_port(flags.port.unwrap_or(bind.port()));
        let config = server::Config { socket, bind, tls, ..config };
        for problem in config.check().err().into_iter().flatten() {
            let nth = problem.nth.map(|nth| nth.to_string());
            self.report_below("server", [problem.key].into_iter().chain(nth.as_deref()), problem.to_string());
        }
        config
    }

    fn identity(
        &mut self,
        config: server::identity::Config,
        server: &server::Config,
    ) -> server::identity::Config {
        for problem in config.check(server.bind).err().into_iter().flatten() {
            self.report_below("identity", problem.keys.iter().map(String::as_str), problem.to_string());
        }
        config
    }

    /// The folder that tools work in.
    fn workspace(&self, root: &Path) -> PathBuf {
        match &self.surroundings.flags.workspace {
            Some(root) => text_file::real(&self.surroundings.absolute(root)),
            None => self.path(&["workspace", "root"], root),
        }
    }

    /// Why the workspace is no place for file tools: the root of the disk, the home folder or what contains it, where a
    /// client happened to start us. Whoever wants it says so.
    fn too_wide(&self, workspace: &Path) -> Option<String> {
        let is_chosen =
            self.surroundings.flags.workspace.is_some() || self.tree.at(&["workspace", "root"]).is_some();
        let home = self.surroundings.home().map(text_file::real);
        let is_wide = workspace.parent().is_none() || home.is_some_and(|home| home.starts_with(workspace));
        (is_wide && !is_chosen).then(|| {
            format!(
                "no file tools are offered: {} holds more than a project; say which folder is meant with --workspace, or \
                 with [workspace] root in your own configuration",
                workspace.display()
            )
        })
    }

    fn writable(&mut self, globs: &[String]) -> sandbox::Writable {
        sandbox::Writable::new(globs).unwrap_or_else(|(nth, why)| {
            let keys = ["workspace", "writable", &nth.to_string()];
            self.report(&keys, format!("workspace.writable: {:?} is no glob: {why}", globs[nth]));
            sandbox::Writable::default()
        })
    }

    pub(crate) fn state(&mut self, dir: Option<&Path>) -> Option<PathBuf> {
        let folder = match dir {
            Some(dir) => Some(self.path(&["state", "dir"], dir)),
            None => self.surroundings.data_folder(),
        };
        if folder.is_none() {
            self.problems
                .push(Problem::nowhere("there is no home folder to keep the state in; set state.dir"));
        }
        folder
    }

    fn redaction(&mut self, config: &redact::Config) {
        for fault in config.check().err().into_iter().flatten() {
            self.report(&["redaction", fault.key, &fault.nth.to_string()], fault.to_string());
        }
    }

    fn telemetry(&mut self, config: &telemetry::Config) {
        for (key, why) in config.traces.check() {
            self.report(&["telemetry", "traces", key], format!("telemetry.traces.{key}: {why}"));
        }
    }

    /// Where skills are looked for besides.
    fn tools(&mut self, config: &tools::Config) -> Vec<PathBuf> {
        for (key, why) in config.check() {
            self.report(&["tools", key], format!("tools.{key}: {why}"));
        }
        let folders = config.skills.iter().enumerate();
        folders.map(|(nth, folder)| self.path(&["tools", "skills", &nth.to_string()], folder)).collect()
    }

    fn audit(&mut self, config: &audit::Config) {
        for problem in config.check().err().into_iter().flatten() {
            self.report(&["audit", problem.key], problem.to_string());
        }
    }

    /// The path of a file that holds a secret, which is noted.
    fn secret_path(&self, keys: &[&str], path: &str) -> String {
        self.located(keys, Path::new(path)).to_string_lossy().into_owned()
    }

    fn located(&self, keys: &[&str], path: &Path) -> PathBuf {
        let located = self.path(keys, path);
        self.secret_files.borrow_mut().push(located.clone());
        located
    }

    fn text_path(&self, keys: &[&str], path: &str) -> String {
        self.path(keys, Path::new(path)).to_string_lossy().into_owned()
    }

    /// A path of the configuration: relative ones start at the folder of the file they stand in, and `~` is the
    /// user's home.
    fn path(&self, keys: &[&str], path: &Path) -> PathBuf {
        let home = self.surroundings.variable("HOME").map(Path::new);
        let folder = match (path.strip_prefix("~"), home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => self.folder(keys).join(path),
        };
        let path: PathBuf = folder.components().collect();
        // Without `..`, for people; what does not exist yet stays as it is written.
        text_file::real(&path)
    }

    /// The file in which this is written, if it is.
    fn source(&self, keys: &[&str]) -> Option<&Source> {
        self.sources.get(self.tree.at(keys)?.place.file)
    }

    fn folder(&self, keys: &[&str]) -> PathBuf {
        self.source(keys)
            .map_or(self.surroundings.current_dir.clone(), |source| folder_of(source, self.surroundings))
    }

    fn report(&mut self, keys: &[&str], what: String) {
        let place = self.tree.place_of(keys.iter().copied());
        self.problems.push(Problem::at(place, what));
    }

    fn report_below<'k>(&mut self, section: &'k str, keys: impl Iterator<Item = &'k str>, what: String) {
        let keys: Vec<&str> = std::iter::once(section).chain(keys).collect();
        self.report(&keys, what);
    }
}

/// The workspace's folder as programs are given it, or why none is.
fn for_programs(workspace: &Path, is_too_wide: bool) -> Result<&str, &'static str> {
    match workspace.to_str() {
        // What the file tools of our own are refused, other programs are not handed either.
        _ if is_too_wide => {
            Err("the workspace holds more than a project; say which folder is meant with --workspace")
        }
        Some(folder) if workspace.is_absolute() => Ok(folder),
        Some(_) | None => Err("the path of the workspace is not absolute, or no text"),
    }
}

/// True for a path that begins in the user's home.
fn begins_at_home(path: &Path) -> bool {
    path.starts_with("~")
}

/// True for a path that begins with a reference: where it leads is not known yet.
fn begins_with_reference(path: &Path) -> bool {
    let text = path.to_string_lossy();
    ["{env:", "${env:", "${workspace}"].iter().any(|start| text.starts_with(start))
}

/// The keys that a problem of the table `mcp.NAME` begins with, such as `mcp.git.env.TOKEN: …`.
fn keys_of(name: &str, problem: &str) -> Vec<String> {
    let table = ["mcp".to_owned(), name.to_owned()];
    let below = problem.strip_prefix("mcp.").and_then(|rest| {
        let quoted = format!("{name:?}");
        rest.strip_prefix(&quoted).or_else(|| rest.strip_prefix(name))
    });
    let path = below.and_then(|rest| Some(rest.split_once(": ")?.0)).unwrap_or_default();
    let parts =
        path.split(['.', '[']).map(|part| part.trim_matches(['"', ']'])).filter(|part| !part.is_empty());
    table.into_iter().chain(parts.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_its_keys() {
        for (name, problem, expected) in [
            ("git", "mcp.git: needs `command` or `url`", &["mcp", "git"][..]),
            ("git", "mcp.git.env.TOKEN: the variable is not set", &["mcp", "git", "env", "TOKEN"]),
            ("git", "mcp.git.args[1]: must not contain NUL", &["mcp", "git", "args", "1"]),
            ("a b", "mcp.\"a b\".headers.\"X Y\": is no name", &["mcp", "a b", "headers", "X Y"]),
            ("git", "something else", &["mcp", "git"]),
        ] {
            assert_eq!(keys_of(name, problem), expected, "{problem}");
        }
    }
}
