//! The program: the second process inside.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Resource, Rlimit, setrlimit, setsid};

use super::given::{Init, Step};
use super::watch::Started;
use super::{descriptors, landlock};
use crate::confine::fork::become_program;
use crate::confine::layer::Layer;
use crate::confine::packet::has_ended;
use crate::confine::report::Report;

/// What is set up for the program alone: init must still be able to watch and to report.
const STEPS: [(Layer, Step<Init>); 4] = [
    // What was begun of it may lie where the program gets a file of its own.
    (Layer::Landlock, landlock::restrict),
    (Layer::Descriptors, descriptors::keep_streams),
    // Not before the fence, which opens files of its own.
    (Layer::Rlimits, limit),
    (Layer::Seccomp, |init| init.filters.apply(init.order.sockets)),
];

/// What a shell says of a program that is not there, and of one that may not be run.
const NOT_FOUND: i32 = 127;
const NOT_RUN: i32 = 126;

const NOT_THERE: &str = "it is not there; programs outside /usr are, if `sandbox.read` in your own configuration names their folders";

/// Starts the program and says so, or why not.
pub(super) fn start(mut init: Init) -> Option<Started> {
    // Nobody wants it any more: a call that was cancelled a moment ago starts nothing.
    if has_ended(&init.lifeline) {
        return None;
    }
    let began = Instant::now();
    let (mut missing, mut failed) = (Vec::new(), None);
    // We stand still meanwhile, and what it leaves in our memory is here afterwards.
    let program = become_program(&mut || {
        failed = Some(run(&init, &mut missing));
        1
    });
    let why = match (program, failed) {
        (Ok(program), None) => {
            init.without.extend(missing);
            return Some(Started::new(init, program, began));
        }
        (Ok(_), Some(why)) => why,
        (Err(error), _) => Report::missing(Layer::Spawner, error),
    };
    init.refuse(&why);
    None
}

/// Becomes the program; returns why not. Until then it is in init's memory. What is `missing` and waived is said there.
fn run(init: &Init, missing: &mut Vec<Layer>) -> Report {
    // Signals that it sends to its group are not init's. It leads no group yet, so this cannot fail.
    let _ = setsid();
    for (layer, step) in STEPS {
        match step(init) {
            Ok(()) => {}
            Err(_) if init.order.does_without(layer) => missing.push(layer),
            Err(error) => return Report::missing(layer, error),
        }
    }
    let order = &init.order;
    let found = candidates(&order.command, &order.env);
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for path in found {
        let mut command = Command::new(path);
        command.args(&order.args).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
        let error = command.exec();
        if error.kind() != io::ErrorKind::NotFound {
            failed = error;
        }
    }
    match failed.kind() {
        io::ErrorKind::NotFound => Report::NotRun { code: NOT_FOUND, why: NOT_THERE.to_owned() },
        _ => Report::NotRun { code: NOT_RUN, why: failed.to_string() },
    }
}

/// Where a program of this name may be, as a shell looks it up.
fn candidates(command: &OsStr, env: &[(OsString, OsString)]) -> Vec<PathBuf> {
    if command.as_encoded_bytes().contains(&b'/') {
        return vec![PathBuf::from(command)];
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    std::env::split_paths(&path.unwrap_or_default()).map(|folder| folder.join(command)).collect()
}

fn limit(init: &Init) -> io::Result<()> {
    let limits = &init.order.limits;
    // Init counts as one.
    let processes = limits.processes.saturating_add(1);
    for (resource, most) in [
        // What a program had in memory must not lie around.
        (Resource::Core, 0),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Cpu, limits.cpu.as_secs().max(1)),
        (Resource::Nproc, processes),
    ] {
        // More than we may ourselves nobody may.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |ours| ours.min(most));
        // At the hard limit of its time a process is killed outright, and nobody could say why.
        let hard = if resource == Resource::Cpu { most.saturating_add(1) } else { most };
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(hard) })?;
    }
    Ok(())
}
