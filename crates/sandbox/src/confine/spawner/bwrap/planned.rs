//! The plan of an order: what the program sees of the machine's files, and what is made of them.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, fstat};

use crate::confine::init::root::{WRITTEN, scratch_folders};
use crate::confine::init::system::System;
use crate::confine::layer::Layer;
use crate::confine::mount::{self, about};
use crate::confine::order::{Order, OrderedLink, OrderedMount, Rule};
use crate::confine::plan::{Access, Entry, Plan, What, identity, namespaces};

/// Only its newest versions could.
const NO_VIEW: &str = "bwrap makes no copy-on-write view";

/// What stands in for absent files must be there. A setuid `bwrap` gives no folder a size.
pub(super) fn plan(order: &Order, system: &System, is_setuid: bool) -> Result<Plan, (Layer, io::Error)> {
    let root = |error| (Layer::Root, error);
    let mut entries = Vec::new();
    for (path, is_device) in system.shown() {
        let access = if is_device { Access::Device } else { Access::Read };
        entries.extend(shown_of_system(path, access).map_err(root)?);
    }
    entries.extend(system.links().map(|(at, to)| link(&Path::new("/").join(at), to.into())));
    entries.extend(
        WRITTEN.map(|(at, text)| entry(Layer::Root, Path::new("/").join(at), What::Written(text.to_owned()))),
    );
    let bytes = (!is_setuid).then_some(order.limits.scratch_bytes);
    entries.extend(scratch_folders(order).map(|at| entry(Layer::Root, at, What::Scratch(bytes))));
    entries.push(entry(Layer::Proc, "/proc", What::Proc));
    if order.mounts.iter().any(|mount| mount.is_covered) {
        return Err(root(io::Error::other(NO_VIEW)));
    }
    for mount in &order.mounts {
        let place = mount::place(None, Path::new(&mount.path));
        let place = place.map_err(|error| root(about(&mount.path)(error)))?;
        entries.push(shown(Layer::Root, mount, Path::new(""), mount.is_writable, &place).map_err(root)?);
        for (path, rule) in &mount.rules {
            let ruled = ruled(mount, &place, Path::new(path), *rule);
            if let Some(ruled) = ruled.map_err(|error| (Layer::ProtectedPaths, about(path)(error)))? {
                put(&mut entries, ruled);
            }
        }
    }
    let links: Vec<Entry> = order.links.iter().filter(|link| is_free(link, &entries)).map(ordered).collect();
    entries.extend(links);
    Ok(Plan { entries, outside: namespaces().map_err(|error| (Layer::Spawner, error))? })
}

/// Of two rules for one path the later one holds, but what is hidden stays hidden.
fn put(entries: &mut Vec<Entry>, entry: Entry) {
    match entries.iter_mut().find(|other| other.at == entry.at && other.layer == entry.layer) {
        None => entries.push(entry),
        Some(Entry { what: What::EmptyFolder | What::EmptyFile, .. }) => {}
        Some(other) => *other = entry,
    }
}

fn entry(layer: Layer, at: impl Into<PathBuf>, what: What) -> Entry {
    Entry { layer, at: at.into(), what }
}

fn link(at: &Path, to: OsString) -> Entry {
    entry(Layer::Root, at, What::Link(to))
}

fn ordered(ordered: &OrderedLink) -> Entry {
    link(Path::new(&ordered.at), ordered.to.clone())
}

/// Nothing is there, and nothing is below it.
fn is_free(link: &OrderedLink, entries: &[Entry]) -> bool {
    entries.iter().all(|entry| !entry.at.starts_with(&link.at))
}

/// Nothing if somebody has taken it away since it was looked up. Nobody does that to a device.
fn shown_of_system(path: &Path, access: Access) -> io::Result<Option<Entry>> {
    let place = match mount::place(None, path) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound && access != Access::Device => return Ok(None),
        Err(error) => return Err(about(path)(error)),
    };
    let what = What::Shown { from: path.into(), access, identity: identity(&place)? };
    Ok(Some(entry(Layer::Root, path, what)))
}

