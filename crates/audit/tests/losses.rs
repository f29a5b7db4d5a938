//! An audit log that lost records: it says so itself, and goes on saying it until somebody acknowledges it.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests damage what the audit log wrote")]

#[path = "samples/record.rs"]
mod samples;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use audit::{
    AuditLog, Config, FILE, KEY_FILE, Loss, PublicKey, Trust, Verified, noted_head, noted_loss, verify,
};
use redact::Redactor;
use samples::{fixed, record};

/// A state folder and what is done to it.
struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn audit_log(&self) -> AuditLog {
        let redactor = Redactor::new(&redact::Config::default());
        AuditLog::with(self.path(), fixed, Config::default(), redactor)
    }

    /// A process that answers these many calls and ends in peace, or is killed.
    fn calls(&self, calls: usize, is_killed: bool) {
        let audit_log = self.audit_log();
        for _ in 0..calls {
            audit_log.ready().unwrap();
            audit_log.close(record("c"), None, None);
        }
        audit_log.flush().unwrap();
        if !is_killed {
            audit_log.sign_end().unwrap();
        }
    }

    /// What `audit verify` says.
    fn verdict(&self) -> Result<Verified, String> {
        let keys: Vec<PublicKey> = PublicKey::of_folder(self.path()).unwrap().into_iter().collect();
        let noted = noted_head(self.path(), &keys).unwrap();
        let loss = noted_loss(self.path(), &keys).unwrap();
        verify(self.path(), &Trust { noted, keys, must_be_signed: false, loss, from: None })
            .map_err(|error| error.to_string())
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path().join(FILE)).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn keep_lines(&self, count: usize) {
        fs::write(self.path().join(FILE), self.lines()[..count].concat()).unwrap();
    }

    fn acknowledge(&self) -> Vec<Loss> {
        self.audit_log().acknowledge(Some("restored from a backup")).unwrap()
    }
}

fn cut_end(scene: &Scene) {
    scene.keep_lines(36);
}

fn delete(scene: &Scene) {
    fs::remove_file(scene.path().join(FILE)).unwrap();
}

/// As by a program that does not look: the chain goes on from a shorter end, and grew beyond what was noted.
fn write_anew(scene: &Scene) {
    scene.keep_lines(36);
    let noted = fs::read(scene.path().join("audit.head")).unwrap();
    fs::remove_file(scene.path().join("audit.head")).unwrap();
    let audit_log = AuditLog::at(scene.path(), fixed);
    for _ in 0..20 {
        audit_log.ready().unwrap();
        audit_log.close(record("c"), None, None);
    }
    audit_log.flush().unwrap();
    drop(audit_log);
    fs::write(scene.path().join("audit.head"), noted).unwrap();
}

#[track_caller]
fn check(damage: fn(&Scene), before: &str, after: &str) {
    for calls_after in [1, 100] {
        let scene = Scene::new();
        scene.calls(40, false);
        assert_eq!(scene.verdict().unwrap().losses, []);
        damage(&scene);
        assert_eq!(scene.verdict().unwrap_err(), before);
        // Whatever comes after it.
        for is_killed in [true, false, false] {
            scene.calls(calls_after, is_killed);
            assert_eq!(scene.verdict().unwrap_err(), after, "{calls_after}");
        }
        let lost = scene.lines().iter().filter(|line| line.contains("\"why\":\"lost\"")).count();
        assert_eq!(lost, 1, "it is written down once");
        let [loss] = &scene.acknowledge()[..] else { panic!("one loss") };
        assert_eq!((loss.kept, loss.acknowledged), (41, None));
        for _ in 0..2 {
            let losses = scene.verdict().unwrap().losses;
            let [told] = &losses[..] else { panic!("{losses:?}") };
            assert_eq!((told.seq, told.kept), (loss.seq, 41));
            assert!(told.acknowledged.is_some_and(|line| line > loss.seq));
            assert_eq!(told.because.as_deref(), Some("restored from a backup"));
            scene.calls(3, false);
        }
        let lines = scene.lines().len();
        assert_eq!(scene.acknowledge(), [], "nothing is left");
        assert_eq!(scene.lines().len(), lines);
    }
}

#[test]
fn an_end_that_was_cut_off_stays_told_until_somebody_acknowledges_it() {
    check(
        cut_end,
        "line 37 of audit.jsonl, record 37: the end of the audit log is missing: record 41 was kept",
        "line 37 of audit.jsonl, record 37: the end after record 36 was lost: the audit log went up to record 41 at least; \
         `toolcrib audit acknowledge` signs that you know",
    );
}

