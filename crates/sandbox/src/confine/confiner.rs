//! `Confiner`: has programs run confined. It starts the spawner when the first is asked for.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use super::aside::Aside;
use super::init::given::HOME;
use super::layer::{Layer, Unavailable};
use super::limits::Limits;
use super::live_sockets::live_sockets;
use super::mounts::Mounts;
use super::order::{Order, OrderedMount};
use super::packet::{ask_to_fill, connection};
use super::profile::{Profile, WorkspaceAccess};
use super::report::Report;
use super::running::{Pipes, Reports, Running, Started};
use super::streams::Streams;
use super::tool_chains::{self, ToolChains};
use super::trial::Trial;
use super::workspace::{self, Prepared, Surveyed, WorkspaceError};
use crate::egress::{CompanyProxy, HostRules, Judge, PROXY_PORT, WayOut};
use crate::files::{ProgramPaths, ProtectedPaths};
use crate::process::{InheritedNames, Launcher, Variables, variable};

/// A start takes milliseconds; on a machine that is busy, a hundred times as long.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Where programs are found inside.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// What a program has to know of the person's surroundings: language, time zone, terminal.
const INHERITED: [&str; 3] = ["LANG", "TERM", "TZ"];
const INHERITED_PREFIX: &str = "LC_";

/// What tells programs of the proxy. Those that do not look there are led to it by the name server.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const NO_PROXY_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// Knows how to start programs confined. One for each process is enough.
#[derive(Debug)]
pub struct Confiner {
    /// An executable that calls [`spawner_main`](super::spawner_main) for these arguments.
    launcher: Launcher,
    spawner: Mutex<Option<Spawner>>,
    trial: Option<Arc<dyn Trial>>,
    pools: bool,
}

#[derive(Debug)]
struct Spawner {
    socket: OwnedFd,
    process: Child,
}

/// A program to run confined.
#[derive(Debug, Clone)]
pub struct Confined {
    /// What it may touch.
    pub profile: Profile,
    /// A name to look up inside, or a path as the program's root shows it.
    pub command: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables of its own, beside the few that every program gets.
    pub env: Vec<(OsString, OsString)>,
    /// Those of the caller: language, time zone and terminal are taken from them, and where tool chains are found.
    pub surroundings: Variables,
    /// Whether it sees the tool chains of the machine and of the person, and finds there what the caller's PATH names: none in
    /// what programs write beside the workspace, which is named here, whether this one writes it or not.
    pub tool_chains: Option<Vec<PathBuf>>,
    /// The folder that it works on, if its profile lets it.
    pub workspace: PathBuf,
    /// Where it starts. By default in the workspace, or in its home folder if it sees none.
    pub cwd: Option<PathBuf>,
    /// What is not written, or not read, in the workspace and in what it writes besides.
    pub protected: ProtectedPaths,
    /// Other files and folders that it reads, beside those of the system.
    pub read: Vec<PathBuf>,
    /// Others that it reads as their owner does. It matters as root, where the rest shows what everybody may read.
    pub read_as_owner: Vec<PathBuf>,
    /// Others that it writes.
    pub write: Vec<PathBuf>,
    /// Sockets of the machine that it uses.
    pub sockets: Vec<PathBuf>,
    /// A folder that is its home and stays. By default it has one that is gone with it.
    pub home: Option<PathBuf>,
    /// Which hosts it reaches, if its profile has a network.
    pub hosts: HostRules,
    /// Ports at which it reaches them without the proxy, beside those of the rules; as many of both as
    /// [`DOORS_MAX`](crate::egress::DOORS_MAX).
    pub ports: Vec<u16>,
    /// The proxy that we have to go through ourselves, if any.
    pub company: Option<CompanyProxy>,
    /// Who decides about hosts that are not named.
    pub judge: Option<Arc<dyn Judge>>,
    /// Takes all that it writes in the workspace, which stays as it is; nothing else is written then.
    pub aside: Option<Arc<Aside>>,
    /// Layers that an operator does without where they are missing. Only those that may be waived count.
    pub waived: Vec<Layer>,
    /// Whether it has a descriptor 3, on which it tells more than it prints.
    pub tells: bool,
    /// What it reads from and prints to.
    pub streams: Streams,
}

