//! The hand of tools that run programs: what they may say of a program, and what they hear of it. What it may touch is not
//! for a tool to say.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use sandbox::Exit;
use sandbox::confine::{self, Limit, Output, Running, RunningIo, Streams};
use sandbox::egress::{Entry, Journal, Outcome, Reason};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::failure::ToolError;
use crate::stdin::Stdin;

/// The most that one piece of output holds: what a pipe holds is four of them.
const CHUNK_BYTES_MAX: usize = 16 * 1024;

/// How much is told of what a program did not get of the network.
pub const BLOCKED_TOLD_MAX: usize = 8;

/// A program that a tool wants run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// A name to look up in the sandbox, or a path as the sandbox shows it.
    pub program: OsString,
    /// Its arguments; no shell reads them.
    pub args: Vec<OsString>,
    /// Variables of its own, beside the few that every program gets.
    pub env: Vec<(OsString, OsString)>,
    /// Files and folders that it reads beyond what the call sees, by their whole paths. A person is asked about each before it
    /// starts, unless one has said so already.
    pub read: Vec<PathBuf>,
    /// The same of folders that it writes.
    pub write: Vec<PathBuf>,
    /// What it reads on stdin. Then its stdin ends, unless that stays open.
    pub input: Bytes,
    /// Whether its stdin stays open, for [`Process::take_stdin`] in the place of `input`.
    pub keeps_stdin: bool,
    /// How long it may take; never longer than an operator lets programs take.
    pub time_max: Option<Duration>,
    /// Whether it has a descriptor 3, on which it tells more than it prints: [`Chunk::Told`].
    pub tells: bool,
    /// What it reads from and prints to.
    pub streams: Streams,
    /// Whether it only looks at the workspace, though its call may write there.
    pub looks_only: bool,
    /// One of our own in the place of `program`: it sees its arguments and its input, and nothing else of the call.
    pub worker: Option<Worker>,
}

/// What our own program does when it is started again to look at what strangers have made: it computes with its input, and has
/// no file, no host and little memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// Decodes a picture.
    Image,
    /// Reads a page of the web.
    Page,
}

impl Worker {
    /// The first argument of its process. It is not for people.
    pub fn word(self) -> &'static str {
        match self {
            Worker::Image => "__image",
            Worker::Page => "__page",
        }
    }

    /// The one of this word.
    pub fn of(word: &OsStr) -> Option<Worker> {
        [Worker::Image, Worker::Page].into_iter().find(|worker| word == worker.word())
    }
}

/// Starts programs for one call. A tool gets it if its `ABOUT` says that it needs it.
pub trait Processes: Send + Sync {
    /// Starts a program confined, or not at all. It ends with the call at the latest, and with everything it has started.
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Process<'_>, ToolError>>;

    /// Hears how a program has ended, if its tool has waited for that.
    fn ended(&self, ended: &Ended);

    /// Ends a program that its tool has let go of before its end, with everything it has started. Returns at once.
    fn left(&self, running: Running, degraded: Vec<&'static str>);
}

/// A program that runs, with everything it has started. Dropping it ends all of it; the call that it belongs to cannot
/// leave it behind.
pub struct Process<'c> {
    held: Held<'c>,
    input: Option<Input>,
    stdin: Option<Stdin>,
    stdout: Stream,
    stderr: Stream,
    /// Ended from the start where the program has none.
    told: Stream,
}

/// What is handed back to whoever has started it if it is let go of before its end.
struct Held<'c> {
    /// Until it has ended.
    running: Option<Running>,
    degraded: Vec<&'static str>,
    starter: &'c dyn Processes,
}

/// What a program is given to read.
#[derive(Debug)]
pub enum Given {
    /// Nothing: its stdin has ended.
    Nothing,
    /// This.
    All(Bytes),
    /// What [`Process::take_stdin`] is told.
    Later {
        /// Whether it is typed at a terminal.
        is_terminal: bool,
    },
}

