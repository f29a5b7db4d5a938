//! `Run`: one program, from the packet that asks for it until nothing is left of it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};

use super::Spawner;
use super::bwrap::Started;
use super::clone::Parent;
use super::control_group::ControlGroup;
use super::placeholder::{Identity, Placeholder, make_all};
use super::sandbox::{Belongings, Made, Sandbox, Unborn};
use crate::confine::init::furniture::Furniture;
use crate::confine::layer::Layer;
use crate::confine::limits::Limit;
use crate::confine::mount;
use crate::confine::order::{Order, OrderedMount};
use crate::confine::packet::{BEGUN, FAILED, OVER, Packet, has_ended, hear};
use crate::confine::report::Report;

pub(super) struct Run {
    sandbox: Sandbox,
    /// Gone once it has ended.
    lifeline: Option<OwnedFd>,
    /// Ours is closed last: its end says that all is tidied up.
    report: OwnedFd,
    placeholders: Vec<Placeholder>,
    state: State,
    /// Whether its init has ended, too.
    is_gone: bool,
    /// Whether its init may still say that nothing else is left.
    is_heard: bool,
    /// The bwrap that makes its init, in whose place it stands in the sandbox.
    bwrap: Option<Started>,
    root: Root,
    /// What it is started again with, until an init in a template has said that it has begun.
    again: Option<Packet>,
}

/// How its root folder was made.
enum Root {
    /// As no template is: ahead, by bwrap, or with what is for this program alone.
    Apart,
    Anew(Furniture),
    InTemplate(Furniture),
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// Nothing of it has begun, and its init ends now.
    Failed,
    /// Nothing but its init is left, which ends now.
    Over,
}

impl Run {
    /// In a sandbox from the pool, or else in a new one: whatever goes wrong with the former, the latter names it. None is
    /// made ahead by bwrap.
    pub(super) fn start(spawner: &mut Spawner, packet: Packet) -> Result<Run, Report> {
        let order = Order::read(&packet.order).map_err(|error| Report::missing(Layer::Spawner, error))?;
        if has_ended(&packet.lifeline) {
            return Err(Report::missing(Layer::Spawner, "nobody waits for it any more"));
        }
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
        let (belongings, way_in, Prepared { mounts, placeholders }) = take(spawner, &order)?;
        packet.mounts = mounts;
        let root = Furniture::of(&order).map_or(Root::Apart, Root::Anew);
        let mut unborn = Some(Unborn { order, packet, way_in, again: None });
        let (root, made) = make(spawner, root, &belongings, &mut unborn);
        match (made, unborn) {
            (Ok((init, handle, socket)), Some(Unborn { packet, again, .. })) => {
                let sandbox = Sandbox { init, handle, socket, belongings };
                Ok(Run { root, again, ..Run::new(sandbox, packet, placeholders) })
            }
            (made, _) => {
                close(placeholders, spawner);
                belongings.give_back(&mut spawner.owned);
                Err(made.err().unwrap_or_else(|| Report::missing(Layer::Spawner, "its packet is lost")))
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
        Run {
            sandbox,
            lifeline,
            report,
            placeholders,
            state,
            is_gone: false,
            is_heard: true,
            bwrap: None,
            root: Root::Apart,
            again: None,
        }
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
        while self.is_heard {
            match hear(&self.sandbox.socket) {
                Ok(Some(BEGUN)) => self.again = None,
                Ok(Some(FAILED)) => self.state = State::Failed,
                Ok(Some(OVER)) => self.state = State::Over,
                Ok(Some(_)) => {}
                Ok(None) => break,
                // It ends, and what runs inside with it.
                Err(_) => self.is_heard = false,
            }
        }
        let is_gone = match &mut self.bwrap {
            None => self.sandbox.has_ended(),
            Some(bwrap) => bwrap.is_gone(&self.sandbox, &self.report),
        };
        self.is_gone |= is_gone;
    }

    fn kill(&self) {
        match &self.bwrap {
            None => self.sandbox.kill(),
            Some(bwrap) => bwrap.kill(&self.sandbox),
        }
    }

    /// What other mounts stand on is not taken away before they are gone: the kernel would undo each by itself, and wait for all
    /// processors each time.
    pub(super) fn is_over(&self) -> bool {
        self.is_gone
            || match self.state {
                State::Running => false,
                State::Over => self.placeholders.is_empty(),
                State::Failed => true,
            }
    }

    /// What stands in for absent files of this run.
    pub(super) fn held(&self) -> impl Iterator<Item = Identity> {
        self.placeholders.iter().filter_map(Placeholder::identity)
    }

    /// What it sees and what it is started again with, if it has failed in a template.
    pub(super) fn take_again(&mut self) -> Option<(Furniture, Packet)> {
        match &self.root {
            Root::InTemplate(furniture) if self.state == State::Failed => {
                Some((furniture.clone(), self.again.take()?))
            }
            _ => None,
        }
    }

    /// Takes away what was made for it and is not held by others.
    pub(super) fn close(self, spawner: &mut Spawner) {
        let Run { sandbox, report, placeholders, state, is_gone, root, again, .. } = self;
        let handles = close(placeholders, spawner);
        if sandbox.belongings.group.as_ref().is_some_and(ControlGroup::has_killed) {
            Report::Reached(Limit::MemoryBytes).write(&report);
        }
        match is_gone {
            true => sandbox.belongings.give_back(&mut spawner.owned),
            false => spawner.pool.see_off(sandbox),
        }
        // Whatever is done from here on, nobody waits for it.
        drop(report);
        drop(handles);
        match root {
            Root::Anew(furniture) if state == State::Over && spawner.socket.is_some() => {
                if spawner.templates.has_run(furniture, &spawner.system) {
                    spawner.lighten();
                }
            }
            // It has ended without a word.
            Root::InTemplate(furniture) if again.is_some() => spawner.templates.has_failed(&furniture),
            Root::Apart | Root::Anew(_) | Root::InTemplate(_) => {}
        }
    }
}

/// Makes the init in a template, if there is one for it, or else in the ordinary way, which names what goes wrong.
fn make(
    spawner: &mut Spawner,
    root: Root,
    belongings: &Belongings,
    unborn: &mut Option<Unborn>,
) -> (Root, Result<Made, Report>) {
    if let Root::Anew(furniture) = &root
        && spawner.templates.find(furniture, &spawner.system)
    {
        match in_template(spawner, belongings, unborn) {
            Ok(made) => return (Root::InTemplate(furniture.clone()), Ok(made)),
            Err(_) => spawner.templates.has_failed(furniture),
        }
    }
    (root, spawner.make(belongings, unborn, Parent::Us))
}

fn in_template(
    spawner: &mut Spawner,
    belongings: &Belongings,
    unborn: &mut Option<Unborn>,
) -> io::Result<Made> {
    if let Some(unborn) = unborn {
        unborn.again = Some(unborn.packet.again()?);
    }
    spawner.make_in_template(belongings, unborn).inspect_err(|_| {
        if let Some(unborn) = unborn {
            unborn.again = None;
            // An ordinary user's were taken for the template. Root's are the program's in any case.
            if belongings.user.is_none() {
                unborn.packet.mounts.clear();
            }
        }
    })
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

/// Takes away what stands in for absent files, but for what of it others hold. What is left is to be dropped once nobody waits.
fn close(placeholders: Vec<Placeholder>, spawner: &Spawner) -> Vec<OwnedFd> {
    if placeholders.is_empty() {
        return Vec::new();
    }
    let held = spawner.held();
    placeholders.into_iter().map(|placeholder| placeholder.close(&held)).collect()
}
