//! Processes that come one after the other and share a store: when the sandbox is tried, and what follows from it.

use std::sync::atomic::AtomicUsize;

use sandbox::confine::{Attempted, Held, MemoryKeeper};
use serde_json::Value;
use store::{CellStore as _, Kind, SqliteStore};
use tokio::sync::Notify;

use super::*;

/// What comes of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All is held.
    Good,
    /// One attempt succeeds, and another was not made.
    Escape,
    /// One was not made.
    Partial,
    /// The probe cannot be run.
    Impossible,
}

/// A state folder.
struct Scene {
    folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
}

/// A process that serves from it.
struct Process {
    self_test: SelfTest,
    /// How many tests it has made.
    tests: Arc<AtomicUsize>,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::at(folder.path()));
        Scene { folder, store }
    }

    fn process(&self, outcome: Outcome, waived: &[Layer]) -> Process {
        self.waiting_process(outcome, waived, None)
    }

    /// One whose test ends when it is told so.
    fn waiting_process(&self, outcome: Outcome, waived: &[Layer], end: Option<Arc<Notify>>) -> Process {
        let tests = Arc::new(AtomicUsize::new(0));
        let made = tests.clone();
        let attempt: Try = Box::new(move || {
            made.fetch_add(1, Ordering::Relaxed);
            let end = end.clone();
            Box::pin(async move {
                if let Some(end) = end {
                    end.notified().await;
                }
                tested(outcome)
            })
        });
        let audit_log = Arc::new(AuditLog::at(self.folder.path(), now_ms));
        let pause = Duration::ZERO;
        let self_test = SelfTest::with(self.store.clone(), audit_log, waived.to_vec(), attempt, pause);
        Process { self_test, tests }
    }

    /// The outcomes that are noted in the audit log.
    fn noted(&self) -> Vec<Value> {
        let lines = audit::tail(self.folder.path(), 100).expect("an audit log");
        let events = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        events.filter(|event| event["event"] == "sandbox_self_test").collect()
    }

    async fn remembered(&self) -> Option<Remembered> {
        recall(&*self.store).await.expect("a store")
    }
}

impl Process {
    /// Two programs are to start, one after the other, each as soon as all tests are made. How it went, and how many tests
    /// there were.
    async fn two_programs(&self) -> ([bool; 2], usize) {
        let mut starts = [false; 2];
        for is_started in &mut starts {
            *is_started = self.self_test.admit().await.is_ok();
            if *is_started {
                self.self_test.started();
            }
            self.self_test.made().await;
        }
        self.self_test.0.audit_log.flush().expect("a disk");
        (starts, self.tests.load(Ordering::Relaxed))
    }
}

fn tested(outcome: Outcome) -> Result<Tested, ConfineError> {
    let attempt = |name, held| Attempted { name, held, is_possible_outside: true };
    let second = match outcome {
        Outcome::Good => vec![attempt("trace", Held::Held)],
        Outcome::Escape => vec![attempt("trace", Held::Escaped), attempt("open_raw", Held::NotTried)],
        Outcome::Partial => vec![attempt("trace", Held::NotTried)],
        Outcome::Impossible => {
            return Err(Unavailable { layer: Layer::Root, why: "no".to_owned() }.into());
        }
    };
    let attempts = [vec![attempt("read_outside", Held::Held)], second].concat();
    Ok(Tested { attempts, without: vec![Layer::Landlock], memory: MemoryKeeper::Watchdog })
}