impl Command {
    /// What it is given to read.
    pub fn given(&mut self) -> Given {
        match std::mem::take(&mut self.input) {
            _ if self.keeps_stdin => Given::Later { is_terminal: self.streams == Streams::Terminal },
            input if input.is_empty() => Given::Nothing,
            input => Given::All(input),
        }
    }
}

/// What is still to be written.
struct Input {
    pipe: tokio::net::unix::pipe::Sender,
    left: Bytes,
}

/// One of its streams; nothing once it has ended.
struct Stream {
    output: Option<Output>,
    buffer: BytesMut,
}

/// A piece of what a program prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// On stdout.
    Stdout(Bytes),
    /// On stderr.
    Stderr(Bytes),
    /// On its descriptor 3.
    Told(Bytes),
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its code or signal.
    pub exit: Exit,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// Protected files, below the workspace, that have changed while it ran. People should look at them before anything
    /// obeys them.
    pub written: Vec<PathBuf>,
    /// Layers of the sandbox that it ran without, or with a weaker form of.
    pub degraded: Vec<&'static str>,
    /// What it wanted of the network and did not get.
    pub blocked: Blocked,
}

/// What a program wanted of the network and did not get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocked {
    /// What, with the reason: at most [`BLOCKED_TOLD_MAX`], and then how many more there are.
    pub told: Vec<String>,
    /// Whether a rule would have allowed some of it.
    pub is_for_a_rule: bool,
}

impl Blocked {
    fn of(entries: &[Entry]) -> Blocked {
        // A program says what it likes.
        let plain = |entry: &Entry| entry.to_string().chars().filter(|c| !sandbox::is_hidden(*c)).collect();
        let mut told: Vec<String> = entries.iter().take(BLOCKED_TOLD_MAX).map(plain).collect();
        if let Some(more @ 1..) = entries.len().checked_sub(BLOCKED_TOLD_MAX) {
            told.push(format!("and {more} more"));
        }
        let is_open =
            |entry: &Entry| matches!(entry.outcome, Outcome::Blocked(Reason::NoRule | Reason::Unanswered));
        let is_for_a_rule = entries.iter().any(is_open);
        Blocked { told, is_for_a_rule }
    }
}

impl Ended {
    /// An end as it was reported, of a program that ran without these layers.
    pub fn of(outcome: confine::Outcome, mut degraded: Vec<&'static str>, journal: &Journal) -> Ended {
        let confine::Outcome { exit, limit, without, written } = outcome;
        // One is known only at the end: that the workspace has become too large.
        let more = without.iter().map(|layer| layer.name()).filter(|name| !degraded.contains(name));
        let more: Vec<_> = more.collect();
        degraded.extend(more);
        Ended { exit, limit, written, degraded, blocked: Blocked::of(&journal.blocked()) }
    }

    /// An end of which nothing else is to be said.
    pub fn plain(exit: Exit, limit: Option<Limit>) -> Ended {
        Ended { exit, limit, written: Vec::new(), degraded: Vec::new(), blocked: Blocked::default() }
    }
}

/// All of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// The beginning of what it printed on stdout.
    pub stdout: Bytes,
    /// The beginning of what it printed on stderr.
    pub stderr: Bytes,
    /// How much it printed on both together, which may be more.
    pub bytes: u64,
    /// How it ended.
    pub ended: Ended,
}

