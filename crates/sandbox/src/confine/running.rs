//! `Running`: a confined program that runs.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::Signal;
use tokio::io::{AsyncRead, BufReader, Lines, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;

use super::confiner::next;
use super::layer::Layer;
use super::limits::{Limit, Limits};
use super::order::Order;
use super::packet::{Packet, connection, receive_files};
use super::report::{Ending, MemoryKeeper, Nowhere, Report, StartedBy};
use super::streams::{self, Streams};
use super::workspace::Surveyed;
use crate::egress::{Doors, Egress, Journal, WayOut};
use crate::guard::{TERMINATION, VOLUNTARY_EXIT};
use crate::process::Exit;

pub(super) type Reports = Lines<BufReader<Receiver>>;

/// Our ends of the pipes of a run, before it runs.
pub(super) struct Pipes {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    told: Option<OwnedFd>,
    lifeline: PipeWriter,
    report: PipeReader,
    doors: Option<OwnedFd>,
}

impl Pipes {
    /// And the spawner's, with the order: a terminal is added to what it shows.
    pub(super) fn new(mut order: Order, streams: Streams) -> io::Result<(Pipes, Packet)> {
        let ((stdin, stdout), [stdin_theirs, stdout_theirs]) = match streams {
            Streams::Terminal => {
                let (ours, theirs) = streams::terminal()?;
                order.mounts.extend(streams::names(&theirs));
                ((ours.try_clone()?, ours), [theirs.try_clone()?, theirs])
            }
            Streams::Apart | Streams::Merged => {
                let (stdin_theirs, stdin) = io::pipe()?;
                let (stdout, stdout_theirs) = io::pipe()?;
                ((stdin.into(), stdout.into()), [stdin_theirs.into(), stdout_theirs.into()])
            }
        };
        let (stderr, stderr_theirs) = io::pipe()?;
        let stderr_theirs = match streams {
            Streams::Apart => stderr_theirs.into(),
            // Ours ends at once then: nobody else has the other end.
            Streams::Merged | Streams::Terminal => stdout_theirs.try_clone()?,
        };
        let (told, told_theirs) = io::pipe()?;
        let (lifeline_theirs, lifeline) = io::pipe()?;
        let (report, report_theirs) = io::pipe()?;
        let streams = [stdin_theirs, stdout_theirs, stderr_theirs, told_theirs.into()];
        let (stderr, told) = (stderr.into(), order.tells.then(|| told.into()));
        let (lifeline_theirs, report_theirs) = (lifeline_theirs.into(), report_theirs.into());
        let (doors, doors_theirs) = match order.ports {
            Some(_) => connection().map(|(ours, theirs)| (Some(ours), Some(theirs)))?,
            None => (None, None),
        };
        let packet = Packet {
            order: order.write()?,
            streams,
            lifeline: lifeline_theirs,
            report: report_theirs,
            doors: doors_theirs,
            mounts: Vec::new(),
        };
        Ok((Pipes { stdin, stdout, stderr, told, lifeline, report, doors }, packet))
    }

    pub(super) fn report(&self) -> io::Result<Receiver> {
        Receiver::from_owned_fd(OwnedFd::from(self.report.try_clone()?))
    }
}

/// A confined program that runs, with everything it has started. Dropping it ends all of it without waiting.
#[derive(Debug)]
pub struct Running {
    io: Option<RunningIo>,
    line: Arc<Line>,
    reports: Reports,
    started: Started,
    surveyed: Arc<Vec<Surveyed>>,
    /// What was reported of its end so far.
    ended: Option<(Ending, Option<Limit>)>,
    reached: Option<Limit>,
    /// What it sent in vain, until the journal has it.
    nowhere: Nowhere,
    journal: Arc<Journal>,
    /// The way out, as long as it runs.
    egress: Option<Egress>,
}

/// What was said when it began.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) without: Vec<Layer>,
    pub(super) memory: MemoryKeeper,
    pub(super) is_from_pool: bool,
    pub(super) by: StartedBy,
}

/// Our end of the lifeline, and what ends it.
#[derive(Debug)]
struct Line {
    lifeline: Mutex<Option<PipeWriter>>,
    output_left: AtomicU64,
    is_over_output: AtomicBool,
}