impl Confined {
    /// A program that sees the workspace as its profile says, and nothing else.
    pub fn new(profile: Profile, command: impl Into<OsString>, workspace: impl Into<PathBuf>) -> Confined {
        Confined {
            profile,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            surroundings: Variables::default(),
            tool_chains: None,
            workspace: workspace.into(),
            cwd: None,
            protected: ProtectedPaths::default(),
            read: Vec::new(),
            read_as_owner: Vec::new(),
            write: Vec::new(),
            sockets: Vec::new(),
            home: None,
            hosts: HostRules::none(),
            ports: Vec::new(),
            company: None,
            judge: None,
            aside: None,
            waived: Vec::new(),
            tells: false,
            streams: Streams::default(),
        }
    }
}

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A layer is missing.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The folder is not for programs.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// What it is to see besides is not there, or is not for programs.
    #[error(
        "{} cannot be shown to the program: {why}; if `{key}` in [sandbox] or in the server's table names it, make it or \
         take it out there",
        path.display()
    )]
    NotShown {
        /// As it was named.
        path: PathBuf,
        /// The key that names such paths.
        key: &'static str,
        /// What it is, or what the system said.
        why: String,
    },
    /// It is not to be found inside, or cannot be run: 127 or 126.
    #[error("`{command}` could not be run in the sandbox: {why}")]
    NotRun {
        /// As it was asked for.
        command: String,
        /// As a shell's exit code says it.
        code: i32,
        /// What the system said.
        why: String,
    },
    /// The system failed us.
    #[error("the program could not be started: {0}")]
    Io(#[from] io::Error),
}

impl Confiner {
    /// Starts nothing yet.
    pub fn new(launcher: Launcher) -> Confiner {
        Confiner { launcher, spawner: Mutex::new(None), trial: None, pools: true }
    }

    /// The same, which asks before each start.
    #[must_use]
    pub fn tried_by(self, trial: Arc<dyn Trial>) -> Confiner {
        Confiner { trial: Some(trial), ..self }
    }

    /// Ends the spawner and waits until it is gone. All programs must have ended.
    pub fn end(self) {
        let spawner = self.spawner.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut spawner) = spawner {
            // It ends when nobody can ask any more; what fails here has ended already.
            let _ = shutdown(&spawner.socket, Shutdown::Both).map(|()| spawner.process.wait());
        }
    }

    /// The same for a program that hardly another follows: no sandbox is made before it is asked for.
    #[must_use]
    pub fn without_pool(self) -> Confiner {
        Confiner { pools: false, ..self }
    }

    /// Our own program, which has this start programs.
    pub fn own_program(&self) -> &Path {
        &self.launcher.guard
    }

    /// A worker: our own program, started again with these words to compute with what it is sent, within what of these limits
    /// that takes. It sees itself and the system.
    pub fn worker(&self, words: impl IntoIterator<Item = OsString>, limits: Limits) -> Confined {
        let profile = Profile { limits: limits.computing(), ..Profile::worker() };
        let own = self.own_program();
        Confined {
            args: words.into_iter().collect(),
            read: vec![own.to_owned()],
            ..Confined::new(profile, own, "/")
        }
    }

    /// The spawner's process number, once there is one.
    pub fn spawner(&self) -> Option<u32> {
        let spawner = self.spawner.lock().unwrap_or_else(PoisonError::into_inner);
        spawner.as_ref().map(|spawner| spawner.process.id())
    }

    /// Starts `program` with every layer of its profile, or not at all. Must be called within a tokio runtime that has
    /// I/O and time enabled. Dropping what comes back ends the program.
    pub async fn start(&self, program: &Confined) -> Result<Running, ConfineError> {
        let Some(trial) = &self.trial else { return self.start_untried(program).await };
        trial.admit().await?;
        let running = self.start_untried(program).await?;
        trial.started();
        Ok(running)
    }

    async fn start_untried(&self, program: &Confined) -> Result<Running, ConfineError> {
        let command = program.command.to_string_lossy().into_owned();
        let prepare = {
            let program = program.clone();
            let pools = self.pools;
            move || program.prepared(pools)
        };
        let (order, folders) = tokio::task::spawn_blocking(prepare).await.map_err(io::Error::other)??;
        let (pipes, packet) = Pipes::new(order, program.streams)?;
        self.send(|spawner| packet.send(spawner))?;
        // Their ends of the pipes are not ours to hold.
        drop(packet);
        let mut reports: Reports = BufReader::new(pipes.report()?).lines();
        match timeout(START_TIMEOUT, next(&mut reports)).await {
            Ok(Some(Report::Started { mut without, memory, is_from_pool, by })) => {
                without.extend(folders.iter().any(Surveyed::is_cut).then_some(Layer::ProtectedPaths));
                let started = Started { without, memory, is_from_pool, by };
                let (rules, company) = (program.hosts.clone(), program.company.clone());
                let way = WayOut { rules, company, judge: program.judge.clone() };
                Ok(Running::new(pipes, reports, started, folders, program.profile.limits, way)?)
            }
            Ok(Some(Report::Missing { layer, why })) => Err(program.lacking(layer, why).into()),
            Ok(Some(Report::NotRun { code, why })) => Err(ConfineError::NotRun { command, code, why }),
            Ok(Some(Report::Ended { .. } | Report::Reached(_)) | None) => {
                Err(no_spawner("it ended without an answer").into())
            }
            // With the pipes the lifeline goes, too.
            Err(_) => Err(no_spawner(format!("no answer within {} s", START_TIMEOUT.as_secs())).into()),
        }
    }

    /// Has the pool filled, and waits for it. It is filled a moment after each start anyway; this is for those who measure.
    ///
    /// # Errors
    /// There is no spawner.
    pub async fn fill(&self) -> Result<(), ConfineError> {
        let (told, theirs) = io::pipe()?;
        let theirs = theirs.into();
        self.send(|spawner| ask_to_fill(spawner, &theirs))?;
        drop(theirs);
        let mut told = Receiver::from_owned_fd(told.into())?;
        match timeout(START_TIMEOUT, told.read_u8()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(no_spawner("the pool does not fill").into()),
        }
    }

    fn send(&self, send: impl FnOnce(&OwnedFd) -> io::Result<()>) -> Result<(), ConfineError> {
        let mut spawner = self.spawner.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &*spawner {
            Some(running) => running,
            None => spawner.insert(self.spawn().map_err(|error| no_spawner(error.to_string()))?),
        };
        match send(&running.socket) {
            Ok(()) => Ok(()),
            Err(error) => {
                let is_busy = Errno::from_io_error(&error) == Some(Errno::AGAIN);
                if let Some(mut gone) = spawner.take_if(|_| !is_busy) {
                    // It has closed its socket, so it ends now if it has not ended.
                    let _ = gone.process.kill().and_then(|()| gone.process.wait());
                }
                Err(no_spawner(error.to_string()).into())
            }
        }
    }

    fn spawn(&self) -> io::Result<Spawner> {
        let (socket, theirs) = connection()?;
        let mut command = Command::new(&self.launcher.guard);
        // Confined programs descend from it: nothing of ours is in its environment.
        command.args(&self.launcher.guard_args).env_clear().current_dir("/");
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Spawner { socket, process: command.spawn()? })
    }
}

