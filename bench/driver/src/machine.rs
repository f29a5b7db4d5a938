//! What a reader must know of the machine to judge the figures; no name of a host or of a path.

use std::fs;
use std::process::Command;

use xtask::step;

/// Lines for the head of the page.
pub(crate) fn describe(raised_priority: bool) -> anyhow::Result<Vec<String>> {
    let date = step::capture(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let rustc = step::capture(Command::new("rustc").arg("--version"))?;
    let cores = std::thread::available_parallelism()?;
    let priority = if raised_priority { "−15" } else { "not raised" };
    Ok(vec![
        format!("Date: {}", date.trim()),
        format!("Processor: {cores} cores, {}", processor()),
        format!("Kernel: Linux {}", kernel()),
        format!("Compiler: {}", rustc.split_whitespace().take(2).collect::<Vec<_>>().join(" ")),
        format!("Priority of driver and programs: {priority}"),
        format!("Load average at the start: {}", load()),
    ])
}

/// The load of the last minute.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "of unknown make".into(), |(_, name)| name.trim().to_owned())
}

/// The numbers of the release only: what follows them may name the machine's owner.
fn kernel() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default().to_owned()
}
