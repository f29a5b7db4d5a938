//! `Template`: a root folder that stands ready for all programs that see the same places. An init that begins in a copy of
//! its mount namespace has nothing to put together and nothing to take away but what is its own.
//!
//! Nothing in it is a program's: files of the system, and empty folders and files to mount on. It shows the machine as it
//! was, so it goes when anything is mounted or unmounted there, or a file of the system has been replaced, or nobody asks.
//!
//! It must let nothing through that the ordinary way refuses. So it is made for places with which programs have run in the
//! ordinary way, since the machine's mounts last changed; on a [`Ground`], where the kernel refuses what it refuses an init; and
//! who goes there looks where it is. Whatever else goes wrong there ends it, and the start is made in the ordinary way.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::stat;

use super::ground::{Ground, enter_mounts, own_mounts};
use crate::confine::fork::apart;
use crate::confine::init::furniture::Furniture;
use crate::confine::init::system::{Identities, System};
use crate::confine::mount;
use crate::confine::order::Order;

/// Templates at once: an agent works in one or two folders, and looks at them or writes.
const KEPT_MAX: usize = 4;

/// What has run is remembered so long as not so much else has.
const RUN_MAX: usize = 16;

/// One that nobody has asked for goes when it is so old.
const AGE_MAX: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Templates {
    /// With what programs have run in the ordinary way, the last first. What runs once only needs none.
    run: Vec<Furniture>,
    /// The one that was used last first.
    kept: Vec<Template>,
    ground: Option<Arc<Ground>>,
}

pub(super) struct Template {
    furniture: Furniture,
    mounts: OwnedFd,
    /// Device and number of its root: the file system is its own.
    root: (u64, u64),
    ground: Arc<Ground>,
    /// The files of the system when it was made.
    system: Identities,
    used: Instant,
}

impl Templates {
    /// Whether there is one for programs that see this, which is then the [`Templates::first`].
    pub(super) fn find(&mut self, furniture: &Furniture, system: &System) -> bool {
        if !self.kept.is_empty() {
            let identities = system.identities();
            self.kept.retain(|template| template.system == identities);
        }
        let Some(nth) = self.kept.iter().position(|template| template.furniture == *furniture) else {
            return false;
        };
        let found = self.kept.remove(nth);
        self.kept.insert(0, Template { used: Instant::now(), ..found });
        true
    }

    /// The one that was found last. It is nobody else's, so that an init that is made lets go of it with all the others.
    pub(super) fn first(&self) -> io::Result<&Template> {
        self.kept.first().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A program that saw this has run in the ordinary way, to its end. With the second one is made, and it is said that it was
    /// not the first.
    pub(super) fn has_run(&mut self, furniture: Furniture, system: &System) -> bool {
        if !self.run.contains(&furniture) {
            self.run.truncate(RUN_MAX - 1);
            self.run.insert(0, furniture);
            return false;
        }
        if !self.kept.iter().any(|template| template.furniture == furniture) {
            match self.made(furniture.clone(), system) {
                Ok(template) => {
                    self.kept.truncate(KEPT_MAX - 1);
                    self.kept.insert(0, template);
                }
                // Not tried again with each program. A start makes its own root and says why it could not.
                Err(_) => self.run.retain(|run| *run != furniture),
            }
        }
        true
    }

    /// A start has failed in the one for this, or may have: until programs have run in the ordinary way again, there is none.
    pub(super) fn has_failed(&mut self, furniture: &Furniture) {
        self.run.retain(|run| run != furniture);
        self.kept.retain(|template| template.furniture != *furniture);
        self.leave_ground();
    }

    fn made(&mut self, furniture: Furniture, system: &System) -> io::Result<Template> {
        let identities = system.identities();
        let ground = match &self.ground {
            Some(ground) => ground.clone(),
            None => self.ground.insert(Arc::new(Ground::make()?)).clone(),
        };
        let mut made = None;
        apart(0, &mut || {
            ground.enter()?;
            apart(libc::CLONE_NEWNS | libc::CLONE_NEWPID, &mut || {
                let mounts = own_mounts()?;
                furniture.build_template(system)?;
                made = Some((mounts, own_root()?));
                Ok(())
            })
        })?;
        let (mounts, root) = made.ok_or(io::ErrorKind::NotFound)?;
        Ok(Template { furniture, mounts, root, ground, system: identities, used: Instant::now() })
    }

    /// Lets go of all, and of what has run: the machine's mounts have changed.
    pub(super) fn forget(&mut self) {
        *self = Templates::default();
    }

    /// Lets go of those that nobody has asked for.
    pub(super) fn tidy_up(&mut self) {
        let now = Instant::now();
        self.kept.retain(|template| now.saturating_duration_since(template.used) < AGE_MAX);
        self.leave_ground();
    }

    /// There may be a limit to user namespaces.
    fn leave_ground(&mut self) {
        if self.kept.is_empty() {
            self.ground = None;
        }
    }

    /// When there is something to let go of.
    pub(super) fn next(&self) -> Option<Instant> {
        self.kept.iter().filter_map(|template| template.used.checked_add(AGE_MAX)).min()
    }
}

impl Template {
    /// Goes where an init that is made is in a copy of it. There is no way back, so this is for a process that does nothing
    /// else. An ordinary user can only now take what the order shows, which is added to `mounts`.
    pub(super) fn enter(&self, order: &Order, mounts: &mut Vec<OwnedFd>) -> io::Result<()> {
        if self.ground.enter_machine()? {
            for ordered in &order.mounts {
                mounts.push(mount::place(None, Path::new(&ordered.path)).and_then(mount::copy)?);
            }
        }
        enter_mounts(&self.mounts)?;
        if own_root()? == self.root {
            Ok(())
        } else {
            Err(io::Error::other("another root than the template's"))
        }
    }
}

/// What this process's root is.
fn own_root() -> io::Result<(u64, u64)> {
    Ok(stat("/").map(|root| (root.st_dev, root.st_ino))?)
}
