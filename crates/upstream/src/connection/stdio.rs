//! A server that was started here and is spoken to over its standard streams: one process for all.
//!
//! The calling task writes into the pipe itself, one task reads and hands out the answers. So a call costs
//! one write, one read and one wake-up.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use sandbox::Exit;
use sandbox::confine::Layer;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use wire::lines::end_line;
use wire::{Line, Lines};

use super::exchange::Exchange;
use super::outbox::{Outbox, Pipe};
use super::pending::{Parting, Via};
use super::process::{Ended, Process, Readable};
use super::stderr::Stderr;
use crate::fault::Fault;
use crate::trace::Tap;

/// After its output ended, a program that does not live on is known to have exited, and how, within this, on a busy
/// machine too. It is what those wait who have asked a server that closes its output and stays.
const EXIT_KNOWN_MAX: Duration = Duration::from_secs(2);

/// After its input broke or it exited, a program has this long for its last words.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// How long `end` waits. The guard has then asked politely and insisted; what is left it ends by itself.
const END_MAX: Duration = Duration::from_millis(2_500);

/// So many messages of one read are handed out before those who hear them have their turn: clients that keep up miss
/// nothing of what a server says at once.
const MESSAGES_AT_ONCE: u32 = 16;

/// A running server.
pub(crate) struct Stdio {
    outbox: Arc<Outbox>,
    /// Who is told what is sent.
    tap: Option<Arc<Tap>>,
    ending: CancellationToken,
    ended: CancellationToken,
    /// Ends the program when the connection is dropped.
    _end_on_drop: DropGuard,
}

impl Stdio {
    /// Speaks with the program until it ends or the connection is dropped.
    pub(super) fn serve(mut process: Process, exchange: &Arc<Exchange>, stderr: Arc<Stderr>) -> Stdio {
        let io = process.take_streams().expect("the streams of a new program have not been taken");
        let mut helpers = JoinSet::new();
        helpers.spawn({
            let stderr = stderr.clone();
            async move { stderr.drain(io.stderr).await }
        });
        Stdio::spawn(Pipe::Stdin(io.stdin), exchange, |exchange, outbox, ending| {
            Program { process, exchange, outbox, stderr, helpers }.run(io.stdout, ending)
        })
    }

    /// Does the work of a server that is written to through `pipe`; it ends when the token that it is given is set.
    pub(super) fn spawn<W: Future<Output = ()> + Send + 'static>(
        pipe: Pipe,
        exchange: &Arc<Exchange>,
        work: impl FnOnce(Arc<Exchange>, Arc<Outbox>, CancellationToken) -> W,
    ) -> Stdio {
        let outbox = Arc::new(Outbox::new(pipe));
        let (ending, ended) = (CancellationToken::new(), CancellationToken::new());
        let work = work(exchange.clone(), outbox.clone(), ending.clone());
        let ended_on_drop = ended.clone().drop_guard();
        // Owned by `ending`, and says so with `ended` if it panics, too.
        tokio::spawn(async move {
            work.await;
            drop(ended_on_drop);
        });
        let end_on_drop = ending.clone().drop_guard();
        Stdio { outbox, tap: exchange.tap.clone(), ending, ended, _end_on_drop: end_on_drop }
    }

    /// Sends one message.
    pub(super) fn send(&self, mut message: Vec<u8>) -> Result<(), Fault> {
        end_line(&mut message, 0);
        if let Some(tap) = &self.tap {
            tap.sent(&message);
        }
        self.outbox.send(&message)
    }

    pub(super) async fn end(&self) {
        self.ending.cancel();
        // Past the limit the guard goes on without us.
        let _ = timeout(END_MAX, self.ended.cancelled()).await;
    }
}

/// The task's side of a running server.
struct Program {
    process: Process,
    exchange: Arc<Exchange>,
    outbox: Arc<Outbox>,
    stderr: Arc<Stderr>,
    /// The task that reads stderr; ends with this one.
    helpers: JoinSet<()>,
}

