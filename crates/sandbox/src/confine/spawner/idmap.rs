//! As root: a workspace in which the run's user counts as the folder's owner. Files of anybody else show as nobody's.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::fstat;

use super::clone::user_namespace;
use crate::confine::layer::Layer;
use crate::confine::mount;

/// A user and a group that own a folder, and the run's user.
type Owners = (u32, u32, u32);

/// More than this many are not kept.
const KEPT_MAX: usize = 256;

/// User namespaces that stand for who appears as whom; making one costs as much as a process.
#[derive(Debug, Default)]
pub(super) struct OwnerMaps(HashMap<Owners, OwnedFd>);

impl OwnerMaps {
    /// A mount of `folder` for `user`.
    pub(super) fn mount(&mut self, folder: &Path, user: u32) -> Result<OwnedFd, (Layer, io::Error)> {
        let idmap = |error: io::Error| (Layer::Idmap, error);
        let place = mount::place(None, folder).map_err(idmap)?;
        let owner = fstat(&place).map_err(|errno| idmap(errno.into()))?;
        let mount = mount::copy(&place).map_err(idmap)?;
        let (uid, gid) = (owner.st_uid, owner.st_gid);
        let owners = (uid, gid, user);
        if !self.0.contains_key(&owners) {
            if self.0.len() >= KEPT_MAX {
                self.0.clear();
            }
            let namespace = user_namespace(&format!("{uid} {user} 1"), &format!("{gid} {user} 1"))
                .map_err(|error| (Layer::UserNamespace, error))?;
            self.0.insert(owners, namespace);
        }
        let namespace = self.0.get(&owners).ok_or_else(|| idmap(io::ErrorKind::NotFound.into()))?;
        mount::map_owners(&mount, namespace.as_fd()).map_err(idmap)?;
        Ok(mount)
    }
}
