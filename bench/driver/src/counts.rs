//! Counts what one call costs in system calls or instructions: two runs that differ only in the number of calls,
//! and the difference divided by it, so that the start does not count.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context as _;

use super::client::{Client as _, await_answer};
use super::message::Request;
use super::process::Launch;
use super::stdio_client::{SILENCE_MAX, StdioClient};

/// Calls of the shorter run: enough that what is done only for the first calls is in both.
const CALLS_FEW: u32 = 200;
/// Calls of the longer run.
const CALLS_MANY: u32 = 1_200;

/// System calls per call, by name. `path` is a fresh file name for each run.
pub(crate) fn system_calls(
    launch: &Launch,
    request: &Request,
    path: impl Fn() -> PathBuf,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let count = |calls| {
        let file = path();
        let tool = ["strace", "-f", "-c", "-S", "name", "-o"].map(OsString::from);
        let tool: Vec<OsString> = tool.into_iter().chain([file.clone().into()]).collect();
        run(&launch.under(&tool), request, calls)?;
        Ok::<_, anyhow::Error>(strace_counts(&std::fs::read_to_string(&file)?))
    };
    let (few, many) = (count(CALLS_FEW)?, count(CALLS_MANY)?);
    let per_call = |(name, calls): (String, f64)| {
        let difference = calls - few.get(&name).copied().unwrap_or(0.0);
        // A runtime's own timers may have run more often in the shorter run.
        (name, difference.max(0.0) / f64::from(CALLS_MANY - CALLS_FEW))
    };
    Ok(many.into_iter().map(per_call).collect())
}

/// Instructions per call of the program itself, without the kernel's.
pub(crate) fn instructions(
    launch: &Launch,
    request: &Request,
    path: impl Fn() -> PathBuf,
) -> anyhow::Result<f64> {
    let count = |calls| {
        let file = path();
        let mut option = OsString::from("--callgrind-out-file=");
        option.push(&file);
        run(&launch.under(&["valgrind".into(), "--tool=callgrind".into(), option]), request, calls)?;
        callgrind_total(&std::fs::read_to_string(&file)?).context("callgrind wrote no total")
    };
    Ok((count(CALLS_MANY)? - count(CALLS_FEW)?) / f64::from(CALLS_MANY - CALLS_FEW))
}

/// Instructions per call of the program's functions and all that they call, by their names. A function that was inlined
/// has none.
pub(crate) fn function_instructions(
    launch: &Launch,
    request: &Request,
    path: impl Fn() -> PathBuf,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let count = |calls| {
        let file = path();
        let mut option = OsString::from("--callgrind-out-file=");
        option.push(&file);
        run(&launch.under(&["valgrind".into(), "--tool=callgrind".into(), option]), request, calls)?;
        let mut annotate = std::process::Command::new("callgrind_annotate");
        annotate.args(["--inclusive=yes", "--auto=no", "--threshold=99.99"]).arg(&file);
        let told = annotate.output().context("callgrind_annotate could not be started")?;
        Ok::<_, anyhow::Error>(annotated(&String::from_utf8_lossy(&told.stdout)))
    };
    let (few, many) = (count(CALLS_FEW)?, count(CALLS_MANY)?);
    let per_call = |(name, instructions): (String, f64)| {
        let difference = instructions - few.get(&name).copied().unwrap_or(0.0);
        (name, difference / f64::from(CALLS_MANY - CALLS_FEW))
    };
    Ok(many.into_iter().map(per_call).collect())
}

/// Starts the program, calls it, and lets it end, upon which the tool writes its file.
fn run(launch: &Launch, request: &Request, calls: u32) -> anyhow::Result<()> {
    let mut client = StdioClient::open(launch)?;
    let _watch = client.running.within(SILENCE_MAX * 2);
    await_answer(&mut client, request, SILENCE_MAX)?;
    for _ in 1..calls {
        client.call(request)?;
    }
    Ok(())
}

/// The table of `strace -c`: shares, seconds, time, calls, errors where there are any, name.
fn strace_counts(table: &str) -> BTreeMap<String, f64> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let calls = cells.get(3)?.parse().ok()?;
        let name = *cells.get(4..)?.last()?;
        (name != "total").then(|| (name.to_owned(), calls))
    };
    table.lines().filter_map(row).collect()
}

/// The table of `callgrind_annotate`: instructions, share, file and function, program. What stands under one name in
/// several rows is added up.
fn annotated(table: &str) -> BTreeMap<String, f64> {
    let mut functions = BTreeMap::new();
    for line in table.lines() {
        let Some((count, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(count) = count.replace(',', "").parse::<f64>() else { continue };
        let Some((_, function)) = rest.split_once(')').and_then(|(_, named)| named.split_once(':')) else {
            continue;
        };
        let name = function.rsplit_once(" [").map_or(function, |(name, _)| name);
        *functions.entry(name.to_owned()).or_default() += count;
    }
    functions
}

/// The last total of a callgrind file.
fn callgrind_total(text: &str) -> Option<f64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals: "))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_tables_are_read() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n \
                     60.00    0.000300           0       203         1 read\n \
                     40.00    0.000200           0       201           write\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.000500           0       404         1 total\n";
        let expected = BTreeMap::from([("read".to_owned(), 203.0), ("write".to_owned(), 201.0)]);
        assert_eq!(strace_counts(table), expected);
    }

    #[test]
    fn annotated_functions_are_read() {
        let table = "--------\nIr\n--------\n78,000 (100.0%)  PROGRAM TOTALS\n\n\
                     Ir                   file:function\n\
                     7,964,517 (10.15%)  ???:wire::message::Frame::parse [/x/toolcrib]\n\
                       343,450 ( 0.45%)  ???:<gate::A as gate::Check>::check [/x/toolcrib]\n";
        let expected = BTreeMap::from([
            ("<gate::A as gate::Check>::check".to_owned(), 343_450.0),
            ("wire::message::Frame::parse".to_owned(), 7_964_517.0),
        ]);
        assert_eq!(annotated(table), expected);
    }

    #[test]
    fn callgrind_totals_are_read() {
        assert_eq!(callgrind_total("events: Ir\nfn=1\ntotals: 12345\n"), Some(12_345.0));
        assert_eq!(callgrind_total("events: Ir\n"), None);
    }
}
