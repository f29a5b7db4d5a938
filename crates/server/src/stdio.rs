//! The transport on standard input and output, our own or those that another process has handed over, and on a connection
//! that speaks the same: one client, one task, no thread but its own.
//!
//! One `read` may bring many requests; what can be answered at once goes out with one `write`. Calls that
//! must wait are kept beside the loop and answered when they are done, so a slow one blocks nobody.

mod input;
mod output;

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use gate::{Caller, Cancel, Via};
use sandbox::{Process, parent, peer};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use wire::message::Rejected;
use wire::{Code, Frame, Line, Lines, Revision, STDIO_MESSAGE_BYTES_MAX, WireError, write};

use crate::Server;
use crate::dispatch;
use crate::greeting::{Greeting, greet};
use crate::notifier::Notifier;
use crate::outgoing::{Later, Now, Outbox, Reply};
use crate::session::Session;
use input::Input;
pub use input::is_stream;
use output::Output;

/// Frames about calls that may wait for a slow reader. More reports are dropped, since only the latest matter;
/// whoever has something else to tell waits.
const REPORTS_WAITING_MAX: usize = 256;

/// Answers that gather before they are written, in bytes: one read may bring a thousand small questions with
/// large answers.
const ANSWERS_BYTES_MAX: usize = 1024 * 1024;

/// How long calls may still take once the client has closed its end.
const DRAIN_MAX: Duration = Duration::from_millis(400);

/// How long subscriptions may take to end when the program does.
const CLOSE_MAX: Duration = Duration::from_millis(100);

/// Serves the client on standard input and output until it goes away or `shutdown` resolves. The person behind it is
/// asked `greeting` once it is ready.
///
/// # Errors
/// Reading or writing failed for another reason than that the client went away.
pub async fn serve(
    server: Arc<Server>,
    greeting: Option<Arc<dyn Greeting>>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    // A task of its own, so that it is heard while a slow reader holds up the transport. It ends with the
    // program, or when the program is told to end.
    let heard = server.clone();
    tokio::spawn(async move {
        shutdown.await;
        heard.stopping.cancel();
    });
    // Most clients are our parent; one that has a shell start us made the sockets that we speak through.
    let client = parent().into_iter().chain(peer(std::io::stdin()));
    converse(server, (Via::Stdio, client), greeting, Input::open()?, Output::open()?).await
}

/// What another process was started with by its client, and has handed over.
pub struct HandedOver {
    /// Its standard input, for which [`is_stream`] holds.
    pub stdin: OwnedFd,
    /// Its standard output, for which the same holds.
    pub stdout: OwnedFd,
    /// That process, and its parent.
    pub from: Vec<Process>,
}

/// Serves the client of another process until it goes away or `stopping` is cancelled; others of this server are not
/// concerned. The person behind it is asked `greeting` once it is ready.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_handed_over(
    server: &Server,
    client: HandedOver,
    greeting: Option<Arc<dyn Greeting>>,
    stopping: Cancel,
) -> std::io::Result<()> {
    let processes: Vec<Process> = client.from.into_iter().chain(peer(&client.stdin)).collect();
    let (input, output) = (Input::of(client.stdin)?, Output::of(client.stdout)?);
    converse(server.apart(stopping), (Via::Stdio, processes), greeting, input, output).await
}

/// Serves one client on a connection of its own until it goes away or the doors close.
///
/// # Errors
/// As for [`serve`].
pub(crate) async fn serve_connection(server: Arc<Server>, connection: UnixStream) -> std::io::Result<()> {
    let client = peer(&connection);
    let (reader, writer) = connection.into_split();
    converse(server, (Via::Socket, client), None, Input::Stream(Box::new(reader)), Output::connection(writer))
        .await
}

async fn converse(
    server: Arc<Server>,
    (via, client): (Via, impl IntoIterator<Item = Process>),
    greeting: Option<Arc<dyn Greeting>>,
    mut input: Input,
    output: Output,
) -> std::io::Result<()> {
    let (outbox, reports) = mpsc::channel(REPORTS_WAITING_MAX);
    let events: FuturesUnordered<BoxFuture<'static, Event>> = FuturesUnordered::new();
    let session = Session::new(Caller::local_user(via), Revision::LATEST_LEGACY);
    session.comes_from(client);
    events.push(next_notification(Box::new(Notifier::new(&server, session.clone()))));
    events.push(stopped(server.clone()));
    let mut transport = Transport {
        session,
        lines: Lines::new(STDIO_MESSAGE_BYTES_MAX),
        output,
        calls_waiting: 0,
        greeting,
        server,
        events,
        outbox,
        reports,
    };
    let served = transport.serve(&mut input).await;
    transport.session.end();
    match served {
        Err(error) if is_gone(&error) => Ok(()),
        served => served,
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset)
}

/// What the transport waits for beside its input. They share one set, which looks only at what has woken; a loop
/// over everything that might happen would cost each request more than parsing it.
enum Event {
    /// A call has its answer, or none if it was cancelled.
    Answer(Option<Reply>),
    /// There is something to tell unasked.
    Notification(Vec<u8>, Box<Notifier>),
    /// The person behind the client has been asked what there was to ask.
    Greeted,
    /// The program is to end.
    Shutdown,
}

fn stopped(server: Arc<Server>) -> BoxFuture<'static, Event> {
    async move {
        server.stopping.cancelled().await;
        Event::Shutdown
    }
    .boxed()
}

fn next_notification(mut notifier: Box<Notifier>) -> BoxFuture<'static, Event> {
    async move {
        let frame = notifier.next().await;
        Event::Notification(frame, notifier)
    }
    .boxed()
}

