//! The init: the first process in the namespaces, a copy of the spawner. It sets the layers up one by one, starts the
//! program, and ends everything with itself: the kernel ends all processes inside when their first one ends.
//!
//! A step that fails is said by the name of its layer, and the program is not run.

pub(super) mod after_bwrap;
mod children;
mod descriptors;
mod exhausted;
pub(super) mod filters;
pub(super) mod furniture;
pub(super) mod given;
pub(super) mod landlock;
pub(super) mod memory;
mod network;
mod nowhere;
mod overlay;
mod payload;
mod privileges;
mod proof;
mod protect;
pub(super) mod root;
pub(super) mod system;
pub(super) mod user;
mod watch;

use std::ffi::OsString;
use std::io;

use super::layer::Layer;
use super::order::Order;
use super::packet::{Packet, READY, send_files};
use super::report::Report;
use given::{Empty, Init, Step, refuse};

/// What needs nothing of the program, in this order. In the pool a sandbox waits behind it.
const FIRST_STEPS: [(Layer, Step<Empty>); 12] = [
    (Layer::PidNamespace, watch::follow_spawner),
    (Layer::Memory, memory::join_group),
    (Layer::UserNamespace, user::take),
    (Layer::MountNamespace, root::part_from_host),
    (Layer::Root, root::build),
    (Layer::Proc, root::add_proc),
    (Layer::UtsNamespace, privileges::name_host),
    (Layer::Loopback, network::raise_loopback),
    (Layer::NestedNamespaces, privileges::forbid_namespaces),
    (Layer::Capabilities, privileges::bound),
    (Layer::NoNewPrivileges, privileges::forbid_new),
    (Layer::Root, root::enter),
];

/// The same where the root stood ready: its own `/proc` comes first, since there is no other that knows it.
const FIRST_STEPS_IN_TEMPLATE: [(Layer, Step<Empty>); 10] = [
    (Layer::PidNamespace, watch::follow_spawner),
    (Layer::Memory, memory::join_group),
    (Layer::Proc, root::add_proc),
    (Layer::UserNamespace, user::take),
    (Layer::Root, root::add_scratch),
    (Layer::UtsNamespace, privileges::name_host),
    (Layer::Loopback, network::raise_loopback),
    (Layer::NestedNamespaces, privileges::forbid_namespaces),
    (Layer::Capabilities, privileges::bound),
    (Layer::NoNewPrivileges, privileges::forbid_new),
];

/// What the program's order decides about, in this order, for init and program alike.
const STEPS: [(Layer, Step<Init>); 7] = [
    (Layer::Root, root::fit),
    (Layer::Root, root::add_mounts),
    (Layer::Root, root::add_links),
    (Layer::ProtectedPaths, protect::protect),
    (Layer::Root, root::close),
    (Layer::Proxy, network::open_doors),
    // Nothing needs one any more.
    (Layer::Capabilities, privileges::drop_capabilities),
];

/// What an init looks at that `bwrap` has started, in this order, and what is left to set up.
const PROOFS: [(Layer, Step<Init>); 17] = [
    (Layer::PidNamespace, proof::is_first),
    (Layer::UserNamespace, |init| proof::is_apart(init, "user")),
    (Layer::MountNamespace, |init| proof::is_apart(init, "mnt")),
    (Layer::NetworkNamespace, |init| proof::is_apart(init, "net")),
    (Layer::IpcNamespace, |init| proof::is_apart(init, "ipc")),
    (Layer::UtsNamespace, |init| proof::is_apart(init, "uts")),
    (Layer::CgroupNamespace, |init| proof::is_apart(init, "cgroup")),
    (Layer::Proc, |init| proof::entries::stand(init, Layer::Proc)),
    (Layer::Root, proof::mounts::are_as_planned),
    (Layer::Root, |init| proof::entries::stand(init, Layer::Root)),
    (Layer::ProtectedPaths, |init| proof::entries::stand(init, Layer::ProtectedPaths)),
    (Layer::Root, root::go_to_work),
    (Layer::Loopback, network::find_loopback),
    (Layer::Proxy, network::open_free_doors),
    (Layer::NestedNamespaces, proof::has_no_namespaces),
    (Layer::Capabilities, proof::has_no_capabilities),
    (Layer::NoNewPrivileges, privileges::forbid_new),
];

/// The whole life of an init that knows its program; returns its exit code.
pub(super) fn main(mut sandbox: Empty, order: Order, packet: Packet) -> i32 {
    match set_up(&mut sandbox, Some(&order)) {
        Ok(()) => live(Init::new(sandbox, order, packet), &STEPS),
        Err(why) => {
            refuse(&why, sandbox.is_in_template, &sandbox.socket, &packet.report);
            1
        }
    }
}

/// The whole life of an init that waits in the pool. At the end of its socket it ends. Where a layer is missing it says
/// nothing: the next program starts in the ordinary way and hears of it.
pub(super) fn wait(mut sandbox: Empty) -> i32 {
    if set_up(&mut sandbox, None).is_err() {
        return 1;
    }
    let fence = landlock::begin();
    if send_files(&sandbox.socket, READY, []).is_err() {
        return 1;
    }
    let Ok(Some(packet)) = Packet::receive(&sandbox.socket) else { return 0 };
    match Order::read(&packet.order) {
        Ok(order) => {
            let init = Init::new(sandbox, order, packet);
            live(Init { fence, is_from_pool: true, ..init }, &STEPS)
        }
        Err(error) => {
            Report::missing(Layer::Spawner, error).write(&packet.report);
            1
        }
    }
}

/// The whole life of an init that `bwrap` has started. Must be called before any thread exists.
pub(super) fn main_after_bwrap(words: impl Iterator<Item = OsString>) -> i32 {
    match after_bwrap::given(words) {
        Ok(init) => live(init, &PROOFS),
        // The spawner holds the other end of its socket and sees the end.
        Err(_) => 1,
    }
}

fn set_up(sandbox: &mut Empty, order: Option<&Order>) -> Result<(), Report> {
    let steps: &[_] = if sandbox.is_in_template { &FIRST_STEPS_IN_TEMPLATE } else { &FIRST_STEPS };
    for (layer, step) in steps {
        if !sandbox.without.contains(layer) {
            let is_waived = order.is_some_and(|order| order.does_without(*layer));
            judge(step(sandbox), *layer, is_waived, &mut sandbox.without)?;
        }
    }
    Ok(())
}

fn live(mut init: Init, steps: &[(Layer, Step<Init>)]) -> i32 {
    for (layer, step) in steps {
        let is_waived = init.order.does_without(*layer);
        if let Err(why) = judge(step(&init), *layer, is_waived, &mut init.without) {
            init.refuse(&why);
            return 1;
        }
    }
    init.mounts.clear();
    init.doors = None;
    payload::start(init).map_or(1, watch::watch)
}

/// A layer that is missing ends the start, or is noted where it is waived.
fn judge(
    result: io::Result<()>,
    layer: Layer,
    is_waived: bool,
    without: &mut Vec<Layer>,
) -> Result<(), Report> {
    match result {
        Ok(()) => Ok(()),
        Err(_) if is_waived => {
            without.push(layer);
            Ok(())
        }
        Err(error) => Err(Report::missing(layer, error)),
    }
}