/// Our ends of the program's streams.
#[derive(Debug)]
pub struct RunningIo {
    /// Dropping it closes the program's input, unless that is a terminal.
    pub stdin: Sender,
    /// Ends with everything that runs inside.
    pub stdout: Output,
    /// The same.
    pub stderr: Output,
    /// The same of its descriptor 3, if it has one.
    pub told: Option<Output>,
}

/// What a confined program prints. At the limit of its output the program is ended, and nothing more is read.
#[derive(Debug)]
pub struct Output {
    pipe: Receiver,
    line: Arc<Line>,
}

/// How a confined program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its code or signal.
    pub exit: Exit,
    /// The limit that ended it, or, if it has failed, one that it had reached by then.
    pub limit: Option<Limit>,
    /// Layers that were missing and waived, and [`Layer::ProtectedPaths`] if the workspace holds more than is looked at.
    pub without: Vec<Layer>,
    /// Protected files that were written nevertheless, or that another program has written meanwhile: below the
    /// workspace.
    pub written: Vec<PathBuf>,
}

impl Running {
    pub(super) fn new(
        pipes: Pipes,
        reports: Reports,
        started: Started,
        surveyed: Vec<Surveyed>,
        limits: Limits,
        way: WayOut,
    ) -> io::Result<Running> {
        let journal = Arc::new(Journal::new());
        let egress = match pipes.doors.map(|socket| receive_files(&socket)).transpose()?.flatten() {
            Some((_, doors)) => {
                let doors = sorted(doors, !started.without.contains(&Layer::Names))?;
                Some(Egress::open(doors, Arc::new(way), journal.clone())?)
            }
            None => None,
        };
        let line = Arc::new(Line {
            lifeline: Mutex::new(Some(pipes.lifeline)),
            output_left: AtomicU64::new(limits.output_bytes),
            is_over_output: AtomicBool::new(false),
        });
        // A terminal is no pipe, which would be asked for otherwise.
        let output = |pipe: OwnedFd| {
            ioctl_fionbio(&pipe, true)?;
            io::Result::Ok(Output { pipe: Receiver::from_owned_fd_unchecked(pipe)?, line: line.clone() })
        };
        ioctl_fionbio(&pipes.stdin, true)?;
        let io = RunningIo {
            stdin: Sender::from_owned_fd_unchecked(pipes.stdin)?,
            stdout: output(pipes.stdout)?,
            stderr: output(pipes.stderr)?,
            told: pipes.told.map(output).transpose()?,
        };
        Ok(Running {
            io: Some(io),
            line,
            reports,
            started,
            surveyed: Arc::new(surveyed),
            ended: None,
            reached: None,
            nowhere: Nowhere::default(),
            journal,
            egress,
        })
    }

    /// Hands out the streams, once.
    pub fn take_io(&mut self) -> Option<RunningIo> {
        self.io.take()
    }

    /// The hosts that it has reached, or not.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Layers that are missing and waived, [`Layer::Names`] where `bwrap` has started it, and [`Layer::ProtectedPaths`] where the
    /// workspace holds more than is looked at.
    pub fn without(&self) -> &[Layer] {
        &self.started.without
    }

    /// What keeps it to its limit of memory.
    pub fn memory_keeper(&self) -> MemoryKeeper {
        self.started.memory
    }

    /// Whether its sandbox was there before it was asked for.
    pub fn is_from_pool(&self) -> bool {
        self.started.is_from_pool
    }

    /// What has started it.
    pub fn started_by(&self) -> StartedBy {
        self.started.by
    }

