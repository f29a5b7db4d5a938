//! Who finds what, what makes room, and what is left in the folder.
#![expect(clippy::disallowed_methods, reason = "the tests look at the folder")]

mod in_bucket;
mod sample_store;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicI64, Ordering};

use store::SqliteStore;
use tempfile::TempDir;

use super::*;

/// The clock; it only goes forward, and by hand.
static NOW_MS: AtomicI64 = AtomicI64::new(1_800_000_000_000);

fn now_ms() -> i64 {
    NOW_MS.load(Ordering::SeqCst)
}

const LIMITS: Limits = Limits { keep_ms: 1 << 40, caller_bytes: 1_000, total_bytes: 1_500 };

struct World {
    state: TempDir,
    artifacts: Artifacts,
}

impl World {
    fn with(limits: Limits) -> World {
        let state = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::at(state.path()));
        World { artifacts: Artifacts::new(state.path(), store, limits, now_ms), state }
    }

    fn keep(&self, caller: &str, bytes: &[u8]) -> Result<String, &'static str> {
        let mut draft = self.artifacts.draft().expect("a draft");
        draft.write(bytes).map_err(|error| error.code())?;
        let about = About { name: "stdout".into(), media_type: "text/plain".into(), tool: "make".into() };
        let id = Artifacts::new_id().expect("an id");
        let kept = self.artifacts.keep(draft, id, owner(caller), about);
        kept.map(|entry| entry.id).map_err(|error| error.code())
    }

    /// The whole of one, as its owner reads it.
    fn read(&self, caller: &str, id: &str) -> Option<Vec<u8>> {
        let reader = self.artifacts.open(&owner(caller), id).expect("readable")?;
        let mut bytes = vec![0; 4096];
        let count = reader.read_at(0, &mut bytes).expect("readable");
        bytes.truncate(count);
        Some(bytes)
    }

    /// The contents there are, with drafts.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state.path().join("artifacts")).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.retain(|name| name != "lock");
        names.sort();
        names
    }
}

fn owner(caller: &str) -> Owner {
    Owner { caller: caller.to_owned(), key: None, workspace: "/w".to_owned() }
}

#[test]
fn only_its_owner_finds_one() {
    let world = World::with(LIMITS);
    let id = world.keep("a", b"one\ntwo").expect("kept");
    assert_eq!(world.read("a", &id).as_deref(), Some(&b"one\ntwo"[..]));
    assert_eq!(world.read("b", &id), None);
    let mine = owner("a");
    for other in
        [Owner { key: Some("k1".into()), ..mine.clone() }, Owner { workspace: "/v".into(), ..mine.clone() }]
    {
        assert!(world.artifacts.open(&other, &id).expect("readable").is_none(), "{other:?}");
    }
    for wrong in ["", "x", &id[1..], &id.to_uppercase()[..], "../../../etc/passwd", &format!("{id}0")] {
        assert!(wrong == id || world.read("a", wrong).is_none(), "{wrong:?}");
    }
    let entry = world.artifacts.list().expect("readable").remove(0);
    assert_eq!((entry.bytes, entry.lines, entry.tool.as_str()), (7, 2, "make"));
    assert!(world.artifacts.open_any(&id).expect("readable").is_some(), "an operator reads any");
}

#[test]
fn files_are_named_by_content_and_private() {
    let world = World::with(LIMITS);
    world.keep("a", b"abc").expect("kept");
    world.keep("b", b"abc").expect("kept");
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(world.files(), [sha256]);
    let file = world.state.path().join("artifacts").join(sha256);
    assert_eq!(fs::metadata(file).expect("there").permissions().mode() & 0o777, 0o600);
    let folder = fs::metadata(world.state.path().join("artifacts")).expect("there");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_content_goes_with_the_last_that_names_it() {
    let world = World::with(LIMITS);
    let [first, second] = ["a", "b"].map(|caller| world.keep(caller, b"abc").expect("kept"));
    assert!(world.artifacts.remove(&first).expect("removed"));
    assert_eq!((world.files().len(), world.read("b", &second).is_some()), (1, true));
    assert!(world.artifacts.remove(&second).expect("removed"));
    assert_eq!(world.files(), [""; 0]);
    assert!(!world.artifacts.remove(&second).expect("no error"), "there is none any more");
}

#[test]
fn the_oldest_of_a_caller_make_room_and_nobody_elses() {
    let world = World::with(LIMITS);
    let first = world.keep("a", &[b'1'; 600]).expect("kept");
    let second = world.keep("a", &[b'2'; 300]).expect("kept");
    let third = world.keep("a", &[b'3'; 300]).expect("kept");
    let kept = [&first, &second, &third].map(|id| world.read("a", id).is_some());
    assert_eq!((kept, world.files().len()), ([false, true, true], 2));
    // 600 of 1500 are left for all.
    let of_b = world.keep("b", &[b'4'; 900]).expect("kept");
    assert_eq!(world.keep("c", &[b'5'; 1]), Err("artifacts_full"));
    assert_eq!(world.read("b", &of_b).map(|bytes| bytes.len()), Some(900));
    assert_eq!(world.files().len(), 3, "nothing is left of what was refused");
    assert_eq!(world.keep("b", &[b'6'; 1_001]), Err("artifact_too_large"));
}

#[test]
fn what_is_over_is_gone() {
    let world = World::with(Limits { keep_ms: 1_000, ..LIMITS });
    let id = world.keep("a", b"abc").expect("kept");
    NOW_MS.fetch_add(1_000, Ordering::SeqCst);
    assert_eq!((world.read("a", &id), world.artifacts.list().expect("readable").len()), (None, 0));
    assert_eq!(world.files().len(), 1);
    world.artifacts.sweep().expect("swept");
    assert_eq!(world.files(), [""; 0]);
}

#[test]
fn what_a_crash_has_left_is_removed() {
    let world = World::with(LIMITS);
    let id = world.keep("a", b"abc").expect("kept");
    let folder = world.state.path().join("artifacts");
    // A content whose entry was never written, a draft of yesterday, and one that is being written.
    fs::write(folder.join("0".repeat(64)), "x").expect("written");
    let old = folder.join("writing-1");
    fs::write(&old, "x").expect("written");
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(&old).expect("there").set_modified(yesterday).expect("set");
    let draft = world.artifacts.draft().expect("a draft");
    world.artifacts.sweep().expect("swept");
    assert_eq!(world.files().len(), 2, "{:?}", world.files());
    drop(draft);
    assert_eq!(world.files().len(), 1);
    assert!(world.read("a", &id).is_some());
}

#[test]
fn nothing_is_made_before_it_is_needed() {
    let world = World::with(LIMITS);
    assert_eq!(world.artifacts.list().expect("readable"), []);
    assert_eq!(world.read("a", &"0".repeat(32)), None);
    assert!(!world.artifacts.remove(&"0".repeat(32)).expect("no error"));
    world.artifacts.sweep().expect("nothing to do");
    assert_eq!(fs::read_dir(world.state.path()).expect("a folder").count(), 0);
}
