//! The door on standard input and output: one client, one task, no thread but its own.
//!
//! One `read` may bring many requests; what can be answered at once goes out with one `write`. Calls that
//! must wait are kept beside the loop and answered when they are done, so a slow one blocks nobody.

mod input;
mod output;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use gate::{Caller, Via};
use tokio::sync::{mpsc, watch};
use wire::message::Rejected;
use wire::{Code, Frame, Line, Lines, Revision, STDIO_MESSAGE_BYTES_MAX, WireError, write};

use crate::Server;
use crate::dispatch::{self, Later, Outbox};
use crate::session::Session;
use input::Input;
use output::Output;

/// Progress reports that may wait for a slow reader; more are dropped, since only the latest matter.
const REPORTS_WAITING_MAX: usize = 256;

/// How long calls may still take once the client has closed its end.
const DRAIN_MAX: Duration = Duration::from_millis(400);

/// Serves the client on standard input and output until it goes away or `shutdown` resolves.
///
/// # Errors
/// Reading or writing failed for another reason than that the client went away.
pub async fn serve(server: Arc<Server>, shutdown: impl Future<Output = ()>) -> std::io::Result<()> {
    let (outbox, reports) = mpsc::channel(REPORTS_WAITING_MAX);
    let session = Session::new(Caller::local_user(Via::Stdio), Revision::LATEST);
    let changes = server.gate().catalog().changes();
    let mut door = Door {
        server,
        session,
        lines: Lines::new(STDIO_MESSAGE_BYTES_MAX),
        output: Output::open()?,
        waiting: FuturesUnordered::new(),
        outbox,
        reports,
        changes,
    };
    let mut input = Input::open()?;
    tokio::pin!(shutdown);
    let served = tokio::select! {
        biased;
        served = door.serve(&mut input) => served,
        () = &mut shutdown => Ok(()),
    };
    door.session.cancel_all();
    match served {
        Err(error) if is_gone(&error) => Ok(()),
        served => served,
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset)
}

struct Door {
    server: Arc<Server>,
    session: Arc<Session>,
    lines: Lines,
    output: Output,
    waiting: FuturesUnordered<Later>,
    outbox: Outbox,
    reports: mpsc::Receiver<Vec<u8>>,
    changes: watch::Receiver<u64>,
}

impl Door {
    async fn serve(&mut self, input: &mut Input) -> std::io::Result<()> {
        loop {
            tokio::select! {
                biased;
                read = input.read(self.lines.room()) => {
                    if read? == 0 {
                        return self.drain().await;
                    }
                    self.take_lines();
                }
                Some(frame) = self.waiting.next(), if !self.waiting.is_empty() => self.answer(frame),
                Some(report) = self.reports.recv() => self.output.line(&report),
                Ok(()) = self.changes.changed() => self.tell_of_change(),
            }
            self.output.flush().await?;
        }
    }

    /// Acts on every whole line that has come.
    fn take_lines(&mut self) {
        while let Some(line) = self.lines.next_line() {
            match line {
                Line::Whole(bytes) => self.take_frame(Frame::parse(bytes)),
                Line::TooLong => {
                    let why = format!(
                        "Invalid request: a message may have at most {STDIO_MESSAGE_BYTES_MAX} bytes"
                    );
                    let error = WireError::new(Code::InvalidRequest, why);
                    self.take_frame(Err(Rejected { id: None, error }));
                }
            }
        }
    }

    fn take_frame(&mut self, frame: Result<Frame, Rejected>) {
        let message = match frame {
            Ok(Frame::Batch(messages)) => return self.take_batch(messages),
            Ok(Frame::Single(message)) => Ok(message),
            Err(rejected) => Err(rejected),
        };
        let start = self.output.buffer().len();
        let later = dispatch::dispatch(
            &self.server,
            &self.session,
            message,
            Some(&self.outbox),
            self.output.buffer(),
        );
        if self.output.buffer().len() > start {
            self.output.end_line();
        }
        if let Some(later) = later {
            self.wait_for(later);
        }
    }

    /// Lets a call run as far as it comes without waiting; most are then done.
    fn wait_for(&mut self, mut later: Later) {
        match futures_util::FutureExt::now_or_never(&mut later) {
            Some(frame) => self.answer(frame),
            None => self.waiting.push(later),
        }
    }

    fn take_batch(&mut self, messages: Vec<Result<wire::Message, Rejected>>) {
        match dispatch::batch(&self.server, &self.session, messages, Some(&self.outbox)) {
            Ok(batch) => self.wait_for(batch),
            Err(error) => {
                write::error(self.output.buffer(), None, &error);
                self.output.end_line();
            }
        }
    }

    /// Writes the answer of a call, after the progress it has reported.
    fn answer(&mut self, frame: Option<Vec<u8>>) {
        while let Ok(report) = self.reports.try_recv() {
            self.output.line(&report);
        }
        if let Some(frame) = frame {
            self.output.line(&frame);
        }
    }

    fn tell_of_change(&mut self) {
        let version = *self.changes.borrow_and_update();
        if self.session.should_hear_of(version) {
            self.output.line(&dispatch::list_changed());
        }
    }

    /// The client has closed its end. What it asked before is still answered, for a moment.
    async fn drain(&mut self) -> std::io::Result<()> {
        let rest = async {
            while let Some(frame) = self.waiting.next().await {
                self.answer(frame);
                self.output.flush().await?;
            }
            Ok(())
        };
        // Calls that take longer are given up: nobody is left who waits for them.
        tokio::time::timeout(DRAIN_MAX, rest).await.unwrap_or(Ok(()))
    }
}
