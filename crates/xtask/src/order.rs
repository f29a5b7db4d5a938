//! `cargo xtask order`: writes `crates/toolcrib/program.order`, by which the linker lays what runs at the start, at rest
//! and in calls next to each other. The build script of that crate says why.
//!
//! To be run when the program at rest has grown; it needs valgrind, and links the program in its own order for that. What
//! was renamed or is new lies elsewhere until then, which costs memory and nothing else.

mod calls;
mod map;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::bench::client::{POLL_INTERVAL, list_tools};
use crate::bench::http_client::{HttpClient, free_port};
use crate::checkout::Checkout;
use crate::{program, step};
use map::{Name, Section};

/// Where the result lies in the checkout.
const ORDER: &str = "crates/toolcrib/program.order";

/// Of the code under one name at least this part must have run, or it comes behind the rest: a name stands for all the
/// types that a function was compiled for.
const PART_MIN: f64 = 0.1;

/// No run has fewer functions; valgrind has not known the program's code then.
const FUNCTIONS_MIN: usize = 500;

/// A program under valgrind takes a second to start.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// What a client on stdio says; each line but the notification is answered.
const START: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"order","version":"0"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
];
const CALLS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"workspace_list","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"workspace_read","arguments":{"path":"a.txt"}}}"#,
    r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
];

/// One that is watched, with the file that its profile goes into.
type Run<'a> = (&'a str, &'a dyn Fn(&Path) -> anyhow::Result<()>);

pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    let folder = tempfile::TempDir::new().context("no temporary folder")?;
    std::fs::write(folder.path().join("a.txt"), "a file to be read")?;
    let map = folder.path().join("map");
    let words = ["build", "--release", "--locked", "--package", "toolcrib"];
    step::run(checkout.command("cargo", &words).env("TOOLCRIB_LINK_MAP", &map))?;
    let program = checkout.target.join("release").join("toolcrib");
    let sections = map::sections(&std::fs::read_to_string(&map).context("the linker wrote no map")?);
    ensure!(!sections.is_empty(), "the linker's map names no code; this takes lld");
    let mut groups = Vec::new();
    let started: Vec<&str> = START.to_vec();
    let called: Vec<&str> = START.iter().chain(&CALLS).copied().collect();
    let runs: [Run<'_>; 3] = [
        ("start", &|file| over_stdio(&program, folder.path(), file, &started)),
        ("http", &|file| over_http(&program, folder.path(), file)),
        ("calls", &|file| over_stdio(&program, folder.path(), file, &called)),
    ];
    for (name, run) in runs {
        let file = folder.path().join(name);
        run(&file).with_context(|| format!("the run `{name}` failed"))?;
        let addresses = calls::addresses(&std::fs::read_to_string(&file)?, "/toolcrib");
        groups.push(map::containing(&sections, &addresses));
        let count = groups[groups.len() - 1].len();
        println!("{name}: {count} functions");
        ensure!(count >= FUNCTIONS_MIN, "the run `{name}` shows too few functions to go by");
    }
    std::fs::write(checkout.root.join(ORDER), order(&sections, &groups)).context(ORDER)?;
    println!("{ORDER} is written");
    Ok(())
}

/// The names in their order: of each group those that it used most of; what it used little of, behind the first two groups
/// and at the end.
fn order(sections: &[Section], groups: &[Vec<usize>]) -> String {
    let mut all: BTreeMap<&Name, u64> = BTreeMap::new();
    for section in sections {
        *all.entry(&section.name).or_default() += section.length;
    }
    let (mut seen, mut lines, mut behind) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (nth, group) in groups.iter().enumerate() {
        let mut used: BTreeMap<&Name, u64> = BTreeMap::new();
        for &place in group {
            *used.entry(&sections[place].name).or_default() += sections[place].length;
        }
        let part =
            |name: &Name, length: u64| length as f64 / all.get(name).copied().unwrap_or(1).max(1) as f64;
        let mut rare: Vec<(f64, &Name)> = Vec::new();
        for (name, length) in used.into_iter().filter(|(name, _)| seen.insert(*name)) {
            match part(name, length) {
                part if part >= PART_MIN => lines.push(name),
                part => rare.push((part, name)),
            }
        }
        rare.sort_by(|one, other| other.0.total_cmp(&one.0));
        behind.extend(rare.into_iter().map(|(_, name)| name));
        // What is at rest must not lie behind what only calls need.
        if nth == 1 {
            lines.append(&mut behind);
        }
    }
    lines.append(&mut behind);
    lines.iter().map(|name| format!("{} {}\n", name.from, name.section)).collect()
}

