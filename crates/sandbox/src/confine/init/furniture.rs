//! `Furniture`: what a root folder holds for some programs and not for others, but nothing of theirs: where to mount, and links.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::umask;

use super::root::{self, add_link, inside_path, is_scratch, stand};
use super::system::System;
use crate::confine::mount::about;
use crate::confine::order::{Order, OrderedLink};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::confine) struct Furniture {
    /// Each before what lies in it, and whether it is a folder.
    places: Vec<(OsString, bool)>,
    links: Vec<OrderedLink>,
}

impl Furniture {
    /// What an order needs of it. Nothing for one whose root is put together otherwise, and for programs with a way out: what
    /// they are given of that cannot be given twice.
    pub(in crate::confine) fn of(order: &Order) -> Option<Furniture> {
        let has_way_out = order.sockets.has_network() || order.ports.is_some();
        if has_way_out || order.has_terminal || order.mounts.iter().any(|mount| mount.is_covered) {
            return None;
        }
        let mut places: Vec<(OsString, bool)> = Vec::new();
        for mount in &order.mounts {
            let at = Path::new(&mount.at);
            // What lies in another is made there, or is there.
            let is_inside = is_scratch(at) || places.iter().any(|(above, _)| at.starts_with(above));
            if !is_inside {
                let is_folder = fs::metadata(&mount.path).is_ok_and(|meta| meta.is_dir());
                places.push((mount.at.clone(), is_folder));
            }
        }
        let is_here = |link: &&OrderedLink| {
            let at = Path::new(&link.at);
            !is_scratch(at) && !places.iter().any(|(above, _)| at.starts_with(above))
        };
        let links = order.links.iter().filter(is_here).cloned().collect();
        Some(Furniture { places, links })
    }

    /// Makes a root that many programs get: with this, and nothing of theirs. Ours are the namespaces of mounts and processes that
    /// it is made in, and they belong to a user namespace as any init's do: what the kernel refuses those, it refuses us, such as
    /// a `/proc` where the machine's is covered. What is mounted there tells of nobody, as soon as we are gone; without it no init
    /// could mount its own. Nobody can write the root: it is read-only, and locked for inits, whose user namespaces are
    /// others. (Not so the devices, which may be written everywhere, nor that `/proc`, on which each init's own lies.)
    pub(in crate::confine) fn build_template(&self, system: &System) -> io::Result<()> {
        root::part_from_others()?;
        // Those who see it are not its owner.
        umask(Mode::from(0o022));
        root::lay_out(system)?;
        self.put()?;
        root::mount_proc()?;
        root::enter_closed()
    }

    /// Puts it in the working folder.
    fn put(&self) -> io::Result<()> {
        for (at, is_folder) in &self.places {
            stand(inside_path(Path::new(at)), *is_folder).map_err(about(at))?;
        }
        self.links.iter().try_for_each(add_link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::order::OrderedMount;
    use crate::confine::order::tests::order;
    use crate::confine::profile::Sockets;

    /// For whom there are templates.
    fn plain() -> Order {
        Order { mounts: Vec::new(), has_terminal: false, sockets: Sockets::None, ports: None, ..order() }
    }

    fn of(places: &[&str]) -> Option<Furniture> {
        let mounts = places.iter().map(|at| OrderedMount::read(at.into())).collect();
        Furniture::of(&Order { mounts, ..plain() })
    }

    #[test]
    fn what_is_a_programs_own_or_lies_in_another_place_is_not_in_it() {
        let found =
            of(&["/usr/../opt", "/opt/a", "/opt/a/b", "/tmp/w", "/home/agent", "/home/x"]).expect("one");
        let places: Vec<_> = found.places.iter().map(|(at, _)| at.to_str().expect("text")).collect();
        assert_eq!(places, ["/usr/../opt", "/opt/a", "/home/x"]);
        assert_eq!(of(&["/tmp/w"]), of(&["/tmp/other"]), "nobody else learns of it");
        assert_ne!(of(&["/opt/a"]), of(&["/opt/b"]));
    }

    #[test]
    fn who_has_a_way_out_a_terminal_or_a_copy_on_write_view_has_none() {
        assert!(Furniture::of(&plain()).is_some());
        assert_eq!(Furniture::of(&Order { sockets: Sockets::Network, ..plain() }), None);
        assert_eq!(Furniture::of(&Order { ports: Some(vec![80]), ..plain() }), None);
        assert_eq!(Furniture::of(&Order { has_terminal: true, ..plain() }), None);
        assert_eq!(Furniture::of(&Order { mounts: order().mounts, ..plain() }), None);
    }
}