    /// Waits until the program has ended, nothing of it is left, and what it could write has been looked at. May be
    /// cancelled and called again.
    pub async fn wait(&mut self) -> Outcome {
        self.io = None;
        while let Some(report) = next(&mut self.reports).await {
            match report {
                Report::Ended { ending, limit, nowhere, is_over } => {
                    self.ended = Some((ending, limit));
                    self.nowhere = nowhere;
                    if is_over {
                        break;
                    }
                }
                Report::Reached(limit) => self.reached = Some(limit),
                Report::Missing { .. } | Report::NotRun { .. } | Report::Started { .. } => {}
            }
        }
        if let Some(egress) = &self.egress {
            egress.ended();
        }
        // After the names that were looked up for it.
        let Nowhere { datagrams, unrouted } = std::mem::take(&mut self.nowhere);
        self.journal.went_nowhere(datagrams, unrouted);
        let exit = match self.ended {
            Some((Ending::Code(code), _)) => Exit::Code(code),
            Some((Ending::Signal(signal), _)) => Exit::Signal(signal),
            // Both init and the spawner see the end of the lifeline; the spawner was faster, so init could not say it.
            None if self.line.is_ended() => Exit::Signal(Signal::KILL.as_raw()),
            None => Exit::Lost,
        };
        let is_over_output = self.line.is_over_output.load(Ordering::Relaxed);
        let limit = if is_over_output {
            Some(Limit::OutputBytes)
        } else {
            self.ended.and_then(|(_, limit)| limit).or(self.reached)
        };
        let surveyed = self.surveyed.clone();
        let looks = match surveyed.is_empty() {
            true => Vec::new(),
            false => {
                let look = move || surveyed.iter().map(Surveyed::written).collect::<Vec<_>>();
                tokio::task::spawn_blocking(look).await.unwrap_or_default()
            }
        };
        let mut without = self.started.without.clone();
        if looks.iter().any(|(_, is_cut)| *is_cut) && !without.contains(&Layer::ProtectedPaths) {
            without.push(Layer::ProtectedPaths);
        }
        let written = looks.into_iter().flat_map(|(written, _)| written).collect();
        Outcome { exit, limit, without, written }
    }

    /// Ends the program and everything it has started, at once. What is returned waits until nothing is left.
    pub fn end(mut self) -> impl Future<Output = Outcome> + Send {
        self.line.end();
        async move { self.wait().await }
    }

    /// Ends it in good order: its input is closed, then it is asked to leave, then it is ended. Whoever holds its `stdin`
    /// must have dropped it.
    pub async fn dismiss(mut self) -> Outcome {
        if let Ok(outcome) = timeout(VOLUNTARY_EXIT, self.wait()).await {
            return outcome;
        }
        self.line.ask_to_leave();
        if let Ok(outcome) = timeout(TERMINATION, self.wait()).await {
            return outcome;
        }
        self.end().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.line.end();
    }
}

/// The doors in the order in which init hands them out.
fn sorted(doors: Vec<OwnedFd>, has_names: bool) -> io::Result<Doors> {
    let mut doors = doors.into_iter();
    let proxy = doors.next().ok_or(io::ErrorKind::InvalidData)?;
    let names = if has_names { Some(doors.next().ok_or(io::ErrorKind::InvalidData)?) } else { None };
    Ok(Doors { proxy, names, direct: doors.collect() })
}

impl Line {
    /// Nobody hears it if all is over.
    fn ask_to_leave(&self) {
        let mut lifeline = self.lifeline.lock().unwrap_or_else(PoisonError::into_inner);
        // Never waits, since the pipe is empty.
        let _ = lifeline.as_mut().map(|lifeline| lifeline.write(b"."));
    }

    fn end(&self) {
        *self.lifeline.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_ended(&self) -> bool {
        self.lifeline.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// How many of `bytes` may still be passed on.
    fn count(&self, bytes: usize) -> usize {
        let wanted = bytes as u64;
        let left = self
            .output_left
            .fetch_sub(wanted.min(self.output_left.load(Ordering::Relaxed)), Ordering::Relaxed);
        if left < wanted {
            self.is_over_output.store(true, Ordering::Relaxed);
            self.end();
        }
        usize::try_from(left.min(wanted)).unwrap_or(bytes)
    }
}

impl AsyncRead for Output {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.line.is_over_output.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        match ready!(Pin::new(&mut self.pipe).poll_read(cx, buf)) {
            // A terminal that nobody inside has open any more.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::IO) => return Poll::Ready(Ok(())),
            read => read?,
        }
        let passed = self.line.count(buf.filled().len() - before);
        buf.set_filled(before + passed);
        Poll::Ready(Ok(()))
    }
}
