//! `sandbox run`: a program runs confined in the workspace, with its output passed on as it comes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;

use audit::AuditLog;
use config::Settings;
use daemon::assemble::protected_from_programs;
use daemon::self_test::SelfTest;
use sandbox::Exit;
use sandbox::confine::{
    Aside, ConfineError, Confined, Confiner, Layer, Outcome, Output, Profile, Running, WorkspaceAccess,
    changed_files,
};
use sandbox::egress::HostRules;
use terminal::signals::Signals;
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print, runtime};
use tokio::io::AsyncReadExt as _;

use super::load::{load_resting, surroundings};
use crate::cli::{Cli, Run, Sandbox};

/// What a program that was ended by signal n exits with is so much above.
const SIGNAL_CODE_BASE: i32 = 128;

/// The code for a program of whose end nothing is known.
const LOST: u8 = 125;

/// What is passed on at once.
const CHUNK_BYTES: usize = 16 * 1024;

pub(super) fn run(cli: &Cli, command: Sandbox) -> Result<Ending, Trouble> {
    let Sandbox::Run(asked) = command;
    let loaded = load_resting(cli)?;
    super::start::begin_resting(&loaded)?;
    let settings = &loaded.settings;
    let aside = asked.dry_run.then(|| aside(settings)).transpose()?;
    let program = Confined { aside, ..program(cli, asked, settings)? };
    let (audit, redactor) = (settings.audit.clone(), settings.redactor.clone());
    let audit_log = Arc::new(AuditLog::with(&settings.state, now_ms, audit, redactor));
    let (store, waived) = (settings.kept.store().clone(), settings.sandbox.waived.clone());
    let self_test = SelfTest::new(store, audit_log.clone(), waived)?;
    let confiner = self_test.confiner()?.without_pool();
    runtime::run(async {
        let ending = confined(&confiner, &program).await;
        self_test.end().await;
        if let Err(error) = audit_log.sign_end() {
            tracing::error!(%error, "the audit log could not be closed");
        }
        ending
    })?
}

/// Where what it writes lies until it is shown.
fn aside(settings: &Settings) -> Result<Arc<Aside>, Trouble> {
    let why =
        |error: io::Error| Trouble::Failed(format!("a dry run needs a folder beside the state: {error}"));
    store::create_private(&settings.state)
        .and_then(|()| Aside::new(&settings.state))
        .map(Arc::new)
        .map_err(why)
}

fn program(cli: &Cli, asked: Run, settings: &Settings) -> Result<Confined, Trouble> {
    let name = if asked.dry_run { "write" } else { &asked.profile };
    let mut profile =
        Profile::named(name).ok_or_else(|| Trouble::Misused(format!("there is no profile `{name}`")))?;
    profile.limits = settings.sandbox.limits;
    if let Some(timeout) = asked.timeout {
        profile.limits.time = timeout.0;
    }
    let mut hosts = HostRules::none();
    if !asked.net.is_empty() {
        let named = HostRules::parse(&asked.net).map_err(|why| Trouble::Misused(format!("--net: {why}")))?;
        hosts = named.or(settings.sandbox.hosts.clone());
    }
    let profile = profile.with_network(!asked.net.is_empty());
    let is_writable = profile.workspace == WorkspaceAccess::Writable;
    let write = settings.sandbox.write.iter().filter(|_| is_writable).cloned().collect();
    let mut words = asked.command.into_iter();
    let command = words.next().unwrap_or_default();
    Ok(Confined {
        args: words.collect(),
        surroundings: surroundings(cli)?.variables,
        tool_chains: (name != "browser").then(|| settings.sandbox.write.clone()),
        env: settings.sandbox.env.clone(),
        protected: protected_from_programs(settings)?,
        read: settings.sandbox.read.clone(),
        write,
        hosts,
        company: settings.sandbox.proxy.clone(),
        waived: settings.sandbox.waived.clone(),
        ..Confined::new(profile, command, &settings.workspace)
    })
}

