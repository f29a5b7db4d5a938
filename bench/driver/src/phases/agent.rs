//! The coding agent's tools beside the least that their work must cost: a start in our own sandbox, `rg`, one file put in place,
//! a picture decoded and written by the same library, and the web's own time.

mod picture;
mod site;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use sandbox::confine::Profile;

use super::tables::{latencies, latency_goal};
use crate::bench::Bench;
use crate::client::{Client, await_answer};
use crate::confined::Starts;
use crate::message::{Request, quoted};
use crate::process::Launch;
use crate::report::{Goal, Limit, Report, Unit};
use crate::round::{READY_TIME_MAX, Round};
use crate::slices::{SliceFn, from_times, nanoseconds};
use crate::stdio_client::{SILENCE_MAX, StdioClient};

/// Calls in one slice: enough for a median, few enough for a search of a large tree.
const CALLS: usize = 9;

/// Files that are searched, so many in each folder.
const FILES: usize = 100_000;
const FILES_IN_FOLDER: usize = 500;

/// Of how many one is found.
const FOUND_OF: usize = 5_000;

/// The size of the file that is edited.
const EDITED_BYTES: usize = 1024 * 1024;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let site = site::Site::start()?;
    let launch = || bench.programs.toolcrib_agent(site.port);
    command(bench, report, &launch());
    search(bench, report, &launch())?;
    edit(bench, report, &launch())?;
    picture::run(bench, report, &launch())?;
    web(bench, report, &launch(), &site);
    Ok(())
}

/// The same lane for all: a call after the other, each with the next request, and the first one before it is counted.
fn tool<'a>(
    round: &mut Round<'a>,
    name: &str,
    launch: &anyhow::Result<Launch>,
    request: impl Fn(usize) -> Request + 'a,
) {
    round.add(name, || {
        let launch = launch.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
        let mut client = StdioClient::open(launch)?;
        let watch = client.running.within(READY_TIME_MAX + SILENCE_MAX);
        await_answer(&mut client, &request(0), READY_TIME_MAX)?;
        drop(watch);
        timed(1, move |nth| {
            let _watch = client.running.within(SILENCE_MAX);
            client.call(&request(nth))
        })
    });
}

/// A lane that does this a few times in each slice; it is told how often it was done, counted from `nth`.
fn timed<'a>(
    mut nth: usize,
    mut once: impl FnMut(usize) -> anyhow::Result<Duration> + 'a,
) -> anyhow::Result<SliceFn<'a>> {
    Ok(Box::new(move |_| {
        let one = |_| {
            let time = once(nth).map(nanoseconds);
            nth += 1;
            time
        };
        let times = (0..CALLS).map(one).collect::<anyhow::Result<_>>()?;
        Ok(from_times(times, Duration::ZERO, None))
    }))
}

