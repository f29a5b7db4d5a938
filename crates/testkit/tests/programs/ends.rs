//! Programs end with their calls, with everything that they have started.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gate::{Cancel, Listener, ProgramSettings, Progress};
use serde_json::{Value, json};
use testkit::SampleGate;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::{PATIENCE, call, owner, recorded, sample};

/// Hears what is printed.
#[derive(Default)]
struct Heard {
    text: Mutex<String>,
    came: Notify,
}

impl Listener for Heard {
    fn progress(&self, progress: Progress) {
        let Progress::Step { message: Some(message), .. } = progress else { return };
        self.text.lock().expect("nobody panics").push_str(&message);
        self.came.notify_one();
    }

    fn log(&self, _: bytes::Bytes) {}
}

impl Heard {
    async fn until(&self, word: &str) {
        let hears = async {
            while !self.text.lock().expect("nobody panics").contains(word) {
                self.came.notified().await;
            }
        };
        timeout(PATIENCE, hears).await.expect("it is printed in time");
    }
}

/// Seven processes, in sessions of their own and deaf to signals, that have `mark` in their arguments.
fn script(mark: &str) -> String {
    format!(
        "trap '' TERM HUP INT; for i in 1 2 3; do setsid sh -c 'sleep {mark}$0 & echo up $0; wait' $i & done; wait"
    )
}

/// Waits until they are all there.
async fn all_there(heard: &Heard, mark: &str) {
    for nth in ["up 1", "up 2", "up 3"] {
        heard.until(nth).await;
    }
    assert_eq!(alive(mark), 7, "they run while their output is heard");
}

/// How many processes there are with this mark.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[track_caller]
fn all_end(mark: &str) {
    let start = Instant::now();
    while alive(mark) > 0 {
        assert!(start.elapsed() < PATIENCE, "{} processes are left", alive(mark));
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn nothing_survives_a_call_that_is_cancelled() {
    let (sample, cancel, heard) =
        (sample(ProgramSettings::default()), Cancel::new(), Arc::new(Heard::default()));
    let mark = format!("9{}.", std::process::id());
    let arguments = json!({ "script": script(&mark) });
    let caller = owner();
    let (result, ()) = tokio::join!(
        call(&sample, &caller, "sh_run", &arguments, (cancel.clone(), Some(heard.clone()))),
        async {
            all_there(&heard, &mark).await;
            cancel.cancel();
        }
    );
    assert_eq!(result.expect_err("cancelled").code(), "cancelled");
    all_end(&mark);
    assert_eq!(sample.records(1), ["sh_run cancelled cancelled"]);
    assert_eq!(recorded(&sample).0, json!("write"), "the record tells of it all the same");
}

#[tokio::test]
async fn nothing_survives_a_call_whose_caller_goes_away() {
    let (sample, heard) = (sample(ProgramSettings::default()), Arc::new(Heard::default()));
    let mark = format!("8{}.", std::process::id());
    let arguments = json!({ "script": script(&mark) });
    let caller = owner();
    {
        let call = call(&sample, &caller, "sh_run", &arguments, (Cancel::new(), Some(heard.clone())));
        tokio::select! {
            result = call => panic!("{result:?}"),
            () = all_there(&heard, &mark) => {}
        }
    }
    all_end(&mark);
    assert_eq!(last_record(&sample).await["outcome"], "abandoned");
    assert_ne!(recorded(&sample).0, Value::Null);
}

/// The record of a call that is closed soon after its caller has gone.
async fn last_record(sample: &SampleGate) -> Value {
    let comes = async {
        loop {
            match sample.whole_records(1).pop() {
                Some(record) => return record,
                None => yield_now().await,
            }
        }
    };
    timeout(PATIENCE, comes).await.expect("it is closed in time")
}

/// A program that makes a file which agents obey, and goes on.
const OBEYED: &str = "echo evil > AGENTS.md; echo made; while :; do sleep 1; done";

#[tokio::test]
async fn what_a_program_has_changed_is_told_of_a_call_that_is_cancelled() {
    let (sample, cancel, heard) =
        (sample(ProgramSettings::default()), Cancel::new(), Arc::new(Heard::default()));
    let (arguments, caller) = (json!({ "script": OBEYED }), owner());
    let (result, ()) = tokio::join!(
        call(&sample, &caller, "sh_run", &arguments, (cancel.clone(), Some(heard.clone()))),
        async {
            heard.until("made").await;
            cancel.cancel();
        }
    );
    let failure = result.expect_err("cancelled");
    let told = "the call was cancelled\n[protected files have changed: AGENTS.md]";
    assert_eq!((failure.code(), failure.to_string().as_str()), ("cancelled", told));
    assert_eq!(sample.whole_records(1).remove(0)["protected_changed"], json!(["AGENTS.md"]));
}

#[tokio::test]
async fn what_a_program_has_changed_is_told_of_a_call_whose_caller_goes_away() {
    let (sample, heard) = (sample(ProgramSettings::default()), Arc::new(Heard::default()));
    let (arguments, caller) = (json!({ "script": OBEYED }), owner());
    {
        let call = call(&sample, &caller, "sh_run", &arguments, (Cancel::new(), Some(heard.clone())));
        tokio::select! {
            result = call => panic!("{result:?}"),
            () = heard.until("made") => {}
        }
    }
    let record = last_record(&sample).await;
    assert_eq!(
        (&record["outcome"], &record["protected_changed"]),
        (&json!("abandoned"), &json!(["AGENTS.md"]))
    );
}
