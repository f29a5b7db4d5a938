//! `Run`: one program, from the packet that asks for it until nothing is left of it.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Spawner;
use super::bwrap::Started;
use super::clone::Side;
use super::control_group::ControlGroup;
use super::placeholder::{Identity, Placeholder, make_all};
use super::sandbox::{Belongings, Sandbox, clone_init};
use crate::confine::init as inside;
use crate::confine::layer::Layer;
use crate::confine::limits::Limit;
use crate::confine::mount;
use crate::confine::order::{Order, OrderedMount};
use crate::confine::packet::{OVER, Packet, connection, hear};
use crate::confine::report::Report;

pub(super) struct Run {
    sandbox: Sandbox,
    /// Gone once it has ended.
    lifeline: Option<OwnedFd>,
    /// Ours is closed last: its end says that all is tidied up.
    report: OwnedFd,
    placeholders: Vec<Placeholder>,
    state: State,
    /// Whether its init may still say that nothing else is left.
    is_heard: bool,
    /// The bwrap that makes its init, in whose place it stands in the sandbox.
    bwrap: Option<Started>,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Nothing but its init is left, which ends now.
    Over,
    /// Its init has ended, too.
    Gone,
}

impl Run {
    /// In a sandbox from the pool, or else in a new one: whatever goes wrong with the former, the latter names it. None is
    /// made ahead by bwrap.
    pub(super) fn start(spawner: &mut Spawner, packet: Packet) -> Result<Run, Report> {
        let order = Order::read(&packet.order).map_err(|error| Report::missing(Layer::Spawner, error))?;
        if spawner.needs_bwrap() {
            return Run::by_bwrap(spawner, &order, packet);
        }
        match Run::from_pool(spawner, &order, packet) {
            Ok(run) => Ok(run),
            Err(packet) => Run::anew(spawner, order, packet),
        }
    }

    fn from_pool(spawner: &mut Spawner, order: &Order, mut packet: Packet) -> Result<Run, Packet> {
        let Some(empty) = spawner.pool.take(order, &spawner.system) else { return Err(packet) };
        let prepared = match prepare(spawner, empty.belongings(), order) {
            Ok(prepared) => prepared,
            Err(_) => {
                spawner.pool.end(empty);
                return Err(packet);
            }
        };
        packet.mounts = prepared.mounts;
        if empty.ask(&packet).is_err() {
            packet.mounts.clear();
            close(prepared.placeholders, spawner);
            spawner.pool.end(empty);
            return Err(packet);
        }
        Ok(Run::new(empty.into_sandbox(), packet, prepared.placeholders))
    }

    fn anew(spawner: &mut Spawner, order: Order, mut packet: Packet) -> Result<Run, Report> {
        let sockets = connection().map_err(|error| Report::missing(Layer::Spawner, error));
        let (socket, theirs) = sockets?;
        let (belongings, way_in, prepared) = take(spawner, &order)?;
        packet.mounts = prepared.mounts;
        match clone_init(&mut spawner.lacking, &belongings, Some(&order)) {
            Ok((Side::Parent { child, handle }, _)) => {
                let sandbox = Sandbox { init: child, handle, socket, belongings };
                Ok(Run::new(sandbox, packet, prepared.placeholders))
            }
            Ok((Side::Child, without)) => {
                drop(socket);
                spawner.become_init(&belongings, (theirs, way_in), without, |sandbox| {
                    inside::main(sandbox, order, packet)
                })
            }
            Err(why) => {
                close(prepared.placeholders, spawner);
                belongings.give_back(&mut spawner.owned);
                Err(why)
            }
        }
    }

    fn by_bwrap(spawner: &mut Spawner, order: &Order, packet: Packet) -> Result<Run, Report> {
        let (belongings, way_in, prepared) = take(spawner, order)?;
        let launcher = spawner.bwrap.as_ref().ok_or((Layer::Spawner, io::ErrorKind::NotFound.into()));
        match launcher.and_then(|bwrap| bwrap.start(order, &spawner.system, way_in.as_ref(), &packet)) {
            Ok((init, handle, socket, started)) => {
                let sandbox = Sandbox { init, handle, socket, belongings };
                let run = Run::new(sandbox, packet, prepared.placeholders);
                Ok(Run { bwrap: Some(started), is_heard: false, ..run })
            }
            Err((layer, error)) => {
                close(prepared.placeholders, spawner);
                belongings.give_back(&mut spawner.owned);
                Err(Report::missing(layer, error))
            }
        }
    }

    fn new(sandbox: Sandbox, packet: Packet, placeholders: Vec<Placeholder>) -> Run {
        let Packet { lifeline, report, .. } = packet;
        let (lifeline, state) = (Some(lifeline), State::Running);
        Run { sandbox, lifeline, report, placeholders, state, is_heard: true, bwrap: None }
    }

