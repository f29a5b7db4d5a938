//! A database that is removed while another process has it open. The child that has it is this test program again.
#![expect(clippy::unwrap_used, reason = "a helper of a test stops the test")]
#![expect(clippy::disallowed_methods, reason = "these tests start a process of their own, and remove files")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, io};

use store::{CellStore as _, Kind, SqliteStore, StoreError, wait};

/// Where the child finds its orders.
const FOLDER: &str = "STORE_TEST_FOLDER";

fn read(store: &SqliteStore, key: &str) -> Result<Option<String>, StoreError> {
    let cell = wait(store.cell(Kind::Anchor, key))?;
    Ok(cell.map(|cell| String::from_utf8(cell.value).unwrap()))
}

#[test]
#[ignore = "the child's part; it does nothing without orders"]
fn the_child() {
    let Some(dir) = env::var_os(FOLDER) else { return };
    let store = SqliteStore::at(Path::new(&dir));
    // Each line that comes is a key to be looked for.
    for key in io::stdin().lines() {
        println!("\ntold: {:?}", read(&store, &key.unwrap()).map_err(|error| error.to_string()));
    }
}

#[test]
fn a_new_database_shares_nothing_with_one_that_was_removed_and_is_still_open() {
    let dir = tempfile::tempdir().unwrap();
    let keep =
        |store: &SqliteStore, key: &str, value: &str| wait(store.overwrite(Kind::Anchor, key, value.into()));
    keep(&SqliteStore::at(dir.path()), "x", "before").unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_child", "--ignored", "--nocapture"])
        .env(FOLDER, dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut asks, told) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut told =
        told.lines().map(Result::unwrap).filter_map(|line| Some(line.strip_prefix("told: ")?.to_owned()));
    let mut ask = |key: &str| {
        writeln!(asks, "{key}").unwrap();
        told.next().unwrap()
    };
    assert_eq!(ask("x"), r#"Ok(Some("before"))"#);
    // What is committed by now is in no database yet, and in the memory that processes share.
    let writes = |value: &str| {
        let store = SqliteStore::at(dir.path());
        (0..50).for_each(|nth| keep(&store, &format!("key {nth}"), &value.repeat(100)).unwrap());
        store
    };
    drop(writes("before"));
    fs::remove_file(dir.path().join("toolcrib.db")).unwrap();
    let store = writes("after");
    assert_eq!(read(&store, "x").unwrap(), None);
    assert!(ask("x").contains("was removed or replaced"));
    assert_eq!(ask("x"), "Ok(None)");
    assert!(ask("key 49").contains("after"));
    drop(asks);
    assert!(child.wait().unwrap().success());
}
