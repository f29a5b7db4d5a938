//! The spawner: a process with one thread that makes an init in namespaces of its own for each program it is asked for,
//! and tidies up behind it. It lives as long as the process that started it, and until the last of its programs is gone.

mod bwrap;
mod clone;
mod constants;
mod control_group;
mod ground;
mod idmap;
mod making;
mod placeholder;
mod pool;
mod run;
mod run_user;
mod sandbox;
mod template;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{geteuid, getuid, setsid};
use rustix::stdio::{dup2_stdin, stdin};

pub(super) use bwrap::BWRAP;

use super::init::after_bwrap::INIT_WORD;
use super::init::filters::Filters;
use super::init::main_after_bwrap;
use super::init::system::System;
use super::mount::about;
use super::packet::{Asked, Packet};
use control_group::ControlGroups;
use idmap::OwnerMaps;
use placeholder::Identity;
use pool::{MachineMounts, Pool};
use run::Run;
use run_user::RunUsers;
use sandbox::{Lacking, Owned};
use template::Templates;

/// What is made once for all runs.
struct Spawner {
    /// Gone once nobody can ask any more.
    socket: Option<OwnedFd>,
    filters: Arc<Filters>,
    system: Arc<System>,
    owned: Owned,
    /// Where we are an ordinary user and one may be trusted. Gone once it is known that we need none.
    bwrap: Option<bwrap::Launcher>,
    maps: OwnerMaps,
    runs: Vec<Run>,
    /// What has failed in a template, and is started again.
    again: Vec<Packet>,
    pool: Pool,
    templates: Templates,
    lacking: Lacking,
    machine_mounts: MachineMounts,
    /// Who we are: its user and group.
    user: (u32, u32),
    /// Whether there is little to copy of us.
    is_light: bool,
}

/// What the spawner has woken for.
#[derive(Default)]
struct Woken {
    is_asked: bool,
    have_mounts_changed: bool,
}

/// The whole life of a spawner, or of an init that `bwrap` has started for one. Its stdin is the socket over which it is
/// asked; `words` are those behind the launcher's own. Must be called in a process started for nothing else, before any
/// thread exists. Returns the exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    main_with(words, Path::new(bwrap::BWRAP))
}

/// The same with another `bwrap`, for tests.
pub fn main_with(words: impl IntoIterator<Item = OsString>, bwrap: &Path) -> i32 {
    let mut words = words.into_iter();
    if words.next().is_some_and(|word| word == INIT_WORD) {
        return main_after_bwrap(words);
    }
    // Whoever waits for an answer sees the socket's end and says so.
    i32::from(spawn(bwrap).is_err())
}

fn spawn(bwrap: &Path) -> io::Result<()> {
    // Not ours to be ended by: signals from the terminal of whoever started us. Fails only for a group's leader.
    let _ = setsid();
    let socket = rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    dup2_stdin(&null)?;
    let users = if getuid().is_root() { Some(RunUsers::new()) } else { None };
    let (filters, system) = (Arc::new(Filters::new()), Arc::new(System::look()));
    let maps = OwnerMaps::default();
    let groups = ControlGroups::find();
    // Root makes its namespaces itself.
    let bwrap = if users.is_none() { bwrap::Launcher::find(bwrap) } else { None };
    let mut spawner = Spawner {
        socket: Some(socket),
        filters,
        system,
        owned: Owned { users, groups },
        bwrap,
        maps,
        runs: Vec::new(),
        again: Vec::new(),
        pool: Pool::default(),
        templates: Templates::default(),
        lacking: Lacking::default(),
        machine_mounts: MachineMounts::watch()?,
        user: sandbox::ourselves(),
        is_light: false,
    };
    while spawner.socket.is_some() || !spawner.runs.is_empty() || !spawner.pool.is_empty() {
        let woken = spawner.wait()?;
        spawner.tidy_up(woken.have_mounts_changed);
        match &spawner.socket {
            Some(socket) if woken.is_asked => match Asked::receive(socket) {
                Ok(Some(Asked::Start(packet))) => spawner.start(packet),
                Ok(Some(Asked::Fill(told))) => spawner.fill_now(told),
                // There was no room for its files. Those that came are closed, which says that nothing will come of it.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(about("a packet")(error)),
                Ok(None) => {
                    spawner.socket = None;
                    spawner.pool.close();
                }
            },
            Some(_) if spawner.pool.is_due() => spawner.fill(),
            _ => {}
        }
        // Who has not come back from being another user can end nothing of what it has made: it ends with us.
        if spawner.owned.users.is_some() && !geteuid().is_root() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    Ok(())
}

impl Spawner {
    /// Waits until something is asked, a program is over or is to end, or there is something to do in the pool or with a
    /// `bwrap` that does not answer.
    fn wait(&self) -> io::Result<Woken> {
        let inits = self.runs.iter().flat_map(Run::wakers).chain(self.pool.wakers());
        let socket = self.socket.as_ref().map(|socket| PollFd::new(socket, PollFlags::IN));
        // The kernel looks at them in this order: what was mounted before somebody asked is seen with what is asked.
        let mut waited_for: Vec<_> = inits.chain(socket).chain([self.machine_mounts.waker()]).collect();
        let others = self.pool.next().into_iter().chain(self.templates.next());
        let next = self.runs.iter().filter_map(Run::answer_by).chain(others).min();
        let left = next.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut waited_for, left.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Woken::default()),
            Err(errno) => return Err(errno.into()),
        }
        let has_woken = |fd: Option<PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        let have_mounts_changed = has_woken(waited_for.pop());
        Ok(Woken { is_asked: self.socket.is_some() && has_woken(waited_for.pop()), have_mounts_changed })
    }

    /// Ends the runs whose lifeline has ended, and closes those that are over.
    fn tidy_up(&mut self, have_mounts_changed: bool) {
        for run in &mut self.runs {
            run.look();
        }
        if have_mounts_changed {
            self.templates.forget();
        }
        let over: Vec<Run> = self.runs.extract_if(.., |run| run.is_over()).collect();
        for mut run in over {
            if let Some((furniture, packet)) = run.take_again() {
                self.templates.has_failed(&furniture);
                self.again.push(packet);
            }
            run.close(self);
        }
        // Not before all are closed: an init that is made lets go of what we keep, and not of what we have just taken out.
        while let Some(packet) = self.again.pop() {
            self.start(packet);
        }
        let left = self.pool.tidy_up(have_mounts_changed);
        left.into_iter().for_each(|belongings| belongings.give_back(&mut self.owned));
        self.templates.tidy_up();
    }

    /// What stands in for absent files of all runs.
    fn held(&self) -> HashSet<Identity> {
        self.runs.iter().flat_map(Run::held).collect()
    }

    /// Whether our own way is not to be had. Once it is, it stays so.
    fn needs_bwrap(&mut self) -> bool {
        self.bwrap.take_if(|_| clone::gives_rights());
        self.bwrap.is_some()
    }

    /// Takes a millisecond once, and off each start that follows a seventh of one: not before a second is likely, nor while
    /// anybody waits.
    fn lighten(&mut self) {
        if !std::mem::replace(&mut self.is_light, true) {
            // Where that cannot be, each start takes as long as before.
            let _ = constants::share();
        }
    }

    fn start(&mut self, packet: Packet) {
        let report = packet.report.as_fd().try_clone_to_owned();
        match Run::start(self, packet) {
            Ok(run) => self.runs.push(run),
            Err(why) => _ = report.map(|report: OwnedFd| why.write(report)),
        }
    }
}
