//! Each entry of the plan, as it stands inside.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, PROC_SUPER_MAGIC, StatVfsMountFlags, StatxAttributes, StatxFlags, fstat, fstatfs,
    fstatvfs, statx,
};

use super::{plan, refuse};
use crate::confine::init::given::Init;
use crate::confine::layer::Layer;
use crate::confine::mount::{self, about};
use crate::confine::plan::{Access, Entry, Identity, What, identity};

const TMPFS_MAGIC: i64 = 0x0102_1994;

/// Those of this layer are as they were planned.
pub(in crate::confine::init) fn stand(init: &Init, layer: Layer) -> io::Result<()> {
    let mut of_layer = plan(init)?.entries.iter().filter(|entry| entry.layer == layer);
    of_layer.try_for_each(look)
}

fn look(entry: &Entry) -> io::Result<()> {
    let at = &*entry.at;
    match &entry.what {
        What::Shown { access, identity, .. } => is_shown(at, *access, *identity),
        What::Link(to) => is_link(at, to),
        What::Written(text) => says(at, text),
        What::Scratch(bytes) => is_scratch(at, *bytes),
        What::EmptyFolder => is_empty_folder(at),
        What::EmptyFile => is_read_only(at).and_then(|()| says(at, "")),
        What::Proc => is_proc(at),
    }
    .map_err(about(at))
}

fn is_shown(at: &Path, access: Access, expected: Identity) -> io::Result<()> {
    let place = mounted(at)?;
    if identity(&place)? != expected {
        return refuse("something else is there than outside");
    }
    let found = fstatvfs(&place)?.f_flag;
    let wanted = StatVfsMountFlags::NOSUID
        | match access {
            Access::Read => StatVfsMountFlags::NODEV | StatVfsMountFlags::RDONLY,
            Access::Write => StatVfsMountFlags::NODEV,
            Access::Device => StatVfsMountFlags::empty(),
        };
    has(found, wanted)
}

fn is_link(at: &Path, to: &OsStr) -> io::Result<()> {
    if std::fs::read_link(at)? == to { Ok(()) } else { refuse("the link leads elsewhere") }
}

fn says(at: &Path, text: &str) -> io::Result<()> {
    if std::fs::read(at)? == text.as_bytes() { Ok(()) } else { refuse("the file has another text") }
}

fn is_scratch(at: &Path, bytes: Option<u64>) -> io::Result<()> {
    let place = mounted(at)?;
    let room = fstatvfs(&place)?;
    let page = rustix::param::page_size() as u64;
    let is_larger = bytes.is_some_and(|bytes| room.f_blocks > bytes.div_ceil(page));
    if is_larger || fstatfs(&place)?.f_type as i64 != TMPFS_MAGIC {
        return refuse("it is larger than it should be, or holds what lasts");
    }
    has(room.f_flag, StatVfsMountFlags::NOSUID | StatVfsMountFlags::NODEV)
}

fn is_read_only(at: &Path) -> io::Result<()> {
    has(fstatvfs(mounted(at)?)?.f_flag, StatVfsMountFlags::RDONLY)
}

fn is_empty_folder(at: &Path) -> io::Result<()> {
    is_read_only(at)?;
    if std::fs::read_dir(at)?.next().is_none() { Ok(()) } else { refuse("the folder is not empty") }
}

fn is_proc(at: &Path) -> io::Result<()> {
    let of_proc = fstatfs(mounted(at)?)?.f_type == PROC_SUPER_MAGIC;
    let own = std::fs::read_link(at.join("self")).is_ok_and(|to| to == Path::new("1"));
    if of_proc && own { Ok(()) } else { refuse("it shows other processes than those inside") }
}

fn has(found: StatVfsMountFlags, wanted: StatVfsMountFlags) -> io::Result<()> {
    let missing = wanted - found;
    if missing.is_empty() { Ok(()) } else { refuse(format!("the mount lacks {missing:?}")) }
}

/// What is mounted there, and to which no link leads.
fn mounted(at: &Path) -> io::Result<OwnedFd> {
    let place = mount::place(None, at)?;
    let told = statx(&place, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    let is_folder = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
    match told.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        true => Ok(place),
        false => refuse(if is_folder { "the folder is no mount" } else { "the file is no mount" }),
    }
}
