//! `Notes`: how the programs of a call ran and what it reached, kept beside the call so that its record has it however the
//! call ends.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use audit::Approved;
use sandbox::confine::{Layer, Limit, changed_files, protected_changed};
use sandbox::egress::{Attempt, Destination, Entry, Journal, Outcome};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tool_api::{Artifact, Ended, Sandboxed};

use crate::approvals::Wish;

/// How long a call waits until programs are gone that were left running. A kernel that takes longer has more to tell than we.
const GONE_MAX: Duration = Duration::from_secs(10);

/// Shared by the hands of a call and its record.
#[derive(Default)]
pub(crate) struct Notes {
    noted: Mutex<Noted>,
    /// The ends of programs that were left running, once there are some: most calls have none.
    ends: OnceLock<TaskTracker>,
}

#[derive(Default)]
struct Noted {
    sandboxed: Option<Sandboxed>,
    /// One for each program, and one for the tool itself.
    journals: Vec<Arc<Journal>>,
    /// What people said of hosts that no rule names.
    answers: Vec<(Destination, Approved)>,
    /// What they said of files and folders beyond what the call sees: each, and whether it was to be written.
    folders: Vec<(PathBuf, bool, Approved)>,
    /// Protected files that have changed while programs ran.
    changed: Vec<PathBuf>,
    /// Limits that ended programs, or that these reached.
    limits: Vec<&'static str>,
    /// What the call has written down.
    artifacts: Vec<Artifact>,
    /// How many places were struck out of it.
    struck: u32,
}

impl Notes {
    /// A program of this profile runs without these layers.
    pub(crate) fn ran(&self, profile: &'static str, launcher: &'static str, degraded: &[&'static str]) {
        self.with(|noted| {
            let begun = || Sandboxed { profile, launcher, degraded: Vec::new() };
            noted.sandboxed.get_or_insert_with(begun);
            noted.lacks(degraded);
        });
    }

    /// A program has ended.
    pub(crate) fn ended(&self, ended: &Ended) {
        self.with(|noted| {
            noted.lacks(&ended.degraded);
            noted.changed.extend(ended.written.iter().cloned());
            let limit = ended.limit.map(Limit::name).filter(|limit| !noted.limits.contains(limit));
            noted.limits.extend(limit);
        });
    }

    /// A program was left running: `end` ends it and notes how. It goes on whatever becomes of the call.
    pub(crate) fn ends(&self, end: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime nobody can wait, and what is dropped ends the program.
        if let Ok(runtime) = Handle::try_current() {
            self.ends.get_or_init(TaskTracker::new).spawn_on(end, &runtime);
        }
    }

    /// Whether there are such programs still.
    pub(crate) fn has_left(&self) -> bool {
        self.ends.get().is_some_and(|ends| !ends.is_empty())
    }

    /// Waits until they are gone and what they could write was looked at, and notes it if that takes too long.
    pub(crate) async fn all_gone(&self) {
        let Some(ends) = self.ends.get() else { return };
        ends.close();
        if timeout(GONE_MAX, ends.wait()).await.is_err() {
            self.with(|noted| noted.lacks(&[Layer::ProtectedPaths.name()]));
        }
    }

    /// The call reaches hosts, and they are noted here.
    pub(crate) fn reaches(&self, journal: Arc<Journal>) {
        self.with(|noted| noted.journals.push(journal));
    }

    /// A person has answered what a run wanted.
    pub(crate) fn answered(&self, wish: &Wish, approved: Approved) {
        self.with(|noted| match wish {
            Wish::Host(to) => noted.answers.push((to.clone(), approved)),
            Wish::Folder { path, writes } => noted.folders.push((path.clone(), *writes, approved)),
        });
    }

    /// The call has made an artifact.
    pub(crate) fn keeps(&self, artifact: Artifact) {
        self.with(|noted| noted.artifacts.push(artifact));
    }

    /// Places were struck out of one.
    pub(crate) fn struck(&self, count: u32) {
        self.with(|noted| noted.struck = noted.struck.saturating_add(count));
    }

    /// Its artifacts by now.
    pub(crate) fn artifacts(&self) -> Vec<Artifact> {
        self.with(|noted| noted.artifacts.clone())
    }

    /// Their ids.
    pub(crate) fn artifact_ids(&self) -> Vec<Arc<str>> {
        self.with(|noted| noted.artifacts.iter().map(|artifact| artifact.id.as_str().into()).collect())
    }

    /// How many there are.
    pub(crate) fn artifact_count(&self) -> usize {
        self.with(|noted| noted.artifacts.len())
    }

    /// How many places were struck out of them by now.
    pub(crate) fn struck_places(&self) -> u32 {
        self.with(|noted| noted.struck)
    }

    /// How programs ran, as far as it is known by now; nothing if none ran.
    pub(crate) fn sandboxed(&self) -> Option<Sandboxed> {
        self.with(|noted| noted.sandboxed.clone())
    }

    /// What was reached or refused by now, and what a person said of it, if one was asked.
    pub(crate) fn hosts(&self) -> Vec<(Entry, Option<Approved>)> {
        self.with(|noted| {
            let entries = noted.journals.iter().flat_map(|journal| journal.entries());
            let answer = |entry: &Entry| {
                let Attempt::Connect(to) = &entry.attempt else { return None };
                noted.answers.iter().find(|(about, _)| about == to).map(|(_, approved)| approved.clone())
            };
            let mut all: Vec<_> = entries.map(|entry| (answer(&entry), entry)).collect();
            // What was granted and then not there leaves no entry.
            for (to, approved) in &noted.answers {
                let attempt = Attempt::Connect(to.clone());
                if all.iter().all(|(_, entry)| entry.attempt != attempt) {
                    all.push((Some(approved.clone()), Entry::untried(attempt)));
                }
            }
            all.into_iter().map(|(answer, entry)| (entry, answer)).collect()
        })
    }

    /// What people said by now of files and folders beyond what the call sees, as records tell it, but for secrets.
    pub(crate) fn folders(&self, clean: impl Fn(&str) -> Arc<str>) -> Vec<audit::Wanted> {
        let wanted = |(path, writes, approval): &(PathBuf, bool, Approved)| audit::Wanted {
            path: clean(&path.to_string_lossy()),
            writes: *writes,
            approval: approval.clone(),
        };
        self.with(|noted| noted.folders.iter().map(wanted).collect())
    }

    /// The protected files that have changed by now, as records tell it, but for secrets; and how many there were.
    pub(crate) fn changed(&self, clean: impl Fn(&str) -> Arc<str>) -> (Vec<Arc<str>>, usize) {
        self.with(|noted| {
            let first = noted.changed.iter().take(audit::PROTECTED_MAX);
            (first.map(|path| clean(&path.to_string_lossy())).collect(), noted.changed.len())
        })
    }

    /// The limits that programs have reached by now.
    pub(crate) fn limits(&self) -> Vec<&'static str> {
        self.with(|noted| noted.limits.clone())
    }