fn under_valgrind(program: &Path, home: &Path, file: &Path) -> anyhow::Result<Command> {
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(file);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--dump-instr=yes"]).arg(option).arg(program);
    command
        .current_dir(program::workspace(home)?)
        .env_clear()
        .envs(program::clean_environment(home))
        .stderr(Stdio::null());
    Ok(command)
}

/// One client that says `lines` and goes.
fn over_stdio(program: &Path, home: &Path, file: &Path, lines: &[&str]) -> anyhow::Result<()> {
    let mut command = under_valgrind(program, home, file)?;
    let mut child = command.arg("stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no pipe to the program")?;
    let mut answers = BufReader::new(child.stdout.take().context("no pipe from the program")?).lines();
    for line in lines {
        writeln!(stdin, "{line}")?;
        if line.contains("\"id\"") {
            let answer = answers.next().context("the program ended")??;
            ensure!(answer.contains("\"result\""), "not the expected answer: {answer}");
        }
    }
    drop(stdin);
    ensure!(child.wait()?.success(), "the program failed");
    Ok(())
}

/// A few clients that each open a session and list the tools.
fn over_http(program: &Path, home: &Path, file: &Path) -> anyhow::Result<()> {
    const CLIENTS: usize = 3;
    let port = free_port()?;
    let config = home.join("order.toml");
    std::fs::write(&config, format!("[server]\nbind = \"127.0.0.1:{port}\"\n[log]\nlevel = \"error\"\n"))?;
    let mut command = under_valgrind(program, home, file)?;
    command.args(["serve", "--config"]).arg(config);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() && start.elapsed() < START_TIME_MAX {
        std::thread::sleep(POLL_INTERVAL);
    }
    let listed: anyhow::Result<Vec<HttpClient>> = (0..CLIENTS)
        .map(|_| {
            let mut client = HttpClient::open(port)?;
            list_tools(&mut client)?;
            Ok(client)
        })
        .collect();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)?;
    child.wait()?;
    listed.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(from: &str, section: &str, start: u64, length: u64) -> Section {
        Section { start, length, name: Name { from: from.into(), section: section.into() } }
    }

    #[test]
    fn the_file_names_functions_and_no_build() {
        let checkout = Checkout::locate().expect("cargo knows the checkout");
        let order = std::fs::read_to_string(checkout.root.join(ORDER)).expect("the order is there");
        let mut seen = BTreeSet::new();
        for line in order.lines() {
            let (from, section) = line.split_once(' ').expect("two words");
            assert!(!from.is_empty() && section.starts_with(".text."), "{line}");
            assert!(!section.contains(' ') && !section.contains(".llvm."), "{line}");
            assert!(section.rsplit_once("17h").is_none_or(|(_, hash)| hash == "*E"), "{line}");
            assert!(seen.insert(line), "{line} is there twice");
        }
        assert!(seen.contains("toolcrib .text.main"), "it is that of the program");
    }

    #[test]
    fn what_is_used_most_comes_first_and_calls_come_last() {
        let sections = [
            section("a", ".text.start", 0, 10),
            section("a", ".text.many", 10, 10),
            section("a", ".text.many", 20, 1_000),
            section("b", ".text.session", 1_020, 10),
            section("c.rlib", ".text.call", 1_030, 10),
            section("a", ".text.never", 1_040, 10),
        ];
        let found = order(&sections, &[vec![0, 1], vec![0, 3], vec![0, 1, 4]]);
        assert_eq!(found, "a .text.start\nb .text.session\na .text.many\nc.rlib .text.call\n");
        assert_eq!(order(&sections, &[]), "");
    }
}