impl Program {
    /// Reads until the program ends or is to be ended, then lets go of it.
    async fn run(mut self, stdout: Readable, ending: CancellationToken) {
        let mut reading = pin!(read(stdout, &self.exchange, &self.outbox));
        let (parting, is_told_to_end) = tokio::select! {
            () = &mut reading => (Parting::ByItself, false),
            // Its input is broken; what it said before that still counts.
            () = self.outbox.flush() => {
                let goes_on = timeout(EXIT_GRACE, &mut reading).await.is_err();
                (Parting::ByItself, goes_on && ending.is_cancelled())
            }
            () = ending.cancelled() => (Parting::Dismissed, true),
        };
        // From here on requests fail as not sent, and may go to the next connection.
        self.outbox.close();
        if is_told_to_end {
            self.exchange.pending.end(parting, &Fault::Gone("was shut down".to_owned()));
            tell_written(&self.exchange, &self.process.end().await);
            return;
        }
        let ended = tokio::select! {
            biased;
            ended = timeout(EXIT_KNOWN_MAX, self.process.wait()) => ended.ok(),
            () = ending.cancelled() => None,
        };
        // Stderr is at its end now, or held open by somebody whom we do not wait for.
        let _ = timeout(EXIT_GRACE, self.helpers.join_next()).await;
        let has_ended_well = ended.as_ref().is_some_and(|ended| ended.exit == Exit::Code(0));
        let parting = if has_ended_well { Parting::Well } else { parting };
        self.exchange.pending.end(parting, &how(ended.as_ref(), &self.stderr));
        let ended = match ended {
            Some(ended) => ended,
            None => self.process.end().await,
        };
        tell_written(&self.exchange, &ended);
    }
}

/// Hands out what the server says until its output ends.
pub(super) async fn read(mut stdout: impl AsyncRead + Unpin, exchange: &Exchange, outbox: &Outbox) {
    let mut lines = Lines::new(wire::STDIO_MESSAGE_BYTES_MAX);
    // An answer that does not fit into the pipe any more is for a server that does not read.
    let mut answers = |mut answer: Vec<u8>| {
        answer.push(b'\n');
        if let Some(tap) = &exchange.tap {
            tap.sent(&answer);
        }
        drop(outbox.send(&answer));
    };
    let mut handed_out = 0_u32;
    while let Ok(1..) = stdout.read_buf(lines.room()).await {
        while let Some(line) = lines.next_line() {
            handed_out = handed_out.wrapping_add(1);
            if handed_out.is_multiple_of(MESSAGES_AT_ONCE) {
                tokio::task::yield_now().await;
            }
            match line {
                Line::Whole(frame) => exchange.take_in(frame, Via::Shared, &mut answers),
                Line::TooLong => exchange.take_too_long(wire::STDIO_MESSAGE_BYTES_MAX),
            }
        }
    }
}

/// Says which protected files have changed while a confined program ran, whoever wrote them.
fn tell_written(exchange: &Exchange, ended: &Ended) {
    if !ended.written.is_empty() {
        let (upstream, files) = (&exchange.upstream, &ended.written);
        tracing::warn!(target: "upstream", %upstream, ?files, "protected files have changed while it ran; look at them before anything obeys them");
    }
    if ended.is_in_part {
        let upstream = &exchange.upstream;
        tracing::warn!(target: "upstream", %upstream, "{}", Layer::NOT_ALL_PROTECTED);
    }
}

/// How the program ended.
fn how(ended: Option<&Ended>, stderr: &Stderr) -> Fault {
    if let Some(limit) = ended.and_then(|ended| ended.limit) {
        return Fault::limited(limit);
    }
    let how = match ended.map(|ended| ended.exit) {
        Some(Exit::Code(code)) => format!("exited with code {code}"),
        Some(Exit::Signal(signal)) => format!("was ended by signal {signal}"),
        Some(Exit::Lost) => "ended".to_owned(),
        None => "closed its output".to_owned(),
    };
    let line = stderr.last_line();
    Fault::Gone(if line.is_empty() { how } else { format!("{how} ({line})") })
}
