//! As root: a workspace in which the run's user counts as the folder's owner. Files of anybody else show as nobody's.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::fstat;
use rustix::process::{WaitOptions, waitpid};

use super::clone::{Side, in_user_namespace};
use crate::confine::fork::exit;
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
        let owners = (owner.st_uid, owner.st_gid, user);
        if !self.0.contains_key(&owners) {
            if self.0.len() >= KEPT_MAX {
                self.0.clear();
            }
            let namespace = namespace(owners).map_err(|error| (Layer::UserNamespace, error))?;
            self.0.insert(owners, namespace);
        }
        let namespace = self.0.get(&owners).ok_or_else(|| idmap(io::ErrorKind::NotFound.into()))?;
        mount::map_owners(&mount, namespace.as_fd()).map_err(idmap)?;
        Ok(mount)
    }
}

fn namespace((uid, gid, user): Owners) -> io::Result<OwnedFd> {
    let (mut wait, go) = io::pipe()?;
    match in_user_namespace()? {
        Side::Child => {
            drop(go);
            // The end of the pipe is all that it waits for.
            let _ = wait.read(&mut [0]);
            exit(0)
        }
        Side::Parent { child, .. } => {
            let of_child = |file: &str| format!("/proc/{}/{file}", child.as_raw_pid());
            let made = fs::write(of_child("uid_map"), format!("{uid} {user} 1"))
                .and_then(|()| fs::write(of_child("gid_map"), format!("{gid} {user} 1")))
                .and_then(|()| fs::File::open(of_child("ns/user")));
            drop(go);
            waitpid(Some(child), WaitOptions::empty())?;
            Ok(made?.into())
        }
    }
}
