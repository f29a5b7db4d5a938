//! `Run`: one program, from the packet that asks for it until nothing is left of it.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, pidfd_send_signal, waitpid};
use rustix::process::{getgid, getuid};

use super::clone::{Side, init, missing};
use super::control_group::ControlGroup;
use super::placeholder::{Identity, Placeholder, make_all};
use super::run_user::as_user;
use super::{Spawner, run_user};
use crate::confine::fork::exit;
use crate::confine::init as inside;
use crate::confine::init::given::Init;
use crate::confine::layer::Layer;
use crate::confine::limits::Limit;
use crate::confine::mount;
use crate::confine::order::{Order, OrderedMount};
use crate::confine::packet::Packet;
use crate::confine::report::Report;

pub(super) struct Run {
    init: Pid,
    handle: OwnedFd,
    /// Gone once it has ended.
    lifeline: Option<OwnedFd>,
    /// Ours is closed last: its end says that all is tidied up.
    report: OwnedFd,
    group: Option<ControlGroup>,
    placeholders: Vec<Placeholder>,
    user: Option<u32>,
    is_over: bool,
}

/// What was made for a run before its init.
struct Prepared {
    order: Order,
    user: Option<u32>,
    mounts: Option<Vec<OwnedFd>>,
    placeholders: Vec<Placeholder>,
    /// With the way into it.
    group: Option<(ControlGroup, OwnedFd)>,
}

impl Run {
    pub(super) fn start(spawner: &mut Spawner, packet: Packet) -> Result<Run, Report> {
        let Packet { order, streams, lifeline, report, doors } = packet;
        let order = Order::read(order).map_err(|error| Report::missing(Layer::Spawner, error))?;
        // Asked before there is a child, which could not say.
        let ourselves = (getuid().as_raw(), getgid().as_raw());
        let prepared = Prepared::new(spawner, order)?;
        let (side, without) = match clone_init(&prepared) {
            Ok(made) => made,
            Err(why) => {
                prepared.undo(spawner);
                return Err(why);
            }
        };
        let Prepared { order, user, mounts, placeholders, group } = prepared;
        let (group, way_in) = group.unzip();
        match side {
            Side::Parent { child, handle } => {
                let lifeline = Some(lifeline);
                Ok(Run { init: child, handle, lifeline, report, group, placeholders, user, is_over: false })
            }
            Side::Child => {
                let outside = user.map_or(ourselves, |user| (user, user));
                let (filters, system) = spawner.let_go();
                let init = Init {
                    order,
                    group: way_in,
                    outside,
                    mounts,
                    doors,
                    streams,
                    lifeline,
                    report,
                    filters,
                    system,
                    without,
                };
                // What unwinds here would go on as a second spawner.
                let ended = catch_unwind(AssertUnwindSafe(|| inside::main(init)));
                exit(ended.unwrap_or(1))
            }
        }
    }

