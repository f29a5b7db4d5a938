//! `Process`: a server's program that runs here, confined or with the person's rights.

use std::path::PathBuf;
use std::sync::Arc;

use sandbox::confine::{
    ConfineError, Confined, ConfinedServer, Layer, LeftOut, Limit, Outcome, Running, StartedBy, Unavailable,
};
use sandbox::egress::{Destination, HostRules, Journal};
use sandbox::{Exit, Program, Tree};
use tokio::io::AsyncRead;
use tokio::net::unix::pipe::Sender;

use super::reaching::Reaching;
use crate::error::ConnectError;
use crate::settings::Settings;
use crate::watch::ServerWatch;
use crate::world::World;

/// A server's program that runs. Dropping it ends it without waiting.
pub(super) enum Process {
    /// With the person's rights, under a guard.
    Open(Box<Tree>),
    /// In the sandbox.
    Confined(Box<Watched>),
}

/// A confined program, and who hears of it.
pub(super) struct Watched {
    running: Running,
    /// Until it has ended.
    reaching: Option<Reaching>,
}

/// What is read of it.
pub(super) type Readable = Box<dyn AsyncRead + Send + Unpin>;

/// Our ends of its standard streams.
pub(super) struct Streams {
    pub(super) stdin: Sender,
    pub(super) stdout: Readable,
    pub(super) stderr: Readable,
}

/// What a confined server may touch, as it runs, and what it was refused.
#[derive(Debug, Clone)]
pub struct SandboxReport {
    /// Files and folders that it reads, beside the system's, its own and those of tool chains.
    pub read: Vec<PathBuf>,
    /// Those that it writes, beside its own.
    pub write: Vec<PathBuf>,
    /// Hosts that it reaches.
    pub hosts: HostRules,
    /// What it names and does not see.
    pub left_out: Vec<LeftOut>,
    /// Hosts that it names and does not reach.
    pub unreached: Vec<Destination>,
    /// Layers that were missing and waived.
    pub without: Vec<Layer>,
    /// What has started it, if it is confined.
    pub started_by: StartedBy,
    /// The hosts that it has reached, or not.
    pub journal: Arc<Journal>,
}

impl Process {
    /// Starts the program as its settings say. What it may touch is told beside it.
    pub(super) async fn start(
        program: &Program,
        settings: &Settings,
        world: &World,
    ) -> Result<(Process, Option<Arc<SandboxReport>>), ConnectError> {
        let Some(may) = settings.server_may(&world.launcher.guard) else {
            return Ok((Process::Open(Box::new(world.launcher.start(program)?)), None));
        };
        let found = {
            let program = program.clone();
            // It looks at some files.
            tokio::task::spawn_blocking(move || ConfinedServer::new(&program, &may)).await
        };
        let ConfinedServer { program: confined, named, left_out, unreached } =
            found.map_err(|error| ConnectError::lost(&error))??;
        let report = SandboxReport {
            read: named,
            write: confined.write.clone(),
            hosts: confined.hosts.clone(),
            left_out,
            unreached,
            without: Vec::new(),
            started_by: StartedBy::Own,
            journal: Arc::new(Journal::new()),
        };
        let running = match world.confiner.start(&confined).await {
            Ok(running) => running,
            Err(ConfineError::Unavailable(Unavailable { layer, .. }))
                if is_done_without(layer, &confined) =>
            {
                let tree = world.launcher.start(program)?;
                let mut without = vec![Layer::UserNamespace, layer];
                without.dedup();
                let report = SandboxReport { without, ..report };
                return Ok((Process::Open(Box::new(tree)), Some(Arc::new(report))));
            }
            Err(error) => {
                if let (Some(watch), ConfineError::Unavailable(missing)) = (&world.watch, &error) {
                    watch.not_started(missing.layer);
                }
                return Err(error.into());
            }
        };
        let (without, journal) = (running.without().to_vec(), running.journal().clone());
        let report = SandboxReport { without, journal, started_by: running.started_by(), ..report };
        let watched = Watched::begin(running, confined.profile.name, &settings.name, world.watch.clone());
        Ok((Process::Confined(Box::new(watched)), Some(Arc::new(report))))
    }

    /// Hands out the streams, once.
    pub(super) fn take_streams(&mut self) -> Option<Streams> {
        match self {
            Process::Open(tree) => tree.take_io().map(|io| Streams {
                stdin: io.stdin,
                stdout: Box::new(io.stdout),
                stderr: Box::new(io.stderr),
            }),
            Process::Confined(watched) => watched.running.take_io().map(|io| Streams {
                stdin: io.stdin,
                stdout: Box::new(io.stdout),
                stderr: Box::new(io.stderr),
            }),
        }
    }

    /// Waits until it has ended and nothing of it is left. May be cancelled and called again.
    pub(super) async fn wait(&mut self) -> Ended {
        match self {
            Process::Open(tree) => {
                Ended { exit: tree.wait().await, limit: None, written: Vec::new(), is_in_part: false }
            }
            Process::Confined(watched) => watched.wait().await,
        }
    }

    /// Ends it in good order, which asks politely, then insists. Returns when nothing is left, within a bounded time.
    pub(super) async fn end(self) -> Ended {
        match self {
            Process::Open(tree) => {
                Ended { exit: tree.end().await, limit: None, written: Vec::new(), is_in_part: false }
            }
            Process::Confined(watched) => watched.end().await,
        }
    }
}

impl Watched {
    fn begin(
        running: Running,
        profile: &'static str,
        server: &str,
        watch: Option<Arc<dyn ServerWatch>>,
    ) -> Watched {
        let reaching = watch.map(|watch| {
            watch.started(profile);
            Reaching::begin(watch, server.into(), running.journal().clone())
        });
        Watched { running, reaching }
    }

    async fn wait(&mut self) -> Ended {
        let outcome = self.running.wait().await;
        if let Some(reaching) = self.reaching.take() {
            reaching.end(outcome.limit);
        }
        outcome.into()
    }

    async fn end(self) -> Ended {
        let outcome = self.running.dismiss().await;
        if let Some(reaching) = self.reaching {
            reaching.end(outcome.limit);
        }
        outcome.into()
    }
}

/// How a program ended.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// The limit that ended it.
    pub(super) limit: Option<Limit>,
    /// Protected files that have changed while it ran.
    pub(super) written: Vec<PathBuf>,
    /// The folders that it writes hold more than is looked at.
    pub(super) is_in_part: bool,
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Ended {
        let Outcome { exit, limit, without, written } = outcome;
        Ended { exit, limit, written, is_in_part: without.contains(&Layer::ProtectedPaths) }
    }
}

/// Whether a layer without which there is no sandbox is one that the operator does without for servers.
fn is_done_without(layer: Layer, program: &Confined) -> bool {
    layer.takes_namespaces() && program.waived.contains(&Layer::UserNamespace)
}
