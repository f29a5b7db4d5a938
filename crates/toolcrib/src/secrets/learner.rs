//! `Learner`: tells the redactor of secrets, in the beginning and whenever they may have changed.

use std::collections::BTreeMap;
use std::sync::Mutex;

use redact::{Known, Redactor};

use super::{CONFIGURATION, STORE};

/// Former secrets of one source that are still struck out: a server that was given one may have it yet. More than are
/// changed in a process's life; the latest stay.
const FORMER_MAX: usize = 256;

/// Tells the redactor of one process what is secret. What was stays secret as long as the process lives.
pub(crate) struct Learner {
    redactor: Redactor,
    told: Mutex<BTreeMap<&'static str, Vec<Known>>>,
}

impl Learner {
    /// Tells this redactor, and its clones.
    pub(crate) fn new(redactor: &Redactor) -> Learner {
        Learner { redactor: redactor.clone(), told: Mutex::default() }
    }

    /// Whom it tells.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// These secrets are kept now.
    pub(crate) fn kept(&self, secrets: Vec<Known>) {
        self.learn(STORE, secrets);
    }

    /// The configuration holds these now, or refers to them.
    pub(crate) fn configured(&self, secrets: Vec<Known>) {
        self.learn(CONFIGURATION, secrets);
    }

    fn learn(&self, source: &'static str, now: Vec<Known>) {
        let mut told = self.told.lock().expect("nothing panics while it holds the lock");
        let list = told.entry(source).or_default();
        let is_now =
            |former: &Known| now.iter().any(|known| known.value == former.value && known.name == former.name);
        let mut all = now.clone();
        all.extend(list.iter().filter(|former| !is_now(former)).take(FORMER_MAX).cloned());
        list.clone_from(&all);
        self.redactor.know(source, all);
    }
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
        let told = learner.told.lock().expect("no panic");
        assert_eq!(told[STORE].len(), 3 * FORMER_MAX);
    }
}