/// What is at `path` below the mount.
fn shown(
    layer: Layer,
    mount: &OrderedMount,
    path: &Path,
    is_writable: bool,
    place: &OwnedFd,
) -> io::Result<Entry> {
    let access = match () {
        () if mount.is_device => Access::Device,
        () if is_writable => Access::Write,
        () => Access::Read,
    };
    let from = below(&mount.path, path).into();
    let what = What::Shown { from, access, identity: identity(place)? };
    Ok(entry(layer, below(&mount.at, path), what))
}

/// The path itself if nothing is added: a slash at its end would ask for a folder.
fn below(mount: &OsString, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { mount.into() } else { Path::new(mount).join(path) }
}

/// What a rule makes of a path below the mount. Nothing where nothing is there, or where the program does not get either.
fn ruled(mount: &OrderedMount, root: &OwnedFd, path: &Path, rule: Rule) -> io::Result<Option<Entry>> {
    let place = match mount::place(Some(root.as_fd()), path) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && rule == Rule::Hidden => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let layer = Layer::ProtectedPaths;
    let is_folder = FileType::from_raw_mode(fstat(&place)?.st_mode) == FileType::Directory;
    let empty = if is_folder { What::EmptyFolder } else { What::EmptyFile };
    Ok(Some(match rule {
        Rule::Pinned => shown(layer, mount, path, mount.is_writable, &place)?,
        Rule::ReadOnly => shown(layer, mount, path, false, &place)?,
        Rule::Hidden | Rule::AbsentFile | Rule::AbsentFolder => entry(layer, below(&mount.at, path), empty),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::limits::Limits;
    use crate::confine::profile::Sockets;

    #[test]
    fn each_entry_comes_before_what_lies_in_it_and_links_only_where_nothing_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().canonicalize().expect("there");
        std::fs::create_dir_all(work.join(".git/hooks")).expect("folders");
        std::fs::create_dir_all(work.join("inner")).expect("folders");
        std::fs::write(work.join("key"), "x").expect("a file");
        let rules = [
            ("key", Rule::ReadOnly),
            (".git", Rule::Pinned),
            (".git/hooks", Rule::ReadOnly),
            ("key", Rule::Hidden),
            ("key", Rule::Pinned),
            ("gone", Rule::ReadOnly),
        ];
        let rules = rules.map(|(path, rule)| (path.into(), rule)).into();
        let path: OsString = work.clone().into();
        let mount = OrderedMount { is_writable: true, rules, ..OrderedMount::read(path.clone()) };
        let inner = OrderedMount::read(work.join("inner").into());
        let above: OsString = work.parent().expect("a folder").into();
        let link = |at: OsString| OrderedLink { at, to: "x".into() };
        let order = Order {
            command: "sh".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: path,
            mounts: vec![mount, inner],
            links: vec![link(above), link("/nowhere".into())],
            ports: None,
            sockets: Sockets::None,
            limits: Limits::default(),
            waived: Vec::new(),
            pools: false,
            tells: false,
            has_terminal: false,
        };
        let plan = plan(&order, &System::look(), false).expect("a plan");
        let own = plan.entries.iter().skip_while(|entry| entry.what != What::Proc).skip(1);
        let said: Vec<(String, Option<Access>, Layer)> = own
            .map(|entry| {
                let access = match entry.what {
                    What::Shown { access, .. } => Some(access),
                    _ => None,
                };
                (entry.at.display().to_string(), access, entry.layer)
            })
            .collect();
        let at = |path: &str| work.join(path).display().to_string();
        assert_eq!(
            said,
            [
                (work.display().to_string(), Some(Access::Write), Layer::Root),
                (at("key"), None, Layer::ProtectedPaths),
                (at(".git"), Some(Access::Write), Layer::ProtectedPaths),
                (at(".git/hooks"), Some(Access::Read), Layer::ProtectedPaths),
                (at("inner"), Some(Access::Read), Layer::Root),
                ("/nowhere".to_owned(), None, Layer::Root),
            ]
        );
        assert_eq!(
            plan.entries[said.len()..].iter().filter(|entry| entry.what == What::EmptyFile).count(),
            1
        );
        assert_eq!(plan.outside.len(), 7);
    }
}