async fn confined(confiner: &Confiner, program: &Confined) -> Result<Ending, Trouble> {
    let running = match confiner.start(program).await {
        Ok(running) => running,
        Err(error) => return not_run(error),
    };
    let journal = running.journal().clone();
    let (outcome, passed) = pass_on(running, program.aside.is_some()).await?;
    say(&outcome, program);
    // Who reads it may have gone, and what it has changed is said all the same.
    passed?;
    if let Some(aside) = &program.aside {
        let changes = aside.changes(&program.workspace)?.to_string();
        if !changes.is_empty() {
            print::line(&changes)?;
        }
    }
    for blocked in journal.blocked() {
        print::remark(&print::harmless(&format!("blocked: {blocked}")));
    }
    Ok(Ending::Program(match outcome.exit {
        Exit::Code(code) => u8::try_from(code).unwrap_or(LOST),
        Exit::Signal(signal) => u8::try_from(SIGNAL_CODE_BASE + signal).unwrap_or(LOST),
        Exit::Lost => LOST,
    }))
}

fn not_run(error: ConfineError) -> Result<Ending, Trouble> {
    let ending = match &error {
        ConfineError::NotRun { code, .. } => Ending::Program(u8::try_from(*code).unwrap_or(LOST)),
        ConfineError::Unavailable(_) | ConfineError::Workspace(_) | ConfineError::NotShown { .. } => {
            Ending::Refused
        }
        ConfineError::Io(_) => Ending::Program(LOST),
    };
    print::remark(&error.to_string());
    Ok(ending)
}

/// Passes on what it reads and prints, until it has ended or a signal ends it. If `is_remark`, all goes to stderr.
async fn pass_on(mut running: Running, is_remark: bool) -> Result<(Outcome, io::Result<()>), Trouble> {
    if let Some(io) = running.take_io() {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let theirs = File::from(io.stdin.into_blocking_fd()?);
        // It may wait for a person for ever; it ends with us.
        std::thread::spawn(move || feed(input, theirs));
        let passed = async { tokio::try_join!(pass(io.stdout, is_remark), pass(io.stderr, true)) };
        let stopped = Signals::listen()?.stop();
        tokio::select! {
            passed = passed => if let Err(error) = passed {
                return Ok((running.end().await, Err(error)));
            },
            () = stopped => return Ok((running.end().await, Ok(()))),
        }
    }
    Ok((running.wait().await, Ok(())))
}

/// Not by `io::copy`, which splices: while that waits for a socket it holds the lock of the pipe, and a program that is ended cannot
/// let go of its end.
fn feed(mut input: File, mut theirs: File) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(bytes @ 1..) = input.read(&mut chunk) {
        // It reads no more.
        if theirs.write_all(&chunk[..bytes]).is_err() {
            return;
        }
    }
}

async fn pass(mut output: Output, is_error: bool) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match output.read(&mut chunk).await? {
            0 => return Ok(()),
            bytes => print::program(&chunk[..bytes], is_error)?,
        }
    }
}

/// What the exit code does not say.
fn say(outcome: &Outcome, program: &Confined) {
    if let Some(limit) = outcome.limit {
        let (what, limit) = (if limit.ends_programs() { "was ended" } else { "failed" }, limit.name());
        print::remark(&format!("the program {what}: it reached its limit `{limit}`"));
    }
    let mut waived = outcome.without.clone();
    for (layer, words) in Layer::SAID_OTHERWISE {
        for _ in waived.extract_if(.., |without| *without == layer) {
            print::remark(&format!("degraded: {words}"));
        }
    }
    let without: Vec<&str> = waived.iter().map(|layer| layer.name()).collect();
    if !without.is_empty() {
        print::remark(&format!(
            "degraded: the program ran without {}, as sandbox.waive says",
            without.join(", ")
        ));
    }
    if program.profile.workspace == WorkspaceAccess::Writable && !outcome.written.is_empty() {
        let written = changed_files(&outcome.written);
        let written = print::harmless(&written.join(", "));
        print::remark(&format!(
            "protected files have changed while the program ran; look at them before anything obeys them: {written}"
        ));
    }
}
