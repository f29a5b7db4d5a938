//! `Started`: a `bwrap` that makes an init, until that has said that it is there, and what is known of it afterwards.

use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_process_group, pidfd_send_signal};

use crate::confine::layer::Layer;
use crate::confine::packet::{Packet, READY, receive_files};
use crate::confine::report::Report;
use crate::confine::spawner::sandbox::Sandbox;

/// It takes milliseconds; on a machine that is busy, a hundred times as long. Less than whoever asked waits for us.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// What is said where it says nothing itself.
const NO_PROCESS: &str = "it has made no process in time";

/// What it says of a failure is a line.
const SAID_BYTES_MAX: u64 = 1024;

pub(in crate::confine::spawner) struct Started {
    /// What init is sent once it has said that it is there.
    packet: Option<Packet>,
    /// What bwrap says.
    said: OwnedFd,
    answer_by: Instant,
    /// From then on.
    init: Option<OwnedFd>,
    has_bwrap_ended: bool,
}

/// What it looks at is bwrap's process, and the socket to init, which ends with the last process that might have become it.
impl Started {
    pub(super) fn new(packet: Packet, said: OwnedFd, now: Instant) -> Started {
        let answer_by = now + ANSWER_TIMEOUT;
        Started { packet: Some(packet), said, answer_by, init: None, has_bwrap_ended: false }
    }

    /// What wakes the spawner for it.
    pub(in crate::confine::spawner) fn wakers<'s>(
        &'s self,
        bwrap: &'s Sandbox,
    ) -> impl Iterator<Item = PollFd<'s>> {
        let own = (!self.has_bwrap_ended).then(|| bwrap.waker());
        let init = match &self.init {
            Some(init) => PollFd::new(init, PollFlags::IN),
            None if self.packet.is_some() => bwrap.ear(),
            None => PollFd::new(&bwrap.socket, PollFlags::empty()),
        };
        own.into_iter().chain([init])
    }

    /// Until when an answer is waited for.
    pub(in crate::confine::spawner) fn answer_by(&self) -> Option<Instant> {
        self.packet.as_ref().map(|_| self.answer_by)
    }

    /// Sends the packet if init has said that it is there; ends all if it has not said so in time, or never will, and
    /// reports why. Whether nothing is left.
    pub(in crate::confine::spawner) fn is_gone(&mut self, bwrap: &Sandbox, report: &OwnedFd) -> bool {
        if !self.is_answered(&bwrap.socket) {
            self.say_failure(report);
            self.kill(bwrap);
        }
        if !self.has_bwrap_ended && bwrap.has_ended() {
            self.has_bwrap_ended = true;
            self.say_failure(report);
        }
        let is_init_gone = match &self.init {
            Some(init) => is_there(PollFd::new(init, PollFlags::IN)),
            // The end alone, and not what somebody says.
            None => is_there(PollFd::new(&bwrap.socket, PollFlags::empty())),
        };
        self.has_bwrap_ended && is_init_gone
    }

    /// Ends init, with which all inside ends. Before there is one, everything that might become it.
    pub(in crate::confine::spawner) fn kill(&self, bwrap: &Sandbox) {
        match &self.init {
            // It has ended already, perhaps.
            Some(init) => _ = pidfd_send_signal(init, Signal::KILL),
            // Its number is its group's as long as nobody has waited for it; a moment earlier it has none yet.
            None if !self.has_bwrap_ended => {
                let _ = kill_process_group(bwrap.init, Signal::KILL);
                bwrap.kill();
            }
            None => {}
        }
    }

    /// False if nobody has answered in time, or ever will.
    fn is_answered(&mut self, socket: &OwnedFd) -> bool {
        if self.packet.is_none() || !is_there(PollFd::new(socket, PollFlags::IN)) {
            return self.answer_by().is_none_or(|by| Instant::now() < by);
        }
        let Ok(Some((READY, files))) = receive_files(socket) else { return false };
        let Some(init) = files.into_iter().next() else { return false };
        self.init = Some(init);
        // If this fails, it has ended meanwhile, which is seen.
        let _ = self.packet.take().map(|packet| packet.send(socket));
        true
    }

    fn say_failure(&mut self, report: &OwnedFd) {
        if let Some(failure) = self.failure() {
            failure.write(report);
        }
    }

    /// Why there is no init, if there never was one; said once.
    fn failure(&mut self) -> Option<Report> {
        drop(self.packet.take()?);
        let said = self.said();
        let why = if said.is_empty() { NO_PROCESS } else { &said };
        Some(Report::missing(
            Layer::UserNamespace,
            format!("Toolcrib may make none here, and bwrap failed: {why}"),
        ))
    }

    fn said(&self) -> String {
        let Ok(said) = self.said.try_clone() else { return String::new() };
        let (mut said, mut bytes) = (std::fs::File::from(said), Vec::new());
        // What cannot be read is not said.
        let _ = said.seek(SeekFrom::Start(0)).and_then(|_| said.take(SAID_BYTES_MAX).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().trim().to_owned()
    }
}

fn is_there(what: PollFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [what], Some(&now)).is_ok_and(|ready| ready > 0)
}
