//! The signals that end the program: the first one asks it to stop, the second one insists. And the one that has a
//! server read its configuration again, and the one that is an error instead.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::ending::Trouble;
use crate::print;

/// The exit code of a program that was ended by an interrupt, as shells count.
const INTERRUPTED: i32 = 130;

/// Has a write that would make a file larger than the system allows (`ulimit -f`) fail like one to a full disk, instead of
/// ending the process. The programs that we start are not touched by it.
pub fn outlive_large_files() {
    // Only that somebody takes the signal matters.
    if let Err(error) = signal_hook::flag::register(Number::XFSZ.as_raw(), Arc::default()) {
        print::remark(&format!("a file that grows too large will end the program: {error}"));
    }
}

/// Listens from now on.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Listens for SIGINT (Ctrl-C) and SIGTERM.
    ///
    /// # Errors
    /// If the system does not let us.
    pub fn listen() -> io::Result<Signals> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { interrupt, terminate })
    }

    /// Resolves with the first signal. Whoever sends a second one does not want to wait for our tidying up:
    /// the process ends at once, and its children with it.
    pub async fn stop(mut self) {
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

/// Does work that is not to be interrupted otherwise, unless a signal asks the program to stop. By itself a signal would
/// end the process at once, and with it what [`crate::runtime::run`] waits for.
///
/// # Errors
/// The program is to stop, or the system does not let us listen.
pub async fn unless_stopped<T>(work: impl Future<Output = T>) -> Result<T, Trouble> {
    let mut stop = Box::pin(Signals::listen()?.stop());
    tokio::select! {
        biased;
        done = work => {
            // Once listened to, a signal does nothing by itself any more; two of them still end what follows.
            tokio::spawn(stop);
            Ok(done)
        }
        () = &mut stop => Err(Trouble::Failed("stopped".to_owned())),
    }
}

/// What a SIGHUP means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hangup {
    /// Somebody wants the configuration to be read again.
    Reload,
    /// The terminal is gone that the program was started in.
    TerminalGone,
}

/// Listens for SIGHUP from now on, which else ends a program.
pub struct Hangups {
    signal: Signal,
    had_terminal: bool,
}

impl Hangups {
    /// Begins to listen.
    ///
    /// # Errors
    /// If the system does not let us.
    pub fn listen() -> io::Result<Hangups> {
        Ok(Hangups { signal: signal(SignalKind::hangup())?, had_terminal: io::stderr().is_terminal() })
    }

    /// Resolves with the next one.
    pub async fn next(&mut self) -> Hangup {
        self.signal.recv().await;
        // A terminal that hung up answers no more questions.
        match self.had_terminal && !io::stderr().is_terminal() {
            true => Hangup::TerminalGone,
            false => Hangup::Reload,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{getpid, kill_process};

    use super::*;

    #[test]
    fn a_file_that_grows_too_large_does_not_end_the_program() {
        outlive_large_files();
        kill_process(getpid(), Number::XFSZ).expect("it is ours");
        // Whoever is ended by it does not come here.
    }
}
