//! Workspaces over a real state folder, without fronts.
#![expect(clippy::disallowed_methods, reason = "the tests write configurations")]

use std::path::Path;
use std::sync::{Arc, Weak};

use config::{Flags, Surroundings};
use tokio::runtime::Handle;
use tokio::time::{Duration, advance};

use super::entering::{Entered, Resident};
use super::words::{Place, ToFront};
use super::workspaces::{IDLE_MAX, WORKSPACES_MAX};
use crate::control::Folder;
use crate::upstreams::Start;

/// As many as a process may see in a long life.
const MANY: usize = 1_000;

/// By then it has nearly all that it keeps.
const SOME: usize = 200;

/// What it may grow by from some to many, in bytes. The allocator takes a third to a half of it before it has what it needs,
/// and no more later; two kilobytes for each of them would be seen.
const GROWTH_BYTES_MAX: usize = 1024 * 1024;

struct Home(tempfile::TempDir);

impl Home {
    /// A home with a configuration in it.
    fn new(text: &str) -> Home {
        let home = Home(tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(home.0.path().join(".config/toolcrib")).expect("a folder");
        home.write(text);
        home
    }

    fn write(&self, text: &str) {
        std::fs::write(self.0.path().join(".config/toolcrib/toolcrib.toml"), text).expect("a file");
    }

    fn resident(&self) -> Resident {
        let state = self.0.path().join(".local/share/toolcrib");
        let folder = Folder::make(&state).expect("made");
        Resident::new(state, folder, |_| Box::new(|_| None))
    }

    /// A folder in it, as a client there has it.
    fn place(&self, name: &str, variables: &[(&str, &str)]) -> Place {
        let folder = self.0.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let home = ("HOME".into(), self.0.path().into());
        let given = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let variables = given.chain([home]).collect();
        let surroundings = Surroundings::new(folder, Default::default(), Flags::default());
        Place::of(&surroundings, None, variables, String::new())
    }
}

/// The bytes that this process has resident, and how many descriptors it has open.
fn held() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system tells");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    let kilobytes: usize = resident.and_then(|number| number.trim().parse().ok()).expect("a number");
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("the system tells").count();
    (kilobytes * 1024, descriptors)
}

async fn enter(resident: &Resident, place: &Place) -> Result<Entered, ToFront> {
    let loaded = resident.read(place).await?;
    resident.enter(place.clone(), loaded, "stdio", Start::WhenWanted).await
}

#[tokio::test]
async fn a_place_has_one_workspace_and_another_environment_another() {
    let home = Home::new("");
    let resident = home.resident();
    let mut numbers = Vec::new();
    let mut all = Vec::new();
    for (name, variables) in
        [("a", &[][..]), ("a", &[]), ("b", &[]), ("a", &[("LANG", "x")]), ("a", &[("LANG", "y")]), ("b", &[])]
    {
        let entered = enter(&resident, &home.place(name, variables)).await;
        let entered = entered.unwrap_or_else(|why| panic!("{why:?}"));
        numbers.push(entered.workspace.number);
        all.push(entered);
    }
    assert_eq!(numbers, [1, 1, 2, 3, 4, 2]);
    let doors: Vec<String> = resident.workspaces.seats().into_iter().map(|seat| seat.door).collect();
    assert_eq!(doors, ["stdio"; 4]);
    drop(all);
    resident.close().await;
}

