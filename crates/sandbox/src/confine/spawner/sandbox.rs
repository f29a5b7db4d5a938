//! `Sandbox`: an init and what belongs to it, with a program or before it has one.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getgid, getuid, pidfd_send_signal, waitpid};

use super::clone::{Parent, Side, init, missing};
use super::control_group::{ControlGroup, ControlGroups};
use super::run_user::{RunUsers, as_user};
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::packet::Packet;
use crate::confine::report::Report;

/// A namespace that a machine lacks is not tried again for so long: each attempt costs a process.
const LACKING_TIME: Duration = Duration::from_secs(60);

pub(super) struct Sandbox {
    pub(super) init: Pid,
    pub(super) handle: OwnedFd,
    /// Over which its init speaks. The end is the end of one that waits.
    pub(super) socket: OwnedFd,
    pub(super) belongings: Belongings,
}

/// What no other sandbox has at the same time.
pub(super) struct Belongings {
    pub(super) user: Option<u32>,
    pub(super) group: Option<ControlGroup>,
}

/// A program that has no init yet, and the way into its control group. What is not here or in the spawner itself, a child does not
/// let go of.
pub(super) struct Unborn {
    pub(super) order: Order,
    pub(super) packet: Packet,
    pub(super) way_in: Option<OwnedFd>,
    /// What it is started again with, if its init fails in a template.
    pub(super) again: Option<Packet>,
}

/// An init, its handle and our end of its socket.
pub(super) type Made = (Pid, OwnedFd, OwnedFd);

impl Sandbox {
    /// What wakes the spawner when it has ended.
    pub(super) fn waker(&self) -> PollFd<'_> {
        PollFd::new(&self.handle, PollFlags::IN)
    }

    /// What wakes the spawner when its init says something.
    pub(super) fn ear(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, PollFlags::IN)
    }

    pub(super) fn kill(&self) {
        // It has ended already, perhaps.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Whether nothing runs inside any more: the kernel ends all before it says that an init has ended.
    pub(super) fn has_ended(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let has_ended = poll(&mut [self.waker()], Some(&now)).is_ok_and(|ready| ready > 0);
        if has_ended {
            // Nothing but us waits for it.
            let _ = waitpid(Some(self.init), WaitOptions::NOHANG);
        }
        has_ended
    }
}

/// What sandboxes take their belongings from.
pub(super) struct Owned {
    /// Only when we are root.
    pub(super) users: Option<RunUsers>,
    /// Nothing where none can be made.
    pub(super) groups: Option<ControlGroups>,
}

impl Belongings {
    /// With the way into the control group, if there is one. Where none could be made from the beginning, init keeps
    /// watch itself.
    pub(super) fn take(owned: &mut Owned) -> Result<(Belongings, Option<OwnedFd>), Report> {
        let user = owned.users.as_mut().map(RunUsers::take).transpose();
        let user = user.map_err(|error| Report::missing(Layer::RunUser, error))?;
        match owned.groups.as_mut().map(|groups| groups.make()).transpose() {
            Ok(made) => {
                let (group, way_in) = made.unzip();
                Ok((Belongings { user, group }, way_in))
            }
            Err(error) => {
                Belongings { user, group: None }.give_back(owned);
                Err(Report::missing(Layer::Memory, error))
            }
        }
    }

    /// To be called when nothing runs inside.
    pub(super) fn give_back(self, owned: &mut Owned) {
        if let Some(group) = self.group {
            group.close();
        }
        if let (Some(users), Some(user)) = (&mut owned.users, self.user) {
            users.give_back(user);
        }
    }
}

/// Which namespaces could not be made when that was last found out.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    layers: Vec<Layer>,
    until: Option<Instant>,
}

impl Lacking {
    /// Those that are not worth an attempt for this order, which does without them.
    fn of(&self, order: Option<&Order>) -> Vec<Layer> {
        let is_known = self.until.is_some_and(|until| Instant::now() < until);
        let does_without = |layer: &Layer| order.is_some_and(|order| order.does_without(*layer));
        self.layers.iter().filter(|layer| is_known && does_without(layer)).copied().collect()
    }
}

/// Makes the init, and says without which namespaces. Without an order it has all of them.
pub(super) fn clone_init(
    lacking: &mut Lacking,
    belongings: &Belongings,
    order: Option<&Order>,
    parent: Parent,
) -> Result<(Side, Vec<Layer>), Report> {
    match belongings.user {
        Some(user) => as_user(user, || Ok(clone(lacking, order, parent)))
            .map_err(|error| Report::missing(Layer::RunUser, error))?,
        None => clone(lacking, order, parent),
    }
}

fn clone(lacking: &mut Lacking, order: Option<&Order>, parent: Parent) -> Result<(Side, Vec<Layer>), Report> {
    let user_namespace = |error| Report::missing(Layer::UserNamespace, error);
    let known = lacking.of(order);
    let (error, order) = match (init(&known, parent), order) {
        (Ok(side), _) => return Ok((side, known)),
        (Err(error), None) => return Err(user_namespace(error)),
        (Err(error), Some(order)) => (error, order),
    };
    let layers = missing(order).map_err(|(layer, error)| Report::missing(layer, error))?;
    // What could not be made a moment ago can be made now.
    if layers.is_empty() {
        return Err(user_namespace(error));
    }
    let side = init(&layers, parent).map_err(user_namespace)?;
    *lacking = Lacking { layers: layers.clone(), until: Instant::now().checked_add(LACKING_TIME) };
    Ok((side, layers))
}

/// The user and group that we are. A child could not say.
pub(super) fn ourselves() -> (u32, u32) {
    (getuid().as_raw(), getgid().as_raw())
}