impl<'c> Process<'c> {
    /// A program that `starter` has just started; nothing if its streams have been taken from it.
    pub fn new(
        mut running: Running,
        given: Given,
        degraded: Vec<&'static str>,
        starter: &'c dyn Processes,
    ) -> Option<Process<'c>> {
        let RunningIo { stdin: pipe, stdout, stderr, told } = running.take_io()?;
        let (input, stdin) = match given {
            Given::Nothing => (None, None),
            Given::All(left) => (Some(Input { pipe, left }), None),
            Given::Later { is_terminal } => (None, Some(Stdin::new(pipe, is_terminal))),
        };
        let [stdout, stderr, told] = [Some(stdout), Some(stderr), told].map(Stream::of);
        let held = Held { running: Some(running), degraded, starter };
        Some(Process { held, input, stdin, stdout, stderr, told })
    }

    /// Hands out its stdin, once, if that stays open. It ends when what is handed out is dropped.
    pub fn take_stdin(&mut self) -> Option<Stdin> {
        self.stdin.take()
    }

    /// What it prints next, as soon as it does; nothing once all streams have ended. Meanwhile it is given its input. May
    /// be dropped and called again.
    pub async fn next(&mut self) -> io::Result<Option<Chunk>> {
        loop {
            if [&self.stdout, &self.stderr, &self.told].iter().all(|stream| stream.output.is_none()) {
                return Ok(None);
            }
            tokio::select! {
                chunk = self.stdout.next() => if let Some(bytes) = chunk? { return Ok(Some(Chunk::Stdout(bytes))) },
                chunk = self.stderr.next() => if let Some(bytes) = chunk? { return Ok(Some(Chunk::Stderr(bytes))) },
                chunk = self.told.next() => if let Some(bytes) = chunk? { return Ok(Some(Chunk::Told(bytes))) },
                () = give(&mut self.input) => {}
            }
        }
    }

    /// Passes over what is left of its output, and waits until it has ended and nothing of it is left.
    pub async fn wait(mut self) -> Ended {
        // An output that cannot be read is one that has ended.
        while let Ok(Some(_)) = self.next().await {}
        self.held.ended().await
    }

    /// Waits for its end, and keeps at most so much of each stream. It may print more, up to its limit.
    pub async fn printed(mut self, bytes_max: usize) -> Printed {
        let (mut stdout, mut stderr, mut bytes) = (BytesMut::new(), BytesMut::new(), 0);
        while let Ok(Some(chunk)) = self.next().await {
            let (kept, piece) = match chunk {
                Chunk::Stdout(piece) => (&mut stdout, piece),
                Chunk::Stderr(piece) => (&mut stderr, piece),
                Chunk::Told(_) => continue,
            };
            bytes += piece.len() as u64;
            let room = bytes_max.saturating_sub(kept.len());
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let ended = self.wait().await;
        Printed { stdout: stdout.freeze(), stderr: stderr.freeze(), bytes, ended }
    }
}

impl Held<'_> {
    /// Waits for the end. Dropped before, it is let go of.
    async fn ended(mut self) -> Ended {
        const IS_HELD: &str = "only the end takes it, or the drop";
        let outcome = self.running.as_mut().expect(IS_HELD).wait().await;
        let running = self.running.take().expect(IS_HELD);
        let ended = Ended::of(outcome, std::mem::take(&mut self.degraded), running.journal());
        self.starter.ended(&ended);
        ended
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.starter.left(running, std::mem::take(&mut self.degraded));
        }
    }
}

impl fmt::Debug for Process<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("running", &self.held.running).finish_non_exhaustive()
    }
}

impl Stream {
    fn of(output: Option<Output>) -> Stream {
        Stream { output, buffer: BytesMut::new() }
    }

    /// The next piece; nothing at the end, and never again after it.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let Some(output) = &mut self.output else { return std::future::pending().await };
        self.buffer.reserve(CHUNK_BYTES_MAX);
        match (&mut *output).take(CHUNK_BYTES_MAX as u64).read_buf(&mut self.buffer).await {
            Ok(0) => {
                self.output = None;
                Ok(None)
            }
            Ok(_) => Ok(Some(self.buffer.split().freeze())),
            Err(error) => {
                self.output = None;
                Err(error)
            }
        }
    }
}

/// Writes what is left, and closes the pipe behind it. Never done where there is nothing to write.
async fn give(input: &mut Option<Input>) {
    let Some(Input { pipe, left }) = input else { return std::future::pending().await };
    match pipe.write(left).await {
        Ok(bytes) if bytes < left.len() => *left = left.slice(bytes..),
        // All is written, or the program reads no more of it.
        Ok(_) | Err(_) => *input = None,
    }
}