#[tokio::test]
async fn a_full_process_lets_clients_of_its_workspaces_in_and_nobody_else() {
    let home = Home::new("");
    let resident = home.resident();
    let place = |nth: usize| home.place("a", &[("LANG", &nth.to_string())]);
    let mut all = Vec::new();
    for nth in 0..WORKSPACES_MAX {
        all.push(enter(&resident, &place(nth)).await.unwrap_or_else(|why| panic!("{why:?}")));
    }
    let one_more = enter(&resident, &place(WORKSPACES_MAX)).await;
    assert!(matches!(one_more, Err(ToFront::Unable(_))), "it is full");
    let again = enter(&resident, &place(0)).await.unwrap_or_else(|why| panic!("{why:?}"));
    assert_eq!(again.workspace.number, all[0].workspace.number);
    drop(all.pop());
    let in_its_place = enter(&resident, &place(WORKSPACES_MAX)).await;
    assert!(in_its_place.is_ok(), "the idle one makes room");
    assert_eq!(resident.workspaces.seats().len(), WORKSPACES_MAX);
    resident.close().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_and_leaves_the_others_alone() {
    let home = Home::new("[policy]\nallow = [\"*\"]\n");
    let resident = home.resident();
    let there = enter(&resident, &home.place("a", &[])).await.unwrap_or_else(|why| panic!("{why:?}"));
    home.write("[policy]\nalow = []\n");
    let Err(ToFront::Refused(why, code)) = enter(&resident, &home.place("b", &[])).await else {
        panic!("a mistake is no configuration")
    };
    assert!(why.contains("alow") && code == 2, "{why} {code}");
    home.write("[limits.rate]\nper_second = 0\n");
    let before = Arc::as_ptr(&there.workspace.reloader);
    let again = enter(&resident, &home.place("a", &[])).await.unwrap_or_else(|why| panic!("{why:?}"));
    assert_eq!(Arc::as_ptr(&again.workspace.reloader), before, "it was read again");
    let loaded = resident.read(&home.place("a", &[])).await.unwrap_or_else(|why| panic!("{why:?}"));
    assert!(again.workspace.reloader.reads_as(&loaded), "what it says now is in force");
    resident.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_nobody_needs_is_dropped_and_leaves_nothing() {
    let home = Home::new("[mcp.none]\ncommand = \"no-such-program\"\n");
    let resident = home.resident();
    let stays = enter(&resident, &home.place("stays", &[])).await.unwrap_or_else(|why| panic!("{why:?}"));
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut held_after_some = None;
    for nth in 0..MANY {
        if nth == SOME {
            held_after_some = Some(held());
        }
        let entered = enter(&resident, &home.place("a", &[("LANG", &nth.to_string())])).await;
        let entered = entered.unwrap_or_else(|why| panic!("{why:?}"));
        let gate: Weak<_> = Arc::downgrade(&entered.workspace.reloader.crib().gate);
        advance(IDLE_MAX).await;
        assert_eq!(resident.workspaces.take_idle().0.len(), 0, "it is in use");
        drop(entered);
        advance(IDLE_MAX - Duration::from_millis(1)).await;
        let (idle, next) = resident.workspaces.take_idle();
        assert!(idle.is_empty() && next.is_some(), "it was needed a moment ago");
        advance(Duration::from_millis(1)).await;
        for one in resident.workspaces.take_idle().0 {
            one.close().await;
        }
        assert!(gate.upgrade().is_none(), "something holds round {nth}");
    }
    // What was aborted goes when it is looked at; the first workspace's own tasks come and go meanwhile.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let left = Handle::current().metrics().num_alive_tasks();
    assert!(left <= tasks + 2, "{left} tasks, of {tasks} at first");
    let ((bytes, files), Some((bytes_before, files_before))) = (held(), held_after_some) else {
        panic!("some")
    };
    assert!(bytes <= bytes_before + GROWTH_BYTES_MAX, "{bytes} bytes, of {bytes_before} after {SOME}");
    assert!(files <= files_before, "{files} descriptors, of {files_before} after {SOME}");
    assert_eq!(resident.workspaces.seats().len(), 1);
    drop(stays);
    resident.close().await;
    assert!(resident.workspaces.is_empty());
}

#[test]
fn a_folder_that_others_may_enter_is_no_place_for_a_socket() {
    let home = Home::new("");
    drop(home.resident());
    let run = home.0.path().join(".local/share/toolcrib/run");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&run, open).expect("ours");
    assert!(Folder::make(run.parent().unwrap_or(Path::new("/"))).is_err());
}