#[test]
fn a_book_that_was_deleted_stays_told() {
    check(
        delete,
        "line 1 of audit.jsonl, record 1: the end of the audit log is missing: record 41 was kept",
        "line 1 of audit.jsonl, record 1: the whole audit log before this one was lost: it went up to record 41 at least; \
         `toolcrib audit acknowledge` signs that you know",
    );
}

#[test]
fn an_end_that_was_written_anew_stays_told() {
    check(
        write_anew,
        "line 41 of audit.jsonl, record 41: it is another record than the one that was kept: the audit log was written anew",
        "line 57 of audit.jsonl, record 57: record 41 is not the one that was kept: the audit log was written anew before \
         record 57; `toolcrib audit acknowledge` signs that you know",
    );
}

#[test]
fn the_head_in_the_file_alone_is_enough() {
    let scene = Scene::new();
    scene.calls(40, true);
    cut_end(&scene);
    scene.calls(9, true);
    assert!(scene.verdict().unwrap_err().contains("the end after record 36 was lost"));
    assert_eq!(scene.acknowledge().len(), 1);
    scene.verdict().unwrap();
}

#[test]
fn heads_that_lag_behind_and_books_without_heads_are_no_loss() {
    let scene = Scene::new();
    scene.calls(5, false);
    let early = fs::read(scene.path().join("audit.head")).unwrap();
    // Far more than is looked at first.
    scene.calls(3_000, true);
    fs::write(scene.path().join("audit.head"), early).unwrap();
    scene.calls(1, false);
    assert_eq!(scene.verdict().unwrap().losses, []);
    assert!(!scene.lines().iter().any(|line| line.contains("\"why\":\"lost\"")));

    let old = Scene::new();
    fs::copy(scene.path().join(FILE), old.path().join(FILE)).unwrap();
    old.calls(1, false);
    assert!(!old.lines().iter().any(|line| line.contains("\"why\":\"lost\"")));
}

#[test]
fn of_many_who_find_a_loss_at_once_one_writes_it_down() {
    let scene = Scene::new();
    scene.calls(40, false);
    cut_end(&scene);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| scene.calls(20, true));
        }
    });
    let lost = scene.lines().iter().filter(|line| line.contains("\"why\":\"lost\"")).count();
    assert_eq!(lost, 1);
    assert!(scene.verdict().unwrap_err().contains("the end after record 36 was lost"));
}

#[test]
fn the_line_that_tells_of_a_loss_cannot_be_cut_off_unseen() {
    let scene = Scene::new();
    scene.calls(40, false);
    cut_end(&scene);
    scene.calls(1, false);
    scene.keep_lines(36);
    assert!(scene.verdict().is_err());
    scene.calls(1, false);
    assert!(scene.verdict().unwrap_err().contains("was lost"));
}

#[test]
fn a_loss_whose_line_was_removed_as_too_old_is_still_one() {
    let before = Scene::new();
    before.calls(40, false);
    cut_end(&before);
    before.calls(1, false);
    let noted = fs::read(before.path().join("audit.head")).unwrap();
    // Another audit log under the same key, which never had that line, with what was noted of the loss.
    let scene = Scene::new();
    fs::copy(before.path().join(KEY_FILE), scene.path().join(KEY_FILE)).unwrap();
    scene.calls(60, false);
    let note = || {
        let head = fs::File::options().write(true).open(scene.path().join("audit.head")).unwrap();
        head.write_all_at(&noted[512..], 512).unwrap();
    };
    note();
    assert!(scene.verdict().unwrap_err().contains("the end after record 36 was lost"));
    let [loss] = &scene.acknowledge()[..] else { panic!("one loss") };
    assert_eq!((loss.seq, loss.kept), (37, 41));
    scene.verdict().unwrap();
    // What is noted did not learn of it: the chain did.
    note();
    scene.verdict().unwrap();
    assert_eq!(scene.acknowledge(), []);
}

#[test]
fn what_cannot_be_read_refuses_no_call() {
    let scene = Scene::new();
    scene.calls(5, false);
    let head = scene.path().join("audit.head");
    fs::remove_file(&head).unwrap();
    fs::create_dir(&head).unwrap();
    scene.calls(5, true);
    assert_eq!(scene.lines().len(), 11);
}
