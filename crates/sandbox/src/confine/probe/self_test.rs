//! The attempts made, outside and inside.

use std::io;
use std::process::Stdio;

use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::attempt::{ATTEMPTS, When};
use super::scene::{Scene, VARIABLE};
use super::{ESCAPED, HELD};
use crate::confine::confiner::{ConfineError, Confined, Confiner};
use crate::confine::layer::Layer;
use crate::confine::profile::Profile;
use crate::confine::report::MemoryKeeper;
use crate::files::ProtectedPaths;
use crate::process::Launcher;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// It failed, or it ended the one who made it.
    Held,
    /// It succeeded.
    Escaped,
    /// Nothing was said of it.
    NotTried,
}

/// An attempt to escape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// What was tried.
    pub name: &'static str,
    /// What became of it.
    pub held: Held,
    /// Whether it succeeds where nothing holds it, on every machine and for this user.
    pub is_possible_outside: bool,
}

/// What came of all attempts in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// Each attempt.
    pub attempts: Vec<Attempted>,
    /// The layers that were missing and waived.
    pub without: Vec<Layer>,
    /// What kept the probe to its limit of memory.
    pub memory: MemoryKeeper,
}

impl Tested {
    /// The attempts that succeeded.
    pub fn escaped(&self) -> Vec<&'static str> {
        self.which(Held::Escaped)
    }

    /// Those of which nothing is known.
    pub fn untried(&self) -> Vec<&'static str> {
        self.which(Held::NotTried)
    }

    fn which(&self, held: Held) -> Vec<&'static str> {
        self.attempts.iter().filter(|attempt| attempt.held == held).map(|attempt| attempt.name).collect()
    }
}

/// Makes all attempts in the sandbox, in a workspace as `profile` has it. `probe` starts [`main`](super::main).
///
/// # Errors
/// The probe cannot be run in the sandbox.
pub async fn self_test(
    confiner: &Confiner,
    probe: &Launcher,
    profile: Profile,
    waived: &[Layer],
) -> Result<Tested, ConfineError> {
    let scene = Scene::new()?;
    let targets = serde_json::to_string(&scene.targets).map_err(io::Error::other)?;
    let args = words(probe, targets).map(Into::into).collect();
    let secrets = vec![scene.targets.workspace.join("state")];
    let mut running = confiner
        .start(&Confined {
            args,
            // Whoever starts a program knows much that it need not know.
            surroundings: [(VARIABLE.into(), "x".into())].into(),
            protected: ProtectedPaths { unread: secrets, ..ProtectedPaths::default() },
            read: vec![probe.guard.clone()],
            waived: waived.to_vec(),
            ..Confined::new(profile, probe.guard.clone(), &scene.targets.workspace)
        })
        .await?;
    let mut said = String::new();
    if let Some(mut io) = running.take_io() {
        io.stdout.read_to_string(&mut said).await?;
    }
    let (without, memory) = (running.without().to_vec(), running.memory_keeper());
    running.wait().await;
    Ok(Tested { attempts: outcomes(&said), without, memory })
}

/// Makes all attempts where nothing holds them: each should succeed. For tests of the attempts.
///
/// # Errors
/// The probe cannot be run.
pub async fn try_outside(probe: &Launcher) -> io::Result<Vec<Attempted>> {
    let scene = Scene::new()?;
    let targets = serde_json::to_string(&scene.targets).map_err(io::Error::other)?;
    let mut command = Command::new(&probe.guard);
    command.args(words(probe, targets)).env(VARIABLE, "x").stdin(Stdio::null());
    let output = command.output().await?;
    Ok(outcomes(&String::from_utf8_lossy(&output.stdout)))
}

/// The probe's arguments: its own word, and what there is to escape to.
fn words(probe: &Launcher, targets: String) -> impl Iterator<Item = String> {
    probe.guard_args.clone().into_iter().chain([targets])
}

fn outcomes(said: &str) -> Vec<Attempted> {
    let is_root = rustix::process::getuid().is_root();
    let outcome = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        match line {
            Some(ESCAPED) => Held::Escaped,
            Some(HELD) => Held::Held,
            _ => Held::NotTried,
        }
    };
    let attempted = ATTEMPTS.iter().map(|attempt| Attempted {
        name: attempt.name,
        held: outcome(attempt.name),
        is_possible_outside: match attempt.when {
            When::Always => true,
            When::Root => is_root,
            When::Perhaps => false,
        },
    });
    attempted.collect()
}
