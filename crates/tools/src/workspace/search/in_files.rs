//! Many files looked through at once, by as many threads as there are processors, and answered in the order of their paths.
//!
//! First the names are gathered, since the order is what makes an answer one that can be gone on with; then batch after batch
//! is searched, until there is enough to say.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tool_api::{Cancel, FileError, PathRules, Root, ToolError};

use super::super::file_error::refused;
use super::super::listing::{Item, ItemKind, Unlisted};
use super::super::walk::{LOOKED_AT_MAX, Wanted, walk};
use super::answer::Answer;
use super::asked::{Asked, Mode, Searched};
use super::in_file::{Found, Looking, Reader};

/// Threads that search at once.
const THREADS_MAX: usize = 8;

/// Files of the first batch, and of the largest. An answer that is full early has cost one small batch.
const BATCH_FILES: usize = 256;
const BATCH_FILES_MAX: usize = 4 * 1024;

/// A file to look through, from behind a line on.
struct Candidate {
    path: String,
    after_line: u64,
}

/// Every file that is asked for, in the order of their paths.
struct Candidates {
    files: Vec<Candidate>,
    /// Folders that could not be listed.
    unlisted: Vec<Unlisted>,
    /// Behind what they are not all.
    goes_on: Option<String>,
}

/// Searches, and says what was found. Blocks.
pub(super) fn search(
    asked: &Asked,
    files: &Root,
    rules: Option<&dyn PathRules>,
    cancel: &Cancel,
) -> Result<String, ToolError> {
    let candidates = candidates(asked, files, cancel)?;
    let mut answer = Answer::new(asked, candidates.unlisted);
    let (mut rest, mut batch_files) = (&candidates.files[..], BATCH_FILES);
    while !rest.is_empty() && !answer.is_full() {
        let (batch, behind) = rest.split_at(batch_files.min(rest.len()));
        for (candidate, searched) in batch.iter().zip(look_through(batch, asked, files, rules, cancel)?) {
            if !answer.is_full() {
                answer.add(&candidate.path, searched);
            }
        }
        (rest, batch_files) = (behind, (batch_files * 4).min(BATCH_FILES_MAX));
    }
    Ok(answer.text(candidates.goes_on))
}

fn candidates(asked: &Asked, files: &Root, cancel: &Cancel) -> Result<Candidates, ToolError> {
    let whole = |path: String| Candidate { path, after_line: 0 };
    let in_line = asked.after.as_ref().zip(asked.after_line);
    let begun = in_line.map(|(path, line)| Candidate { path: path.to_string(), after_line: line });
    let is_file = matches!(files.folder(&asked.start), Err(FileError::NotAFolder(_)));
    if is_file {
        let only = begun.unwrap_or_else(|| whole(asked.start.to_string()));
        files.open_read(&asked.start).map_err(refused)?;
        return Ok(Candidates { files: vec![only], unlisted: Vec::new(), goes_on: None });
    }
    let wanted = Wanted {
        recursive: true,
        filter: asked.filter.clone(),
        hidden: true,
        ignored: asked.ignored,
        meta: false,
        entries_max: LOOKED_AT_MAX,
        paths_bytes_max: usize::MAX,
        looked_at_max: LOOKED_AT_MAX,
        after: asked.after.clone().filter(|after| !after.is_root()),
    };
    let listing = walk(files, &asked.start, &wanted, cancel)?;
    let is_file = |item: &Item| item.kind == ItemKind::File;
    let listed = listing.entries.into_iter().filter(is_file).map(|item| whole(item.path));
    let files = begun.into_iter().chain(listed).collect();
    Ok(Candidates { files, unlisted: listing.unlisted, goes_on: listing.next_after })
}

/// What came of each file of a batch.
fn look_through(
    batch: &[Candidate],
    asked: &Asked,
    files: &Root,
    rules: Option<&dyn PathRules>,
    cancel: &Cancel,
) -> Result<Vec<Searched>, ToolError> {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(THREADS_MAX);
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut reader, mut done) = (Reader::new(asked.context), Vec::new());
        while !cancel.is_cancelled() {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = batch.get(nth) else { break };
            if let Some(searched) = one(candidate, &mut reader, asked, files, rules) {
                done.push((nth, searched));
            }
        }
        done
    };
    let done: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(batch.len())).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            // The gate turns a panic into a failure of this call.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    if cancel.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    let mut all: Vec<_> = batch.iter().map(|_| Searched::Found(Found::default())).collect();
    for (nth, searched) in done {
        all[nth] = searched;
    }
    Ok(all)
}

/// Nothing if there is nothing to say of a file.
fn one(
    candidate: &Candidate,
    reader: &mut Reader,
    asked: &Asked,
    files: &Root,
    rules: Option<&dyn PathRules>,
) -> Option<Searched> {
    let looking = Looking {
        matcher: &asked.matcher,
        keeps_lines: asked.mode == Mode::Lines,
        matches_max: match asked.mode {
            Mode::Lines => asked.limit as u64,
            Mode::Files => 1,
            Mode::Counts => u64::MAX,
        },
        after_line: candidate.after_line,
        text_bytes_max: asked.text_bytes_max,
        secrets: asked.secrets.as_deref(),
    };
    let failed = |why: String| Some(Searched::Failed(why));
    let path = match files.locate(&candidate.path) {
        Ok(path) => path,
        Err(error) => return failed(error.to_string()),
    };
    // Before it is opened: whether something matched must not show in how many are left out. Of the file that the caller
    // has named the rules have been asked.
    let is_named = path == asked.start;
    if !is_named && rules.is_some_and(|rules| rules.concern(&candidate.path)) {
        return Some(Searched::Withheld);
    }
    let found = match files.open_read(&path) {
        Ok((file, meta)) => looking.through(reader, &file, meta.bytes),
        // Gone meanwhile.
        Err(FileError::NotFound(_)) => return None,
        Err(error) => return failed(error.to_string()),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return failed(error.to_string()),
    };
    let says_something = found.matches > 0 || found.is_binary;
    says_something.then_some(Searched::Found(found))
}
