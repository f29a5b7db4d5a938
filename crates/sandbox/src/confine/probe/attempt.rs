//! The list of attempts.

use std::io;

use super::scene::Targets;
use super::{files, network, processes};

/// A way out that a program may try.
pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) when: When,
    /// Succeeds if the program has escaped.
    pub(super) run: fn(&Targets) -> io::Result<()>,
}

/// Where an attempt succeeds outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// On every machine.
    Always,
    /// As root.
    Root,
    /// Where the kernel has it and no setting forbids it.
    Perhaps,
}

const fn attempt(name: &'static str, when: When, run: fn(&Targets) -> io::Result<()>) -> Attempt {
    Attempt { name, when, run }
}

/// All of them, by what they are after. `toolcrib doctor` makes them all.
pub(super) const ATTEMPTS: [Attempt; 64] = [
    attempt("read_outside", When::Always, files::read_outside),
    attempt("read_prefix_twin", When::Always, files::read_prefix_twin),
    attempt("read_through_link", When::Always, files::read_through_link),
    attempt("read_through_proc_root", When::Always, files::read_through_proc_root),
    attempt("read_through_parents_root", When::Always, files::read_through_parents_root),
    attempt("read_by_race", When::Always, files::read_by_race),
    attempt("read_machines_users", When::Always, files::read_machines_users),
    attempt("read_secret", When::Always, files::read_secret),
    attempt("list_beside_workspace", When::Always, files::list_beside_workspace),
    attempt("list_run", When::Always, files::list_run),
    attempt("list_devices", When::Always, files::list_devices),
    attempt("stat_outside", When::Always, files::stat_outside),
    attempt("chdir_outside", When::Always, files::chdir_outside),
    attempt("write_outside", When::Always, files::write_outside),
    attempt("write_prefix_twin", When::Always, files::write_prefix_twin),
    attempt("write_through_link", When::Always, files::write_through_link),
    attempt("create_beside_workspace", When::Always, files::create_beside_workspace),
    attempt("chmod_outside", When::Always, files::chmod_outside),
    attempt("rename_outside", When::Always, files::rename_outside),
    attempt("hard_link_in", When::Always, files::hard_link_in),
    attempt("write_git_config", When::Always, files::write_git_config),
    attempt("replace_git_config", When::Always, files::replace_git_config),
    attempt("plant_git_hook", When::Always, files::plant_git_hook),
    attempt("plant_git_alternates", When::Always, files::plant_git_alternates),
    attempt("plant_git_attributes", When::Always, files::plant_git_attributes),
    attempt("move_git_away", When::Always, files::move_git_away),
    attempt("write_configuration", When::Always, files::write_configuration),
    attempt("write_instructions", When::Always, files::write_instructions),
    attempt("replace_instructions", When::Always, files::replace_instructions),
    attempt("remove_instructions", When::Always, files::remove_instructions),
    attempt("write_instructions_by_hard_link", When::Always, files::write_instructions_by_hard_link),
    attempt("plant_agent_settings", When::Always, files::plant_agent_settings),
    attempt("move_workflows_away", When::Always, files::move_workflows_away),
    attempt("connect_tcp", When::Always, network::connect_tcp),
    attempt("connect_tcp_fast_open", When::Always, network::connect_tcp_fast_open),
    attempt("connect_multipath_tcp", When::Perhaps, network::connect_multipath_tcp),
    attempt("send_udp", When::Always, network::send_udp),
    attempt("connect_unix_path", When::Always, network::connect_unix_path),
    attempt("connect_unix_abstract", When::Always, network::connect_unix_abstract),
    attempt("open_vsock", When::Perhaps, network::open_vsock),
    attempt("open_netlink", When::Always, network::open_netlink),
    attempt("open_raw", When::Root, network::open_raw),
    attempt("open_packet", When::Root, network::open_packet),
    attempt("use_inherited_descriptor", When::Always, processes::use_inherited_descriptor),
    attempt("read_environment_of_parent", When::Always, processes::read_environment_of_parent),
    attempt("open_memory_of_parent", When::Perhaps, processes::open_memory_of_parent),
    attempt("list_descriptors_of_parent", When::Always, processes::list_descriptors_of_parent),
    attempt("find_secret_variable", When::Always, processes::find_secret_variable),
    attempt("signal_host", When::Always, processes::signal_host),
    attempt("open_handle_on_host", When::Always, processes::open_handle_on_host),
    attempt("see_host_in_proc", When::Always, processes::see_host_in_proc),
    attempt("read_memory_by_call", When::Always, processes::read_memory_by_call),
    attempt("trace", When::Always, processes::trace),
    attempt("unshare_user", When::Always, processes::unshare_user),
    attempt("clone_user", When::Always, processes::clone_user),
    attempt("clone3_user", When::Always, processes::clone3_user),
    attempt("mount_in_namespace", When::Always, processes::mount_in_namespace),
    attempt("set_host_name", When::Root, processes::set_host_name),
    attempt("change_root", When::Root, processes::change_root),
    attempt("name_file_handle", When::Always, processes::name_file_handle),
    attempt("use_key_ring", When::Perhaps, processes::use_key_ring),
    attempt("use_io_uring", When::Perhaps, processes::use_io_uring),
    attempt("call_by_x32", When::Perhaps, processes::call_by_x32),
    attempt("type_at_terminal", When::Perhaps, processes::type_at_terminal),
];
