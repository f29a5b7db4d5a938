//! Removes artifacts whose time is over, for as long as the process serves.

use std::sync::Arc;
use std::time::Duration;

use artifacts::Artifacts;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

/// How late one may go. Where nothing was ever kept, each time is one question to the system.
const SWEEP_EVERY: Duration = Duration::from_secs(15 * 60);

/// Sweeps until it is dropped. Must be called on the runtime.
pub(crate) fn begin(artifacts: &Arc<Artifacts>) -> JoinSet<()> {
    let (artifacts, mut sweeping) = (artifacts.clone(), JoinSet::new());
    sweeping.spawn(async move {
        loop {
            sleep(SWEEP_EVERY).await;
            let artifacts = artifacts.clone();
            match spawn_blocking(move || artifacts.sweep()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "artifacts whose time is over could not be removed"),
                // The program ends.
                Err(_) => return,
            }
        }
    });
    sweeping
}
