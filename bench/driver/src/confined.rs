//! Programs that run confined, started by the product's own spawner and awaited in this process, as the product does it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::ensure;
use sandbox::Launcher;
use sandbox::confine::{Confined, Confiner, Layer, Profile, Running};
use tokio::runtime::{Builder, Runtime};

/// A kind of start.
pub(crate) struct Starts {
    runtime: Runtime,
    confiner: Confiner,
    program: Confined,
    is_pooled: bool,
}

impl Starts {
    /// Of `line` in a workspace.
    pub(crate) fn new(
        (guard, guard_args): (PathBuf, Vec<String>),
        profile: Profile,
        line: &[&str],
        workspace: PathBuf,
    ) -> anyhow::Result<Starts> {
        let confiner = Confiner::new(Launcher { guard, guard_args }).without_pool();
        let args = line[1..].iter().map(Into::into).collect();
        let program = Confined { args, ..Confined::new(profile, line[0], workspace) };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Starts { runtime, confiner, program, is_pooled: false })
    }

    /// Each finds an empty sandbox.
    pub(crate) fn pooled((guard, guard_args): (PathBuf, Vec<String>), starts: Starts) -> Starts {
        Starts { confiner: Confiner::new(Launcher { guard, guard_args }), is_pooled: true, ..starts }
    }

    /// Without this layer, which must be missing.
    pub(crate) fn without(mut self, layer: Layer) -> Starts {
        self.program.waived = vec![layer];
        self
    }

    /// How long it takes from the start until the end is known.
    pub(crate) fn time(&self) -> anyhow::Result<Duration> {
        self.runtime.block_on(async {
            if self.is_pooled {
                self.confiner.fill().await?;
            }
            let start = Instant::now();
            let mut running = self.confiner.start(&self.program).await?;
            let took = running.wait().await;
            let elapsed = start.elapsed();
            ensure!(running.is_from_pool() == self.is_pooled, "the pool was not as it should be");
            ensure!(running.without() == self.program.waived, "layers are missing: {:?}", running.without());
            ensure!(took.exit == sandbox::Exit::Code(0), "the program ended with {:?}", took.exit);
            Ok(elapsed)
        })
    }

    /// One that goes on running.
    pub(crate) fn start(&self) -> anyhow::Result<Running> {
        Ok(self.runtime.block_on(self.confiner.start(&self.program))?)
    }

    /// The process number of the spawner, once there is one.
    pub(crate) fn spawner(&self) -> Option<u32> {
        self.confiner.spawner()
    }
}
