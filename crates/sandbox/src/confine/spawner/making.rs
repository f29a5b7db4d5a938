//! How the spawner makes inits: ahead, for a program, and for one in a template; and what a copy of it does that is to be one.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::Spawner;
use super::clone::{Parent, Side};
use super::idmap::OwnerMaps;
use super::pool::{EmptySandbox, Pool, RUNS_MAX};
use super::sandbox::{Belongings, Made, Sandbox, Unborn, clone_init};
use super::template::Templates;
use crate::confine::fork::{apart, exit};
use crate::confine::init as inside;
use crate::confine::init::given::Empty;
use crate::confine::layer::Layer;
use crate::confine::limits::Limits;
use crate::confine::packet::connection;
use crate::confine::report::Report;

impl Spawner {
    /// Makes one that is missing in the pool. Whoever asks meanwhile comes before the next.
    pub(super) fn fill(&mut self) {
        if self.add_empty() {
            self.pool.fill_next();
        }
    }

    /// Makes all that are missing and waits until they are ready. The end of `told` says so.
    pub(super) fn fill_now(&mut self, told: OwnedFd) {
        self.pool.told = Some(told);
        while self.add_empty() {}
        self.pool.wait();
        self.pool.told = None;
    }

    /// Nothing where only bwrap may make it.
    fn add_empty(&mut self) -> bool {
        if self.needs_bwrap() || !self.pool.has_room() || self.runs.len() >= RUNS_MAX {
            return false;
        }
        self.lighten();
        let made = self.empty();
        made.map(|empty| self.pool.add(empty)).is_some()
    }

    fn empty(&mut self) -> Option<EmptySandbox> {
        let (made, system) = (Instant::now(), self.system.identities());
        let (socket, theirs) = connection().ok()?;
        let (belongings, way_in) = Belongings::take(&mut self.owned).ok()?;
        // Most programs are kept to that.
        let is_kept =
            belongings.group.as_ref().is_none_or(|group| group.limit(Limits::default().memory_bytes).is_ok());
        if !is_kept {
            belongings.give_back(&mut self.owned);
            return None;
        }
        match clone_init(&mut self.lacking, &belongings, None, Parent::Us) {
            Ok((Side::Parent { child, handle }, _)) => {
                let sandbox = Sandbox { init: child, handle, socket, belongings };
                Some(EmptySandbox::new(sandbox, system, made))
            }
            Ok((Side::Child, without)) => {
                // Or it would never see its end.
                drop(socket);
                self.become_init(&belongings, (theirs, way_in), Parent::Us, without, inside::wait)
            }
            // The next start is made in the ordinary way and says why.
            Err(_) => {
                belongings.give_back(&mut self.owned);
                None
            }
        }
    }

    /// Makes the init of a program.
    pub(super) fn make(
        &mut self,
        belongings: &Belongings,
        unborn: &mut Option<Unborn>,
        parent: Parent,
    ) -> Result<Made, Report> {
        let (ours, theirs) = connection().map_err(|error| Report::missing(Layer::Spawner, error))?;
        let order = unborn.as_ref().map(|unborn| &unborn.order);
        match clone_init(&mut self.lacking, belongings, order, parent)? {
            (Side::Parent { child, handle }, _) => Ok((child, handle, ours)),
            (Side::Child, without) => {
                // Or it would never see its end.
                drop(ours);
                let Some(Unborn { order, packet, way_in, again }) = unborn.take() else { exit(1) };
                // Or the program's streams would stay open as long as its init.
                drop(again);
                self.become_init(belongings, (theirs, way_in), parent, without, |sandbox| {
                    inside::main(sandbox, order, packet)
                })
            }
        }
    }

    /// The same in the template that was found last: a helper goes there and makes it, as our child.
    pub(super) fn make_in_template(
        &mut self,
        belongings: &Belongings,
        unborn: &mut Option<Unborn>,
    ) -> io::Result<Made> {
        let mut made = None;
        apart(0, &mut || {
            if let Some(Unborn { order, packet, .. }) = unborn {
                self.templates.first()?.enter(order, &mut packet.mounts)?;
            }
            made = self.make(belongings, unborn, Parent::Ours).ok();
            Ok(())
        })?;
        made.ok_or_else(|| io::Error::other("no init can be made there"))
    }

    /// In a child: goes on as the init of a sandbox and not as a second spawner, whatever happens.
    fn become_init(
        &mut self,
        belongings: &Belongings,
        (socket, group): (OwnedFd, Option<OwnedFd>),
        parent: Parent,
        without: Vec<Layer>,
        life: impl FnOnce(Empty) -> i32,
    ) -> ! {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let outside = belongings.user.map_or(self.user, |user| (user, user));
            self.let_go();
            let (filters, system) = (self.filters.clone(), self.system.clone());
            let is_in_template = parent == Parent::Ours;
            let is_given_mounts = belongings.user.is_some() || is_in_template;
            let events = belongings.group.as_ref().map(|group| group.events().try_clone());
            let Ok(events) = events.transpose() else { return 1 };
            let events = events.map(Into::into);
            life(Empty {
                group,
                events,
                socket,
                outside,
                filters,
                system,
                is_in_template,
                is_given_mounts,
                without,
            })
        }));
        exit(ended.unwrap_or(1))
    }

    /// Lets go of what is none of a child's business. What other programs wait for must end with us, not with it.
    fn let_go(&mut self) {
        self.socket = None;
        self.runs.clear();
        self.again.clear();
        self.pool = Pool::default();
        self.maps = OwnerMaps::default();
        self.templates = Templates::default();
    }
}
