//! The init: the first process in the namespaces, a copy of the spawner. It sets the layers up one by one, starts the
//! program, and ends everything with itself: the kernel ends all processes inside when their first one ends.
//!
//! A step that fails is said by the name of its layer, and the program is not run.

mod children;
mod descriptors;
mod exhausted;
pub(super) mod filters;
pub(super) mod given;
pub(super) mod landlock;
mod memory;
mod network;
mod payload;
mod privileges;
mod protect;
mod root;
pub(super) mod system;
mod user;
mod watch;

use super::layer::Layer;
use super::report::Report;
use given::{Init, Step};

/// What is set up for init and program alike, in this order.
const STEPS: [(Layer, Step); 14] = [
    (Layer::PidNamespace, watch::follow_spawner),
    (Layer::Memory, memory::join_group),
    (Layer::UserNamespace, user::take),
    (Layer::MountNamespace, root::part_from_host),
    (Layer::Root, root::build),
    (Layer::Proc, root::add_proc),
    (Layer::Root, root::add_mounts),
    (Layer::Root, root::add_links),
    (Layer::ProtectedPaths, protect::protect),
    (Layer::Root, root::enter),
    (Layer::UtsNamespace, privileges::name_host),
    (Layer::Loopback, network::raise_loopback),
    (Layer::Proxy, network::open_doors),
    (Layer::NestedNamespaces, privileges::forbid_namespaces),
];

/// What is set up for init and program alike once nothing needs a capability any more.
const LAST_STEPS: [(Layer, Step); 2] =
    [(Layer::Capabilities, privileges::drop_capabilities), (Layer::NoNewPrivileges, privileges::forbid_new)];

/// The whole life of an init; returns its exit code.
pub(super) fn main(mut init: Init) -> i32 {
    for (layer, step) in STEPS.into_iter().chain(LAST_STEPS) {
        if init.without.contains(&layer) {
            continue;
        }
        match step(&init) {
            Ok(()) => {}
            Err(_) if init.order.does_without(layer) => init.without.push(layer),
            Err(error) => {
                Report::missing(layer, error).write(&init.report);
                return 1;
            }
        }
    }
    (init.mounts, init.doors) = (None, None);
    payload::start(init).map_or(1, watch::watch)
}