impl Confined {
    /// What the spawner is told, and the folders to look at again after the run.
    fn prepared(&self, pools: bool) -> Result<(Order, Vec<Surveyed>), ConfineError> {
        let home = variable("HOME").map(PathBuf::from);
        let protected = ProgramPaths::resolved(&self.protected);
        let (mut mounts, mut surveyed) = (Mounts::default(), Vec::new());
        // Others can make no socket to connect with.
        let live = if self.profile.sockets.has_local() { live_sockets(&self.sockets) } else { Vec::new() };
        let mut add = |path: &Path, access| -> Result<_, WorkspaceError> {
            let holds_absent = self.profile.holds_absent && self.aside.is_none();
            let prepared = workspace::prepare(path, access, &protected, home.as_deref(), holds_absent)?;
            let Some(Prepared { ordered, surveyed: before }) = prepared else { return Ok(None) };
            follow(&mut mounts, path)?;
            let at = ordered.path.clone();
            let is_covered = ordered.is_writable && self.aside.is_some();
            mounts.add(OrderedMount { is_covered, ..ordered.hiding(&live) });
            surveyed.extend(before.filter(|_| !is_covered));
            Ok(Some(at))
        };
        let workspace = add(&self.workspace, self.profile.workspace)?;
        let beside = if self.aside.is_some() { WorkspaceAccess::ReadOnly } else { WorkspaceAccess::Writable };
        for path in &self.write {
            add(path, beside).map_err(|error| not_shown(path, "write", &error))?;
        }
        let settings = self.profile.settings.iter().map(Path::new).filter(|path| path.exists());
        let written = self.written();
        let chains = self.chains(&written);
        // Of these as of all: as root, what everybody may read.
        let read = self.read.iter().chain(chains.folders()).map(PathBuf::as_path);
        let read = settings.chain(read).map(|path| (path, false));
        let read_as_owner = self.read_as_owner.iter().map(|path| (path.as_path(), true));
        for (path, is_owned) in read.chain(read_as_owner) {
            let shown = follow(&mut mounts, path).and_then(|()| workspace::shown(path, &protected));
            let shown = shown.map_err(|error| not_shown(path, "read", &error))?.hiding(&live);
            let shown = if self.profile.sockets.has_network() { shown.asking_ours() } else { Some(shown) };
            shown.into_iter().for_each(|shown| mounts.add(OrderedMount { is_owned, ..shown }));
        }
        for path in &self.sockets {
            mounts.socket(path).map_err(|error| not_shown(path, "sockets", &unseen(path, error)))?;
        }
        if let Some(home) = &self.home {
            mounts.home(home)?;
        }
        let (mut mounts, links) = mounts.ordered();
        if let Some(aside) = &self.aside {
            // Before what it covers.
            mounts.insert(0, aside.ordered());
        }
        let cwd = self.cwd.clone().map(Into::into).or(workspace).unwrap_or_else(|| HOME.into());
        let order = Order {
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.environment(&chains, &written).into_iter().collect(),
            cwd,
            mounts,
            links,
            ports: self.profile.sockets.has_network().then(|| self.hosts.ports_and(&self.ports)),
            sockets: self.profile.sockets,
            limits: self.profile.limits,
            waived: self.waived.clone(),
            tells: self.tells,
            has_terminal: self.streams == Streams::Terminal,
            // A home folder that stays is a server's, which starts seldom.
            pools: pools && self.home.is_none(),
        };
        Ok((order, surveyed))
    }

