//! `Sandbox`: an init and what belongs to it, with a program or before it has one.

use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getgid, getuid, pidfd_send_signal, waitpid};

use super::clone::{Side, init, missing};
use super::control_group::ControlGroup;
use super::pool::Pool;
use super::run_user::{RunUsers, as_user};
use super::{OwnerMaps, Spawner};
use crate::confine::fork::exit;
use crate::confine::init::given::Empty;
use crate::confine::layer::Layer;
use crate::confine::order::Order;
use crate::confine::report::Report;

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

impl Belongings {
    /// With the way into the control group, if there is one. Where none could be made from the beginning, init keeps
    /// watch itself.
    pub(super) fn take(spawner: &mut Spawner) -> Result<(Belongings, Option<OwnedFd>), Report> {
        let user = spawner.users.as_mut().map(RunUsers::take).transpose();
        let user = user.map_err(|error| Report::missing(Layer::RunUser, error))?;
        match spawner.groups.as_mut().map(|groups| groups.make()).transpose() {
            Ok(made) => {
                let (group, way_in) = made.unzip();
                Ok((Belongings { user, group }, way_in))
            }
            Err(error) => {
                Belongings { user, group: None }.give_back(spawner);
                Err(Report::missing(Layer::Memory, error))
            }
        }
    }

    /// To be called when nothing runs inside.
    pub(super) fn give_back(self, spawner: &mut Spawner) {
        if let Some(group) = self.group {
            group.close();
        }
        if let (Some(users), Some(user)) = (&mut spawner.users, self.user) {
            users.give_back(user);
        }
    }
}

/// Makes the init, and says without which namespaces. Without an order it has all of them.
pub(super) fn clone_init(
    belongings: &Belongings,
    order: Option<&Order>,
) -> Result<(Side, Vec<Layer>), Report> {
    let clone = || match (init(&[]), order) {
        (Ok(side), _) => Ok((side, Vec::new())),
        (Err(error), None) => Err(Report::missing(Layer::UserNamespace, error)),
        (Err(error), Some(order)) => match missing(order) {
            // What could not be made a moment ago can be made now.
            Ok(without) if without.is_empty() => Err(Report::missing(Layer::UserNamespace, error)),
            Ok(without) => match init(&without) {
                Ok(side) => Ok((side, without)),
                Err(error) => Err(Report::missing(Layer::UserNamespace, error)),
            },
            Err((layer, error)) => Err(Report::missing(layer, error)),
        },
    };
    match belongings.user {
        Some(user) => {
            as_user(user, || Ok(clone())).map_err(|error| Report::missing(Layer::RunUser, error))?
        }
        None => clone(),
    }
}

impl Spawner {
    /// In a child: goes on as the init of a sandbox and not as a second spawner, whatever happens.
    pub(super) fn become_init(
        &mut self,
        belongings: &Belongings,
        (socket, group): (OwnedFd, Option<OwnedFd>),
        without: Vec<Layer>,
        life: impl FnOnce(Empty) -> i32,
    ) -> ! {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let outside = belongings.user.map_or(self.user, |user| (user, user));
            self.let_go();
            let (filters, system) = (self.filters.clone(), self.system.clone());
            life(Empty { group, socket, outside, filters, system, without })
        }));
        exit(ended.unwrap_or(1))
    }

    /// Lets go of what is none of a child's business. What other programs wait for must end with us, not with it.
    fn let_go(&mut self) {
        self.socket = None;
        self.runs.clear();
        self.pool = Pool::default();
        self.maps = OwnerMaps::default();
    }
}

/// The user and group that we are. A child could not say.
pub(super) fn ourselves() -> (u32, u32) {
    (getuid().as_raw(), getgid().as_raw())
}
