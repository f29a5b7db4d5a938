//! Attempts to escape. Each must succeed where nothing holds it, or it would prove nothing.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sandbox::confine::{
    ConfineError, Confined, Confiner, Held, Layer, Profile, Sockets, Trial, Unavailable, self_test,
    try_outside,
};
use sandbox::{Exit, Launcher};

use super::{folder, probe, run, shell, spawner};

/// As many as the suite promises.
const ATTEMPTS_MIN: usize = 60;

/// What is no way out of a network of one's own: datagrams go nowhere, and the devices told of are one's own.
const OWN_NETWORK: [&str; 2] = ["send_udp", "open_netlink"];

#[tokio::test]
async fn what_succeeds_outside_is_held_inside() {
    let outside = try_outside(&probe()).await.expect("the probe runs");
    let confiner = Confiner::new(spawner());
    // The sockets of a server, and what a project's programs do besides.
    let server = Profile { sockets: Sockets::LocalAndNetwork, ..Profile::write() };
    for (profile, is_pooled, allowed) in [
        (Profile::write(), false, &[][..]),
        (Profile::write(), true, &[][..]),
        (server, true, &OWN_NETWORK[..]),
    ] {
        if is_pooled {
            confiner.fill().await.expect("a spawner");
        }
        let inside = self_test(&confiner, &probe(), profile, &[]).await.expect("the probe runs").attempts;
        assert!(inside.len() >= ATTEMPTS_MIN);
        let mut wrong = Vec::new();
        for (outside, inside) in outside.iter().zip(&inside) {
            assert_eq!(outside.name, inside.name);
            // There some are held by what stands in for the system.
            let is_tried = !super::bwrap::is_blocked();
            if is_tried && outside.is_possible_outside && outside.held != Held::Escaped {
                wrong.push(format!("{} does not succeed outside: {:?}", outside.name, outside.held));
            }
            if inside.held != Held::Held && !allowed.contains(&inside.name) {
                wrong.push(format!("{} is not held: {:?}", inside.name, inside.held));
            }
        }
        assert!(wrong.is_empty(), "{:?}: {wrong:#?}", profile.sockets);
    }
}

/// A probe that says this, whatever it finds.
fn saying(text: &str) -> Launcher {
    Launcher { guard: "/usr/bin/printf".into(), guard_args: vec![format!("{text}\n")] }
}

#[tokio::test]
async fn what_a_probe_says_is_told_apart() {
    let all: String = self_test_names().await.iter().map(|name| format!("{name}: held\n")).collect();
    let escaped = all.replace("trace: held", "trace: escaped");
    for (said, escaped, is_whole) in [
        (&*all, vec![], true),
        (&*escaped, vec!["trace"], true),
        // It was ended in the middle.
        (&all[..all.len() / 2], vec![], false),
        ("", vec![], false),
    ] {
        let confiner = Confiner::new(spawner());
        let tested = self_test(&confiner, &saying(said), Profile::write(), &[]).await.expect("it runs");
        assert_eq!((tested.escaped(), tested.untried().is_empty()), (escaped, is_whole), "{said}");
        let process = confiner.spawner().expect("it has started");
        confiner.end();
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "nothing of the spawner is left");
    }
}

async fn self_test_names() -> Vec<&'static str> {
    let confiner = Confiner::new(spawner());
    let tested = self_test(&confiner, &saying(""), Profile::write(), &[]).await.expect("it runs");
    tested.untried()
}

/// Lets so many programs start.
#[derive(Debug)]
struct Lets {
    starts: AtomicUsize,
    started: AtomicUsize,
}

impl Trial for Lets {
    fn admit(&self) -> Pin<Box<dyn Future<Output = Result<(), Unavailable>> + Send + '_>> {
        let left = self.starts.load(Ordering::Relaxed).checked_sub(1);
        let answer = match left {
            Some(left) => {
                self.starts.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => Err(Unavailable { layer: Layer::SelfTest, why: "trace".to_owned() }),
        };
        Box::pin(async { answer })
    }

    fn started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn whoever_has_it_tried_may_keep_programs_from_starting() {
    let lets = Arc::new(Lets { starts: AtomicUsize::new(3), started: AtomicUsize::new(0) });
    let confiner = Confiner::new(spawner()).tried_by(lets.clone());
    let (_folder, workspace) = folder();
    // One that is not found has not started.
    let missing = Confined::new(Profile::shell(), "/no/such/program", &workspace);
    assert!(matches!(confiner.start(&missing).await, Err(ConfineError::NotRun { .. })));
    let touch = shell(Profile::write(), &workspace, "touch made");
    for _ in 0..2 {
        assert!(run(&confiner, &touch).await.1.exit == Exit::Code(0));
        std::fs::remove_file(workspace.join("made")).expect("it ran");
    }
    assert_eq!(lets.started.load(Ordering::Relaxed), 2);
    match confiner.start(&touch).await {
        Err(ConfineError::Unavailable(missing)) => assert_eq!(missing.layer, Layer::SelfTest),
        other => panic!("{other:?}"),
    }
    assert!(!workspace.join("made").exists());
}
