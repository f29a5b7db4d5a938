//! `Pool`: sandboxes that are empty and ready. Each is for one program, and was never anybody else's.
//!
//! An empty sandbox shows the machine as it was when it was made. So all are ended when anything is mounted or unmounted
//! on the machine, one whose files of the system have been replaced is not used, and none becomes old.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sandbox::{Belongings, Sandbox};
use crate::confine::init::system::{Identities, System};
use crate::confine::order::Order;
use crate::confine::packet::{Packet, READY, hear};

/// Empty sandboxes at once: agents mostly run one program at a time, now and then two.
const SIZE: usize = 2;

/// An empty sandbox that nobody has asked for ends when it is so old. Whoever runs nothing for so long pays for nothing.
const AGE_MAX: Duration = Duration::from_secs(60);

/// After a start the pool is filled once nothing was asked for so long. The program has begun by then and mostly leaves a
/// processor; the next one finds a sandbox even if it comes at once.
const REST: Duration = Duration::from_millis(1);

/// With so many programs the machine has other things to do, and the numbers of users are for them.
pub(super) const RUNS_MAX: usize = 32;

/// Whoever asks for a full pool waits no longer for one of them.
const READY_TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

#[derive(Default)]
pub(super) struct Pool {
    /// The oldest first.
    empty: Vec<EmptySandbox>,
    ending: Vec<Sandbox>,
    fill_at: Option<Instant>,
    /// Ends for whoever waits until it is full.
    pub(super) told: Option<OwnedFd>,
}

/// Its init waits behind its first steps.
pub(super) struct EmptySandbox {
    sandbox: Sandbox,
    /// The files of the system when it was made.
    system: Identities,
    made: Instant,
}

impl Pool {
    /// The oldest that is ready, if the order may have one.
    pub(super) fn take(&mut self, order: &Order, system: &Arc<System>) -> Option<EmptySandbox> {
        if !order.pools {
            return None;
        }
        let now = Instant::now();
        self.fill_at = now.checked_add(REST);
        if self.empty.is_empty() {
            return None;
        }
        let identities = system.identities();
        self.end_all(|empty| empty.system != identities || empty.is_old(now));
        let ready = self.empty.iter().position(EmptySandbox::is_ready)?;
        Some(self.empty.remove(ready))
    }

    /// Ends one that could not be used.
    pub(super) fn end(&mut self, empty: EmptySandbox) {
        empty.sandbox.kill();
        self.see_off(empty.sandbox);
    }

    /// One that ends now, and that nobody waits for but us.
    pub(super) fn see_off(&mut self, sandbox: Sandbox) {
        self.ending.push(sandbox);
    }

    /// Ends those of which it is true.
    fn end_all(&mut self, is_useless: impl Fn(&EmptySandbox) -> bool) {
        let useless: Vec<_> = self.empty.extract_if(.., |empty| is_useless(empty)).collect();
        useless.into_iter().for_each(|empty| self.end(empty));
    }

    /// Nobody can ask any more.
    pub(super) fn close(&mut self) {
        self.fill_at = None;
        self.end_all(|_| true);
    }

    /// Ends what has become old; all, if the machine's mounts have changed. What belonged to those that are over is left.
    pub(super) fn tidy_up(&mut self, have_mounts_changed: bool) -> Vec<Belongings> {
        let now = Instant::now();
        self.end_all(|empty| have_mounts_changed || empty.is_old(now));
        // One that could not be set up.
        let dead = self.empty.extract_if(.., |empty| empty.sandbox.has_ended());
        let mut over: Vec<Belongings> = dead.map(|empty| empty.sandbox.belongings).collect();
        let ended = self.ending.extract_if(.., |sandbox| sandbox.has_ended());
        over.extend(ended.map(|sandbox| sandbox.belongings));
        over
    }

    pub(super) fn is_empty(&self) -> bool {
        self.empty.is_empty() && self.ending.is_empty()
    }

    /// What wakes the spawner when one has ended.
    pub(super) fn wakers(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.empty.iter().map(|empty| &empty.sandbox).chain(&self.ending).map(Sandbox::waker)
    }

    /// When there is something to do though nobody asks.
    pub(super) fn next(&self) -> Option<Instant> {
        let old = self.empty.first().and_then(|empty| empty.made.checked_add(AGE_MAX));
        old.into_iter().chain(self.fill_at).min()
    }

    /// The rest of it is to be filled next.
    pub(super) fn fill_next(&mut self) {
        self.fill_at = Some(Instant::now());
    }

    /// Whether it is to be filled now. Says so once.
    pub(super) fn is_due(&mut self) -> bool {
        self.fill_at.take_if(|at| *at <= Instant::now()).is_some()
    }

    pub(super) fn has_room(&self) -> bool {
        self.empty.len() < SIZE
    }

    pub(super) fn add(&mut self, empty: EmptySandbox) {
        self.empty.push(empty);
    }

    /// Waits until all are ready that can be.
    pub(super) fn wait(&self) {
        for empty in &self.empty {
            // One that is not is passed over when one is taken.
            let _ = poll(&mut [empty.sandbox.ear()], Some(&READY_TIMEOUT));
        }
    }
}

impl EmptySandbox {
    /// One that was begun at this moment, when the system's files were these.
    pub(super) fn new(sandbox: Sandbox, system: Identities, made: Instant) -> EmptySandbox {
        EmptySandbox { sandbox, system, made }
    }

    /// Its init says so, once. To be asked until it is so: what nobody has read resets the connection when that is closed.
    fn is_ready(&self) -> bool {
        hear(&self.sandbox.socket).is_ok_and(|said| said == Some(READY))
    }

    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.made) >= AGE_MAX
    }

    pub(super) fn belongings(&self) -> &Belongings {
        &self.sandbox.belongings
    }

    pub(super) fn ask(&self, packet: &Packet) -> io::Result<()> {
        packet.send(&self.sandbox.socket)
    }

    pub(super) fn into_sandbox(self) -> Sandbox {
        self.sandbox
    }
}

/// What wakes the spawner when anything is mounted or unmounted where it is.
pub(super) struct MachineMounts(File);

impl MachineMounts {
    pub(super) fn watch() -> io::Result<MachineMounts> {
        Ok(MachineMounts(File::open("/proc/self/mountinfo")?))
    }

    pub(super) fn waker(&self) -> PollFd<'_> {
        PollFd::new(&self.0, PollFlags::PRI)
    }
}