fn command(bench: &Bench, report: &mut Report, launch: &anyhow::Result<Launch>) {
    const OURS: &str = "`Bash` of `true`";
    const ALONE: &str = "its sandbox alone, from the pool";
    let mut round = Round::new(bench);
    let workspace = bench.programs.own_path("workspace");
    let starts = fs::create_dir(&workspace).map_err(anyhow::Error::from).and_then(|()| {
        let starts = Starts::new(
            bench.programs.spawner()?,
            Profile::write(),
            &["/bin/bash", "-c", "true"],
            workspace,
        )?;
        Ok(Starts::pooled(bench.programs.spawner()?, starts))
    });
    round.add(ALONE, || {
        let starts = starts?;
        starts.time()?;
        timed(0, move |_| starts.time())
    });
    tool(&mut round, OURS, launch, move |_| Request::tool("Bash", r#"{"command":"true"}"#, "exit_code"));
    let results = round.run();
    report.goal(latency_goal(OURS, &results, OURS, ALONE, Limit::TimesAtMost(2.0)));
    let about = "One call at a time over stdio, each on the disk in the audit log first, and the next one at once, so that the pool may be \
                 empty; beside the same start by the spawner alone, which finds the pool full.";
    report.section(latencies("`Bash`", about, &results, ALONE));
}

fn search(bench: &Bench, report: &mut Report, launch: &anyhow::Result<Launch>) -> anyhow::Result<()> {
    const OURS: &str = "`workspace_search`";
    const RG: &str = "rg";
    let tree = planted(bench)?;
    let name = tree.file_name().context("a folder has a name")?.to_string_lossy();
    let mut round = Round::new(bench);
    let rg = bench.programs.bare(&["/usr/bin/rg", "--count", "needle [0-9]+", &tree.to_string_lossy()]);
    round.add(RG, || {
        timed(0, move |_| {
            let start = Instant::now();
            ensure!(rg.run()?.success(), "Debian's ripgrep cannot be had here, or found nothing");
            Ok(start.elapsed())
        })
    });
    let arguments = format!(r#"{{"pattern":"needle [0-9]+","path":{},"mode":"counts"}}"#, quoted(&name));
    tool(&mut round, OURS, launch, move |_| Request::tool("workspace_search", &arguments, "file95000.txt"));
    let results = round.run();
    fs::remove_dir_all(&tree)?;
    report.goal(latency_goal(
        "`workspace_search` over 100,000 files",
        &results,
        OURS,
        RG,
        Limit::TimesAtMost(1.5),
    ));
    let about = "A regular expression over 100,000 files of 300 bytes in 200 folders, all in the page cache, counted for each file.";
    report.section(latencies("`workspace_search`", about, &results, RG));
    Ok(())
}

/// A tree of small files, some of which have what is looked for.
fn planted(bench: &Bench) -> anyhow::Result<PathBuf> {
    let tree = bench.programs.own_path("tree");
    let line = "hay and hay and hay, which nobody looks for\n".repeat(7);
    for nth in 0..FILES {
        let folder = tree.join(format!("folder{}", nth / FILES_IN_FOLDER));
        if nth % FILES_IN_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let found = if nth % FOUND_OF == 0 { format!("needle {nth}\n") } else { String::new() };
        fs::write(folder.join(format!("file{nth}.txt")), format!("{line}{found}"))?;
    }
    Ok(tree)
}

fn edit(bench: &Bench, report: &mut Report, launch: &anyhow::Result<Launch>) -> anyhow::Result<()> {
    const OURS: &str = "`workspace_edit`";
    const WRITE: &str = "one file put in place, synced";
    let text = |word: &str| format!("{}{word}\n", "0123456789abcde\n".repeat(EDITED_BYTES / 16));
    let (ours, beside) = (bench.programs.own_path("edited.txt"), bench.programs.own_path("written.txt"));
    for path in [&ours, &beside] {
        fs::write(path, text("before"))?;
    }
    let mut round = Round::new(bench);
    round.add(WRITE, || {
        timed(0, move |nth| put(&beside, &text(if nth % 2 == 0 { "after" } else { "before" })))
    });
    let name = ours.file_name().context("a file has a name")?.to_string_lossy().into_owned();
    let request = move |old: &str, new: &str| {
        let edit = format!(r#"{{"old_text":"{old}","new_text":"{new}"}}"#);
        let arguments = format!(r#"{{"path":{},"edits":[{edit}]}}"#, quoted(&name));
        Request::tool("workspace_edit", &arguments, "sha256")
    };
    tool(&mut round, OURS, launch, move |nth| match nth % 2 {
        0 => request("before", "after"),
        _ => request("after", "before"),
    });
    let results = round.run();
    report.goal(latency_goal("`workspace_edit` of 1 MiB", &results, OURS, WRITE, Limit::TimesAtMost(1.3)));
    let about = "One word of a text of 1 MiB. The yardstick writes it to another name, syncs it, renames it and syncs the folder. Ours \
                 reads, finds and looks again before, and records the call on the disk first.";
    report.section(latencies("`workspace_edit`", about, &results, WRITE));
    Ok(())
}

/// Replaces a file as it must be to survive a power cut.
fn put(path: &Path, text: &str) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let temporary = path.with_extension("new");
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(path.parent().context("a file lies in a folder")?)?.sync_all()?;
    Ok(start.elapsed())
}

fn web(bench: &Bench, report: &mut Report, launch: &anyhow::Result<Launch>, site: &site::Site) {
    let mut round = Round::new(bench);
    const SEARCH: &str = "`WebSearch`, one service";
    const SERVICE: &str = "the service itself";
    const PAGE: &str = "`ReadDocs`, warm";
    const PAGE_ALONE: &str = "the page itself";
    for (name, path) in [(SERVICE, "/find"), (PAGE_ALONE, "/page")] {
        round.add(name, || timed(0, move |_| site.get(path)));
    }
    // No query twice: answers are kept.
    let query = |nth| format!(r#"{{"query":"posts {nth}"}}"#);
    tool(&mut round, SEARCH, launch, move |nth| Request::tool("WebSearch", &query(nth), "Posts"));
    let url = format!(r#"{{"url":"http://localhost:{}/page"}}"#, site.port);
    // Only the page's script writes this.
    tool(&mut round, PAGE, launch, move |_| Request::tool("ReadDocs", &url, "A fence of n panels"));
    let results = round.run();
    for (ours, beside, most_us) in [(SEARCH, SERVICE, 10_000.0), (PAGE, PAGE_ALONE, 300_000.0)] {
        let (own, theirs) = (results.of(ours), results.of(beside));
        let added = own.paired(theirs, |slice| slice.p50_us, |own, theirs| own - theirs);
        report.goal(Goal {
            what: format!("{ours}: added"),
            ours: added,
            yardstick: (beside.into(), theirs.median(|slice| slice.p50_us)),
            ratio: f64::NAN,
            unit: Unit::Micros,
            limit: Limit::AtMost(most_us),
        });
    }
    let about = format!(
        "From a site on this machine, which answers a search after {} ms and a page at once. The browser runs before the first call \
         that is counted.",
        site::SEARCH_TIME.as_millis()
    );
    report.section(latencies("The web's tools", &about, &results, PAGE_ALONE));
}