    /// What wakes the spawner for it: the end of its init, and that of its lifeline.
    pub(super) fn wakers(&self) -> impl Iterator<Item = PollFd<'_>> {
        let lifeline = self.lifeline.as_ref();
        let lifeline = lifeline.map(|lifeline| PollFd::new(lifeline, PollFlags::empty()));
        let ear = self.is_heard.then(|| self.sandbox.ear());
        let own = self.bwrap.is_none().then(|| self.sandbox.waker());
        let bwrap = self.bwrap.iter().flat_map(|bwrap| bwrap.wakers(&self.sandbox));
        own.into_iter().chain(bwrap).chain(ear).chain(lifeline)
    }

    /// Until when its init is waited for, if bwrap makes it.
    pub(super) fn answer_by(&self) -> Option<Instant> {
        self.bwrap.as_ref().and_then(Started::answer_by)
    }

    /// Ends it if its lifeline has ended, and sees whether it is over.
    pub(super) fn look(&mut self) {
        if self.lifeline.as_ref().is_some_and(has_ended) {
            self.lifeline = None;
            // Its init does the same by itself; this holds even if that were stuck.
            self.kill();
        }
        let is_gone = match &mut self.bwrap {
            None => self.sandbox.has_ended(),
            Some(bwrap) => bwrap.is_gone(&self.sandbox, &self.report),
        };
        if is_gone {
            self.state = State::Gone;
        } else if self.is_heard {
            match hear(&self.sandbox.socket) {
                Ok(Some(OVER)) => self.state = State::Over,
                Ok(_) => {}
                // It ends, and what runs inside with it.
                Err(_) => self.is_heard = false,
            }
        }
    }

    fn kill(&self) {
        match &self.bwrap {
            None => self.sandbox.kill(),
            Some(bwrap) => bwrap.kill(&self.sandbox),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state != State::Running
    }

    /// What stands in for absent files of this run.
    pub(super) fn held(&self) -> impl Iterator<Item = Identity> {
        self.placeholders.iter().filter_map(Placeholder::identity)
    }

    /// Takes away what was made for it and is not in `held` by others.
    pub(super) fn close(self, held: &HashSet<Identity>, spawner: &mut Spawner) {
        self.placeholders.into_iter().for_each(|placeholder| placeholder.close(held));
        if self.sandbox.belongings.group.as_ref().is_some_and(ControlGroup::has_killed) {
            Report::Reached(Limit::MemoryBytes).write(&self.report);
        }
        match self.state {
            State::Gone => self.sandbox.belongings.give_back(&mut spawner.owned),
            State::Running | State::Over => spawner.pool.see_off(self.sandbox),
        }
    }
}

/// What an order needs of the machine.
struct Prepared {
    /// As root.
    mounts: Vec<OwnedFd>,
    placeholders: Vec<Placeholder>,
}

/// What a new sandbox for the order takes, with the way into its control group.
fn take(spawner: &mut Spawner, order: &Order) -> Result<(Belongings, Option<OwnedFd>, Prepared), Report> {
    let (belongings, way_in) = Belongings::take(&mut spawner.owned)?;
    match prepare(spawner, &belongings, order) {
        Ok(prepared) => Ok((belongings, way_in, prepared)),
        Err(why) => {
            belongings.give_back(&mut spawner.owned);
            Err(why)
        }
    }
}

fn prepare(spawner: &mut Spawner, belongings: &Belongings, order: &Order) -> Result<Prepared, Report> {
    let mut prepared = Prepared { mounts: Vec::new(), placeholders: Vec::new() };
    match prepared.fill(spawner, belongings, order) {
        Ok(()) => Ok(prepared),
        Err((layer, error)) => {
            close(prepared.placeholders, spawner);
            Err(Report::missing(layer, error))
        }
    }
}

impl Prepared {
    fn fill(
        &mut self,
        spawner: &mut Spawner,
        belongings: &Belongings,
        order: &Order,
    ) -> Result<(), (Layer, io::Error)> {
        if let Some(group) = &belongings.group {
            group.limit(order.limits.memory_bytes).map_err(|error| (Layer::Memory, error))?;
        }
        if let Some(user) = belongings.user {
            // Init is not root any more, and may not look into root's folders.
            let mut take = |ordered: &OrderedMount| {
                let path = Path::new(&ordered.path);
                let copy = || mount::place(None, path).and_then(mount::copy);
                match (ordered.is_owned, ordered.is_device) {
                    (true, false) => return spawner.maps.mount(path, user),
                    // Its file system maps no owners, and it is this program's alone.
                    (true, true) => chown(path, Some(user), None).and_then(|()| copy()),
                    (false, _) => copy(),
                }
                .map_err(|error| (Layer::Root, mount::about(path)(error)))
            };
            self.mounts = order.mounts.iter().map(&mut take).collect::<Result<_, _>>()?;
        }
        for ordered in &order.mounts {
            let ours = self.placeholders.iter().filter_map(Placeholder::identity);
            let held = spawner.held().into_iter().chain(ours).collect();
            let made = make_all(ordered, &held, spawner.bwrap.is_some());
            self.placeholders.extend(made.map_err(|error| (Layer::ProtectedPaths, error))?);
        }
        Ok(())
    }
}

/// Takes away what stands in for absent files but was made for nothing.
fn close(placeholders: Vec<Placeholder>, spawner: &Spawner) {
    let held = spawner.held();
    placeholders.into_iter().for_each(|placeholder| placeholder.close(&held));
}

/// A byte in the pipe is for init.
fn has_ended(lifeline: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(lifeline, PollFlags::empty())], Some(&now)).is_ok_and(|ended| ended > 0)
}
