//! `Learner`: tells the redactor of secrets, in the beginning and whenever they may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use redact::{Known, Redactor};

use super::{CONFIGURATION, STORE};

/// Former secrets of one source that are still struck out: a server that was given one may have it yet. More than are
/// changed in a process's life; the latest stay.
const FORMER_MAX: usize = 256;

/// Tells the redactor of one process what is secret. What was stays secret as long as the process lives.
pub struct Learner {
    all: Arc<All>,
    /// Which configuration of the process it speaks for.
    number: u64,
}

/// What the learners of all configurations in a process have told.
struct All {
    redactor: Redactor,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    /// By their sources.
    lists: BTreeMap<&'static str, Vec<Known>>,
    /// What each configuration holds now.
    configured: BTreeMap<u64, Vec<Known>>,
    /// The last number that was given to a learner.
    given: u64,
}

impl Learner {
    /// Tells this redactor, and its clones.
    pub fn new(redactor: &Redactor) -> Learner {
        Learner { all: Arc::new(All { redactor: redactor.clone(), told: Mutex::default() }), number: 0 }
    }

    /// One for another configuration of the same process: what each holds is struck out for all.
    pub fn another(&self) -> Learner {
        let mut told = self.told();
        told.given += 1;
        Learner { all: self.all.clone(), number: told.given }
    }

    /// Whom it tells.
    pub fn redactor(&self) -> &Redactor {
        &self.all.redactor
    }

    /// These secrets are kept now.
    pub fn kept(&self, secrets: Vec<Known>) {
        self.learn(&mut self.told(), STORE, secrets);
    }

    /// The configuration holds these now, or refers to them.
    pub fn configured(&self, secrets: Vec<Known>) {
        let mut told = self.told();
        told.configured.insert(self.number, secrets);
        let now = told.configured.values().flatten().cloned().collect();
        self.learn(&mut told, CONFIGURATION, now);
    }

    fn learn(&self, told: &mut Told, source: &'static str, now: Vec<Known>) {
        let list = told.lists.entry(source).or_default();
        let mut seen = BTreeSet::new();
        // The latest first, each once; then what was.
        let mut all: Vec<Known> = now.iter().filter(|known| seen.insert(pair(known))).cloned().collect();
        all.extend(list.iter().filter(|former| !seen.contains(&pair(former))).take(FORMER_MAX).cloned());
        // To make the redactor look for the same again takes longer than to see that it does.
        if all.iter().map(pair).ne(list.iter().map(pair)) {
            list.clone_from(&all);
            self.all.redactor.know(source, all);
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.all.told.lock().expect("nothing panics while it holds the lock")
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        // What it held was a secret, and is among the former ones when the next one is told.
        self.told().configured.remove(&self.number);
    }
}

fn pair(known: &Known) -> (Arc<str>, Arc<str>) {
    (known.name.clone(), known.value.clone())
}

#[cfg(test)]
mod tests {
    use super::super::known;
    use super::*;

    fn learner() -> Learner {
        Learner::new(&Redactor::new(&redact::Config { patterns: false, ..redact::Config::default() }))
    }

    #[test]
    fn what_was_secret_stays_so() {
        let learner = learner();
        let shown = || learner.redactor().text("planted-old-1 planted-new-2 planted-own-3").into_owned();
        learner.configured(vec![known("OWN", "planted-own-3")]);
        learner.kept(vec![known("A", "planted-old-1")]);
        assert_eq!(shown(), "[REDACTED:A] planted-new-2 [REDACTED:OWN]");
        learner.kept(vec![known("A", "planted-new-2")]);
        assert_eq!(shown(), "[REDACTED:A] [REDACTED:A] [REDACTED:OWN]");
        learner.kept(Vec::new());
        assert_eq!(shown(), "[REDACTED:A] [REDACTED:A] [REDACTED:OWN]");
    }

    #[test]
    fn what_was_is_bounded_and_what_is_is_not() {
        let learner = learner();
        let numbered = |range: std::ops::Range<usize>| {
            range.map(|nth| known("A", &format!("planted-{nth:05}"))).collect()
        };
        learner.kept(numbered(0..2 * FORMER_MAX));
        learner.kept(numbered(10_000..10_000 + 2 * FORMER_MAX));
        assert_eq!(learner.told().lists[STORE].len(), 3 * FORMER_MAX);
    }

    #[test]
    fn what_any_configuration_holds_is_struck_out_for_all() {
        let learner = learner();
        let shown = || learner.redactor().text("planted-aaa-1 planted-bbb-2 planted-ccc-3").into_owned();
        let (first, second) = (learner.another(), learner.another());
        first.configured(vec![known("A", "planted-aaa-1")]);
        second.configured(vec![known("B", "planted-bbb-2")]);
        assert_eq!(shown(), "[REDACTED:A] [REDACTED:B] planted-ccc-3");
        drop(first);
        assert_eq!(shown(), "[REDACTED:A] [REDACTED:B] planted-ccc-3", "it stays among the former ones");
        // Those that are gone are bounded, those that are there are not.
        for nth in 0..2 * FORMER_MAX {
            learner.another().configured(vec![known("X", &format!("planted-{nth:05}"))]);
        }
        assert_eq!(shown(), "planted-aaa-1 [REDACTED:B] planted-ccc-3");
        assert_eq!(learner.told().configured.len(), 1);
        drop(second);
    }
}