/// What comes of a process's tests, which of its two programs start, how many tests it makes, and what is remembered then.
type Row<'r> = (Outcome, [bool; 2], usize, Option<&'r [&'r str]>);

/// Processes that come one after the other.
async fn check(processes: &[Row<'_>]) {
    let scene = Scene::new();
    for (nth, (outcome, starts, tests, escaped)) in processes.iter().enumerate() {
        let process = scene.process(*outcome, &[Layer::Landlock]);
        assert_eq!(process.two_programs().await, (*starts, *tests), "{nth} of {processes:?}");
        let found = scene.remembered().await.map(|test| test.escaped);
        let expected = escaped.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(found, expected, "{nth} of {processes:?}");
        process.self_test.end().await;
    }
}

#[tokio::test]
async fn what_was_held_is_not_tried_again() {
    use Outcome::{Escape, Good};
    let none: &[&str] = &[];
    check(&[(Good, [true; 2], 1, Some(none)), (Escape, [true; 2], 0, Some(none))]).await;
}

#[tokio::test]
async fn an_escape_stops_what_starts_later_until_it_is_held() {
    use Outcome::{Escape, Good, Impossible, Partial};
    let (none, trace): (&[&str], &[&str]) = (&[], &["trace"]);
    check(&[
        (Escape, [true, false], 1, Some(trace)),
        (Escape, [false; 2], 1, Some(trace)),
        // What cannot be tried again is not believed to hold.
        (Impossible, [false; 2], 1, Some(trace)),
        (Partial, [false; 2], 1, Some(trace)),
        (Good, [true; 2], 1, Some(none)),
        (Good, [true; 2], 0, Some(none)),
    ])
    .await;
}

#[tokio::test]
async fn a_test_that_could_not_be_made_is_not_remembered() {
    use Outcome::{Good, Impossible, Partial};
    let none: &[&str] = &[];
    check(&[
        (Impossible, [true; 2], 1, None),
        (Partial, [true; 2], 1, None),
        (Good, [true; 2], 1, Some(none)),
    ])
    .await;
}

#[tokio::test]
async fn whoever_is_refused_hears_what_got_out_and_what_to_do() {
    let scene = Scene::new();
    let process = scene.process(Outcome::Escape, &[]);
    process.two_programs().await;
    let refused = process.self_test.admit().await.expect_err("nothing starts");
    assert_eq!(refused.layer, Layer::SelfTest);
    let said = refused.to_string();
    for part in ["a program got out by trace", "toolcrib doctor", "start Toolcrib anew"] {
        assert!(said.contains(part), "{said}");
    }
}

#[tokio::test]
async fn it_is_noted_once_with_each_layer() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.process(Outcome::Good, &[Layer::Landlock]).two_programs().await;
    }
    let [event] = &scene.noted()[..] else { panic!("{:?}", scene.noted()) };
    let layers = &event["layers"];
    assert_eq!((&event["attempts"], &event["escaped"]), (&2.into(), &Value::Array(Vec::new())));
    let named = |how: &str| layers[how].as_array().cloned().unwrap_or_default();
    assert_eq!((named("waived"), named("degraded")), (vec!["landlock".into()], vec![Value::from("memory")]));
    assert!(named("ok").contains(&"seccomp".into()) && !named("ok").contains(&"landlock".into()), "{layers}");
}

#[tokio::test]
async fn another_boot_build_user_kernel_or_waiver_is_tried_anew() {
    type Change = fn(&mut HoldsFor);
    let changes: [(&str, Change, usize); 6] = [
        ("nothing", |_| {}, 0),
        ("boot", |at| at.circumstances.boot.push('x'), 1),
        ("kernel", |at| at.circumstances.kernel.push('x'), 1),
        ("user", |at| at.circumstances.user += 1, 1),
        ("build", |at| at.build.push('x'), 1),
        ("waiver", |at| at.waived.push("landlock".to_owned()), 1),
    ];
    for (what, change, tests) in changes {
        let scene = Scene::new();
        scene.process(Outcome::Good, &[]).two_programs().await;
        let mut test = scene.remembered().await.expect("it was made");
        change(&mut test.at);
        remember(&*scene.store, &test).await.expect("a store");
        assert_eq!(scene.process(Outcome::Good, &[]).two_programs().await, ([true; 2], tests), "{what}");
    }
}

#[tokio::test]
async fn of_two_processes_one_tries() {
    let (scene, end) = (Scene::new(), Arc::new(Notify::new()));
    let first = scene.waiting_process(Outcome::Good, &[], Some(end.clone()));
    let second = scene.process(Outcome::Good, &[]);
    let looking = async {
        while first.tests.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let found = second.self_test.0.found("second", None).await.expect("a store");
        end.notify_one();
        found
    };
    let first_found = first.self_test.0.found("first", None);
    let (first_found, second_found) = tokio::join!(first_found, looking);
    assert_eq!((first_found.expect("a store"), second_found), (Some(true), None));
    assert_eq!(second.self_test.0.found("second", None).await.expect("a store"), Some(true));
    assert_eq!(second.tests.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_test_under_way_ends_with_the_process() {
    let scene = Scene::new();
    let process = scene.waiting_process(Outcome::Good, &[], Some(Arc::default()));
    process.self_test.admit().await.expect("nothing is known");
    process.self_test.started();
    process.self_test.end().await;
    assert_eq!(scene.remembered().await, None);
    // It may be that it had not begun.
    assert!(process.tests.load(Ordering::Relaxed) <= 1);
}

#[tokio::test]
async fn a_cell_that_means_nothing_is_nothing() {
    let scene = Scene::new();
    scene.store.overwrite(Kind::SelfTest, "last", b"{}".to_vec()).await.expect("a store");
    assert_eq!(scene.process(Outcome::Good, &[]).two_programs().await, ([true; 2], 1));
}
