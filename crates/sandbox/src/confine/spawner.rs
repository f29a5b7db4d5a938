//! The spawner: a process with one thread that makes an init in namespaces of its own for each program it is asked for,
//! and tidies up behind it. It lives as long as the process that started it, and until the last of its programs is gone.

mod clone;
mod control_group;
mod idmap;
mod placeholder;
mod run;
mod run_user;

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{getuid, setsid};
use rustix::stdio::{dup2_stdin, stdin};

use super::init::filters::Filters;
use super::init::system::System;
use super::mount::about;
use super::packet::Packet;
use control_group::ControlGroups;
use idmap::OwnerMaps;
use placeholder::Identity;
use run::Run;
use run_user::RunUsers;

/// What is made once for all runs.
struct Spawner {
    /// Gone once nobody can ask any more.
    socket: Option<OwnedFd>,
    filters: Arc<Filters>,
    system: Arc<System>,
    /// Only when we are root.
    users: Option<RunUsers>,
    maps: OwnerMaps,
    /// Nothing where none can be made.
    groups: Option<ControlGroups>,
    runs: Vec<Run>,
}

/// The whole life of a spawner. Its stdin is the socket over which it is asked. Must be called in a process started for
/// nothing else, before any thread exists. Returns the exit code.
pub fn main() -> i32 {
    // Whoever waits for an answer sees the socket's end and says so.
    i32::from(spawn().is_err())
}

fn spawn() -> io::Result<()> {
    // Not ours to be ended by: signals from the terminal of whoever started us. Fails only for a group's leader.
    let _ = setsid();
    let socket = rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    dup2_stdin(&null)?;
    let users = if getuid().is_root() { Some(RunUsers::new()) } else { None };
    let (filters, system) = (Arc::new(Filters::new()), Arc::new(System::look()));
    let maps = OwnerMaps::default();
    let groups = ControlGroups::find();
    let mut spawner =
        Spawner { socket: Some(socket), filters, system, users, maps, groups, runs: Vec::new() };
    while spawner.socket.is_some() || !spawner.runs.is_empty() {
        let is_asked = spawner.wait()?;
        spawner.tidy_up();
        if let (true, Some(socket)) = (is_asked, &spawner.socket) {
            match Packet::receive(socket).map_err(about("a packet"))? {
                Some(packet) => spawner.start(packet),
                None => spawner.socket = None,
            }
        }
    }
    Ok(())
}

impl Spawner {
    /// Waits until something is asked, a program is over, or one is to end. True if something is asked.
    fn wait(&self) -> io::Result<bool> {
        let runs = self.runs.iter().flat_map(Run::wakers);
        let socket = self.socket.as_ref().map(|socket| PollFd::new(socket, PollFlags::IN));
        let mut waited_for: Vec<_> = runs.chain(socket).collect();
        match poll(&mut waited_for, None) {
            // The socket is the last.
            Ok(_) => {
                Ok(self.socket.is_some() && waited_for.last().is_some_and(|fd| !fd.revents().is_empty()))
            }
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Ends the runs whose lifeline has ended, and closes those that are over.
    fn tidy_up(&mut self) {
        for run in &mut self.runs {
            run.look();
        }
        let over: Vec<Run> = self.runs.extract_if(.., |run| run.is_over()).collect();
        let held = self.held();
        for over in over {
            if let (Some(users), Some(user)) = (&mut self.users, over.close(&held)) {
                users.give_back(user);
            }
        }
    }

    /// What stands in for absent files of all runs.
    fn held(&self) -> HashSet<Identity> {
        self.runs.iter().flat_map(Run::held).collect()
    }

    /// In a child: lets go of what is none of its business. What other programs wait for must end with us, not with it.
    fn let_go(&mut self) -> (Arc<Filters>, Arc<System>) {
        self.socket = None;
        self.runs.clear();
        self.maps = OwnerMaps::default();
        (self.filters.clone(), self.system.clone())
    }

    fn start(&mut self, packet: Packet) {
        let report = packet.report.as_fd().try_clone_to_owned();
        match Run::start(self, packet) {
            Ok(run) => self.runs.push(run),
            Err(why) => _ = report.map(|report: OwnedFd| why.write(report)),
        }
    }
}