    /// The tool chains that it is shown.
    fn chains(&self, written: &[PathBuf]) -> ToolChains {
        if self.tool_chains.is_none() {
            return ToolChains::default();
        }
        let home = self.surroundings.get(OsStr::new("HOME")).map(Path::new);
        let unseen = (self.profile.workspace == WorkspaceAccess::None).then_some(&*self.workspace);
        ToolChains::of(home).plain(home).outside(written, unseen)
    }

    /// What it or another program writes, if it sees tool chains: nobody else asks.
    fn written(&self) -> Vec<PathBuf> {
        let Some(beside) = &self.tool_chains else { return Vec::new() };
        let all = beside.iter().chain(&self.write).chain([&self.workspace]);
        all.flat_map(|path| path.canonicalize().ok().into_iter().chain([path.clone()])).collect()
    }

    fn environment(&self, chains: &ToolChains, written: &[PathBuf]) -> Variables {
        let fixed =
            [("PATH", PATH), ("HOME", HOME), ("USER", "agent"), ("LOGNAME", "agent"), ("TMPDIR", "/tmp")];
        let mut env: Variables = fixed.map(|(name, value)| (name.into(), value.into())).into();
        if let Some(path) = self.surroundings.get(OsStr::new("PATH")).filter(|_| self.tool_chains.is_some()) {
            let seen: Vec<_> = chains.folders().chain(&self.read).cloned().collect();
            env.insert("PATH".into(), tool_chains::path(path, &seen, written, PATH));
        }
        env.extend(chains.variables.iter().map(|(name, path)| ((*name).into(), path.into())));
        let inherited = self.surroundings.iter().filter(|(name, _)| {
            name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with(INHERITED_PREFIX))
        });
        env.extend(inherited.map(|(name, value)| (name.clone(), value.clone())));
        let nobody = InheritedNames::never();
        if self.profile.sockets.has_network() {
            let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
            env.extend(PROXY_VARIABLES.map(|name| (name.into(), (&proxy).into())));
            env.extend(NO_PROXY_VARIABLES.map(|name| (name.into(), NO_PROXY.into())));
        }
        env.extend(self.env.iter().filter(|(name, _)| !nobody.contains(&&*name.to_string_lossy())).cloned());
        env
    }
}

/// Has the links on the way to a path be there, too.
fn follow(mounts: &mut Mounts, path: &Path) -> Result<(), WorkspaceError> {
    mounts.follow(path).map(drop).map_err(|error| unseen(path, error))
}

fn unseen(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::Unseen { folder: path.to_owned(), source }
}

fn not_shown(path: &Path, key: &'static str, error: &WorkspaceError) -> ConfineError {
    let why = match error {
        WorkspaceError::TooWide { why, .. } => (*why).to_owned(),
        WorkspaceError::Unseen { source, .. } => source.to_string(),
    };
    ConfineError::NotShown { path: path.to_owned(), key, why }
}

/// The next report. Nothing when the pipe has ended.
pub(super) async fn next(reports: &mut Reports) -> Option<Report> {
    reports.next_line().await.ok().flatten().as_deref().and_then(Report::parse)
}

fn no_spawner(why: impl Into<String>) -> Unavailable {
    Unavailable { layer: Layer::Spawner, why: why.into() }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // It ends by itself when its socket closes; until we do, it stays in the process table if nobody waits.
        let _ = self.process.try_wait();
    }
}