    /// The protected files in words for the caller; nothing if there are none.
    pub(crate) fn changed_words(&self) -> Option<String> {
        protected_changed(&self.with(|noted| changed_files(&noted.changed)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Noted) -> T) -> T {
        act(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Noted {
    /// A program ran without these layers.
    fn lacks(&mut self, layers: &[&'static str]) {
        let Some(sandboxed) = &mut self.sandboxed else { return };
        for layer in layers {
            if !sandboxed.degraded.contains(layer) {
                sandboxed.degraded.push(layer);
            }
        }
    }
}

/// An entry as records tell it, of which `clean` strikes secrets out, with what a person said of it.
pub fn reached(
    entry: &Entry,
    approval: Option<Approved>,
    clean: impl Fn(&str) -> Arc<str>,
) -> audit::Reached {
    let host = match &entry.attempt {
        Attempt::Connect(to) => to.to_string(),
        Attempt::LookUp(name) => name.clone(),
        Attempt::Unreadable(text) => text.clone(),
        Attempt::Unheard => "unknown".to_owned(),
        Attempt::Datagrams => "udp".to_owned(),
        Attempt::Addresses => "addresses".to_owned(),
        Attempt::Others => "others".to_owned(),
    };
    let blocked = match entry.outcome {
        Outcome::Allowed => None,
        Outcome::Blocked(reason) => Some(reason.to_string().into()),
    };
    audit::Reached {
        host: clean(&host),
        blocked,
        approval,
        connections: entry.connections,
        sent_bytes: entry.sent_bytes,
        received_bytes: entry.received_bytes,
    }
}
