//! Who the program is: one user without rights, whoever that is outside.

use std::io;

use rustix::process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::given::{Empty, USER};
use crate::confine::mount::about;

/// Maps the user outside to the one inside, and becomes that one for good.
pub(super) fn take(sandbox: &Empty) -> io::Result<()> {
    // Until the map is written, nobody here knows who we are.
    map(sandbox.outside)?;
    let (uid, gid) = (Uid::from_raw(USER), Gid::from_raw(USER));
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    // The program must not read what this process remembers of the spawner, nor write in it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// User and group, as they are outside, are the program's inside.
pub(in crate::confine) fn map((outside, group): (u32, u32)) -> io::Result<()> {
    // Who has changed its user does not own its files in /proc any more.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    write("setgroups", "deny")?;
    write("uid_map", &format!("{USER} {outside} 1"))?;
    write("gid_map", &format!("{USER} {group} 1"))
}

fn write(file: &str, text: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/self/{file}"), text).map_err(about(file))
}
