//! The signals that end the program: the first one asks it to stop, the second one insists.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code of a program that was ended by an interrupt, as shells count.
const INTERRUPTED: i32 = 130;

/// Listens from now on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens for SIGINT (Ctrl-C) and SIGTERM.
    ///
    /// # Errors
    /// If the system does not let us.
    pub(crate) fn listen() -> io::Result<Signals> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    /// Resolves with the first signal. Whoever sends a second one does not want to wait for our tidying up:
    /// the process ends at once, and its children with it.
    pub(crate) async fn stop(mut self) {
        self.next().await;
        tracing::info!("stopping; a second signal stops at once");
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(INTERRUPTED);
        });
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