struct Transport {
    server: Arc<Server>,
    session: Arc<Session>,
    lines: Lines,
    output: Output,
    events: FuturesUnordered<BoxFuture<'static, Event>>,
    /// How many of the events are calls.
    calls_waiting: usize,
    /// What the person behind the client is asked once it is ready.
    greeting: Option<Arc<dyn Greeting>>,
    outbox: Outbox,
    reports: mpsc::Receiver<Vec<u8>>,
}

impl Transport {
    async fn serve(&mut self, input: &mut Input) -> std::io::Result<()> {
        loop {
            tokio::select! {
                biased;
                read = input.read(self.lines.room()) => {
                    let at_end = read? == 0;
                    if at_end {
                        // The last line counts even if nothing ends it.
                        self.lines.feed(b"\n");
                    }
                    while self.take_lines().is_continue() {
                        self.flush().await?;
                    }
                    if at_end {
                        self.flush().await?;
                        return self.drain().await;
                    }
                    // A client that never stops sending must not keep answers and the end from their turn.
                    if self.calls_waiting > 0 || self.server.stopping.is_cancelled() {
                        self.take_reports();
                        if let Some(Some(event)) = self.events.next().now_or_never()
                            && self.take_event(event).is_break()
                        {
                            return self.close().await;
                        }
                    }
                }
                Some(report) = self.reports.recv() => self.output.line(&report),
                Some(event) = self.events.next() => {
                    if self.take_event(event).is_break() {
                        return self.close().await;
                    }
                }
            }
            self.flush().await?;
        }
    }

    /// Writes what has gathered. When the program is to end, a reader that has stopped reading is left.
    async fn flush(&mut self) -> std::io::Result<()> {
        tokio::select! {
            biased;
            flushed = self.output.flush() => flushed,
            () = self.server.stopping.cancelled() => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn take_event(&mut self, event: Event) -> ControlFlow<()> {
        match event {
            Event::Answer(reply) => {
                self.calls_waiting -= 1;
                self.answer(reply);
            }
            Event::Notification(frame, notifier) => {
                self.output.line(&frame);
                self.events.push(next_notification(notifier));
            }
            Event::Greeted => {}
            Event::Shutdown => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Acts on whole lines that have come, and stops to have the answers written once there are many.
    fn take_lines(&mut self) -> ControlFlow<()> {
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
            if self.output.buffer().len() > ANSWERS_BYTES_MAX {
                return ControlFlow::Continue(());
            }
        }
        ControlFlow::Break(())
    }

    fn take_frame(&mut self, frame: Result<Frame, Rejected>) {
        let message = match frame {
            Ok(Frame::Batch(messages)) => return self.take_batch(messages),
            Ok(Frame::Single(message)) => Ok(message),
            Err(rejected) => Err(rejected),
        };
        let start = self.output.buffer().len();
        let now = dispatch::dispatch(
            &self.server,
            &self.session,
            message,
            &mut || Some(self.outbox.clone()),
            self.output.buffer(),
        );
        match now {
            Now::Nothing => {}
            Now::Written(_) => self.output.end_line(start),
            Now::Later(later) => self.wait_for(later),
        }
        if let Some(greeting) = self.greeting.take_if(|_| self.session.is_ready()) {
            let greeted = greet(greeting, self.server.clone(), self.session.clone(), self.outbox.clone());
            self.events.push(greeted.map(|()| Event::Greeted).boxed());
        }
    }

    /// Lets a call run as far as it comes without waiting; most are then done.
    fn wait_for(&mut self, mut later: Later) {
        match (&mut later).now_or_never() {
            Some(reply) => self.answer(reply),
            None => {
                self.calls_waiting += 1;
                self.events.push(later.map(Event::Answer).boxed());
            }
        }
    }

    fn take_batch(&mut self, messages: Vec<Result<wire::Message, Rejected>>) {
        match dispatch::batch(&self.server, &self.session, messages, &mut || Some(self.outbox.clone())) {
            Ok(batch) => batch.into_iter().for_each(|batch| self.wait_for(batch)),
            Err(error) => {
                let start = self.output.buffer().len();
                write::error(self.output.buffer(), None, &error);
                self.output.end_line(start);
            }
        }
    }

    /// Writes the answer of a call, after what it has told before.
    fn answer(&mut self, reply: Option<Reply>) {
        self.take_reports();
        if let Some(reply) = reply {
            self.output.line(&reply.frame);
        }
    }

    fn take_reports(&mut self) {
        while let Ok(report) = self.reports.try_recv() {
            self.output.line(&report);
        }
    }

    /// The program is to end. Subscriptions are told so by their final result.
    async fn close(&mut self) -> std::io::Result<()> {
        let ended = async {
            while self.session.listens() > 0
                && let Some(event) = self.events.next().await
            {
                // Nothing more can break off: the shutdown has come.
                let _ = self.take_event(event);
            }
        };
        // Each of them only has to write a line.
        let _ = tokio::time::timeout(CLOSE_MAX, ended).await;
        self.flush().await
    }

    /// The client has closed its end. What it asked before is still answered, for a moment.
    async fn drain(&mut self) -> std::io::Result<()> {
        let rest = async {
            // Subscriptions end with their client, not by themselves.
            while self.calls_waiting > self.session.listens()
                && let Some(event) = self.events.next().await
                && self.take_event(event).is_continue()
            {
                self.flush().await?;
            }
            Ok(())
        };
        // Calls that take longer are given up: nobody is left who waits for them.
        tokio::time::timeout(DRAIN_MAX, rest).await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests;