    /// What wakes the spawner for it: the end of its init, and that of its lifeline.
    pub(super) fn wakers(&self) -> impl Iterator<Item = PollFd<'_>> {
        let lifeline = self.lifeline.as_ref();
        let lifeline = lifeline.map(|lifeline| PollFd::new(lifeline, PollFlags::empty()));
        std::iter::once(PollFd::new(&self.handle, PollFlags::IN)).chain(lifeline)
    }

    /// Ends it if its lifeline has ended, and sees whether it is over.
    pub(super) fn look(&mut self) {
        if self.lifeline.as_ref().is_some_and(has_ended) {
            self.lifeline = None;
            // Its init does the same by itself; this holds even if that were stuck.
            let _ = pidfd_send_signal(&self.handle, Signal::KILL);
        }
        if is_ready(&self.handle) {
            // Nothing but us waits for it. The kernel ends all inside before it says that an init has ended.
            let _ = waitpid(Some(self.init), WaitOptions::NOHANG);
            self.is_over = true;
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What stands in for absent files of this run.
    pub(super) fn held(&self) -> impl Iterator<Item = Identity> {
        self.placeholders.iter().map(Placeholder::identity)
    }

    /// Takes away what was made for it and is not in `held` by others, and returns its user.
    pub(super) fn close(self, held: &HashSet<Identity>) -> Option<u32> {
        self.placeholders.into_iter().for_each(|placeholder| placeholder.close(held));
        if let Some(group) = self.group {
            if group.has_killed() {
                Report::Reached(Limit::MemoryBytes).write(&self.report);
            }
            group.close();
        }
        self.user
    }
}

impl Prepared {
    fn new(spawner: &mut Spawner, order: Order) -> Result<Prepared, Report> {
        let taken = spawner.users.as_mut().map(run_user::RunUsers::take).transpose();
        let user = taken.map_err(|error| Report::missing(Layer::RunUser, error))?;
        let mut prepared = Prepared { order, user, mounts: None, placeholders: Vec::new(), group: None };
        match prepared.group(spawner).and_then(|()| prepared.mounts(spawner)) {
            Ok(()) => Ok(prepared),
            Err((layer, error)) => {
                prepared.undo(spawner);
                Err(Report::missing(layer, error))
            }
        }
    }

    /// Where none could be made from the beginning, init keeps watch itself.
    fn group(&mut self, spawner: &mut Spawner) -> Result<(), (Layer, io::Error)> {
        let bytes = self.order.limits.memory_bytes;
        let made = spawner.groups.as_mut().map(|groups| groups.make(bytes)).transpose();
        self.group = made.map_err(|error| (Layer::Memory, error))?;
        Ok(())
    }

    fn mounts(&mut self, spawner: &mut Spawner) -> Result<(), (Layer, io::Error)> {
        if let Some(user) = self.user {
            // Init is not root any more, and may not look into root's folders.
            let mut take = |ordered: &OrderedMount| {
                let path = Path::new(&ordered.path);
                match ordered.is_owned {
                    true => spawner.maps.mount(path, user),
                    false => mount::place(None, path)
                        .and_then(mount::copy)
                        .map_err(|error| (Layer::Root, mount::about(path)(error))),
                }
            };
            self.mounts = Some(self.order.mounts.iter().map(&mut take).collect::<Result<_, _>>()?);
        }
        for ordered in &self.order.mounts {
            let held = spawner.held().into_iter().chain(self.placeholders.iter().map(Placeholder::identity));
            let made = make_all(ordered, &held.collect());
            self.placeholders.extend(made.map_err(|error| (Layer::ProtectedPaths, error))?);
        }
        Ok(())
    }

    fn undo(self, spawner: &mut Spawner) {
        let held = spawner.held();
        self.placeholders.into_iter().for_each(|placeholder| placeholder.close(&held));
        if let Some((group, _)) = self.group {
            group.close();
        }
        if let (Some(users), Some(user)) = (&mut spawner.users, self.user) {
            users.give_back(user);
        }
    }
}

/// Makes the init, and says without which namespaces.
fn clone_init(prepared: &Prepared) -> Result<(Side, Vec<Layer>), Report> {
    let clone = || match init(&[]) {
        Ok(side) => Ok((side, Vec::new())),
        Err(error) => match missing(&prepared.order) {
            // What could not be made a moment ago can be made now.
            Ok(without) if without.is_empty() => Err(Report::missing(Layer::UserNamespace, error)),
            Ok(without) => match init(&without) {
                Ok(side) => Ok((side, without)),
                Err(error) => Err(Report::missing(Layer::UserNamespace, error)),
            },
            Err((layer, error)) => Err(Report::missing(layer, error)),
        },
    };
    match prepared.user {
        Some(user) => {
            as_user(user, || Ok(clone())).map_err(|error| Report::missing(Layer::RunUser, error))?
        }
        None => clone(),
    }
}

/// A byte in the pipe is for init.
fn has_ended(lifeline: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(lifeline, PollFlags::empty())], Some(&now)).is_ok_and(|ended| ended > 0)
}

fn is_ready(fd: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}
