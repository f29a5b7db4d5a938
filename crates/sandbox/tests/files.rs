//! A root against what a path may try, and a write against what may go wrong.

#![expect(clippy::disallowed_methods, reason = "prepares and inspects folders from outside the sandbox")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, RenameFlags, renameat_with};
use sandbox::{
    Access, Entry, Expect, FileError, Inside, Kind, Meta, ProtectedPaths, Root, ServerFiles, Writable,
};
use tempfile::TempDir;

/// SHA-256 of `old`.
const SHA256_OF_OLD: &str = "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4";

/// A folder `root` beside a folder `outside` with a file, and every kind of way from one to the other.
fn playground() -> (TempDir, Root) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    for name in ["root/sub", "outside", "root-evil"] {
        fs::create_dir_all(folder.path().join(name)).expect("a folder");
    }
    for name in ["root/notes.md", "root/sub/deep.md", "outside/secret", "root-evil/secret"] {
        fs::write(folder.path().join(name), "old").expect("a file");
    }
    let absolute = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for (link, target) in [
        ("to-file", "../outside/secret"),
        ("to-nothing", "../outside/nothing"),
        ("to-folder", "../outside"),
        ("to-no-folder", "../nowhere"),
        ("absolute-file", &absolute("outside/secret")),
        ("absolute-nothing", &absolute("outside/nothing")),
        ("absolute-folder", &absolute("outside")),
        ("absolute-inside", &absolute("root/notes.md")),
        ("proc", concat!("/proc/self/", "root/etc/passwd")),
        ("hop", "to-file"),
        ("hop-nothing", "sub/../to-nothing"),
        ("circle", "circle"),
        ("good", "sub/deep.md"),
        ("good-folder", "sub"),
        ("good-new", "sub/new.md"),
        ("sub/up", "../notes.md"),
        ("dangling-folder", "no/such/folder"),
    ] {
        symlink(target, root.join(link)).expect("a link");
    }
    rustix::fs::mkfifoat(CWD, root.join("fifo"), Mode::from_raw_mode(0o644)).expect("a fifo");
    let root = Root::open(&root, Access::ReadWrite).expect("a root");
    (folder, root)
}

fn read(root: &Root, path: &str) -> String {
    let part = root.locate(path).and_then(|path| root.read(&path, 0, 1000));
    part.map_or_else(|error| error.to_string(), |part| String::from_utf8(part.bytes).expect("text"))
}

fn write(root: &Root, path: &str, expect: &Expect) -> String {
    let written = root.locate(path).and_then(|path| root.write(&path, b"new", expect));
    written.map_or_else(|error| error.to_string(), |written| format!("created: {}", written.created))
}

fn list(root: &Root, path: &str) -> String {
    let entries = root.locate(path).and_then(|path| root.folder(&path)?.entries());
    entries.map_or_else(
        |error| error.to_string(),
        |entries| entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(" "),
    )
}

/// Everything below `folder` but links: path, mode and content.
fn snapshot(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let kind = entry.file_type().expect("a kind");
        let mode = entry.metadata().expect("metadata").permissions().mode();
        let content = if kind.is_file() { fs::read(entry.path()).expect("readable") } else { Vec::new() };
        if kind.is_dir() {
            found.extend(snapshot(&entry.path()));
        }
        found.push((entry.path().to_str().expect("UTF-8").to_owned(), mode, content));
    }
    found.sort();
    found
}

#[test]
fn no_path_leads_out() {
    let (folder, root) = playground();
    let before = snapshot(folder.path());
    let real = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for path in [
        "../outside/secret",
        "../outside/nothing",
        "a/../../x",
        "sub/../../outside/secret",
        "/etc/passwd",
        "/etc/no-such-file",
        "/workspace/../etc/passwd",
        "/workspace-evil/secret",
        &real("outside/secret"),
        &real("outside/nothing"),
        &real("root-evil/secret"),
        &real("root/../outside/secret"),
        "to-file",
        "to-nothing",
        "to-folder/secret",
        "to-folder/nothing",
        "to-no-folder/x",
        "absolute-file",
        "absolute-nothing",
        "absolute-folder/secret",
        "absolute-folder/nothing",
        "absolute-inside",
        "proc",
        "hop",
        "hop-nothing",
        "circle",
        "good-folder/../../x",
    ] {
        let refusal = FileError::Outside.to_string();
        assert_eq!(read(&root, path), refusal, "reading {path:?}");
        assert_eq!(list(&root, path), refusal, "listing {path:?}");
        for expect in [Expect::Anything, Expect::Absent, Expect::Sha256("0".repeat(64))] {
            assert_eq!(write(&root, path, &expect), refusal, "writing {path:?}");
        }
    }
    assert_eq!(snapshot(folder.path()), before, "nothing may have changed");
}

#[test]
fn one_file_is_reached_by_every_spelling() {
    let (folder, root) = playground();
    let real = folder.path().join("root/sub/deep.md").canonicalize().expect("a file");
    let spelled = folder.path().join("root/sub/deep.md");
    for path in [
        "sub/deep.md",
        "/workspace/sub/deep.md",
        "./sub//deep.md",
        real.to_str().expect("UTF-8"),
        spelled.to_str().expect("UTF-8"),
        "good",
        "good-folder/deep.md",
        "sub/up",
    ] {
        assert_eq!(read(&root, path), "old", "{path}");
    }
    // A root opened through a link is known by that name too.
    let alias = folder.path().join("alias");
    symlink("root", &alias).expect("a link");
    let root = Root::open(&alias, Access::Read).expect("a root");
    assert_eq!(read(&root, alias.join("notes.md").to_str().expect("UTF-8")), "old");
}

#[test]
fn other_refusals_name_the_path_and_nothing_of_the_host() {
    let (folder, root) = playground();
    for (path, expected) in [
        ("none.md", "none.md does not exist"),
        ("none/x", "none/x does not exist"),
        ("/workspace/sub/none", "sub/none does not exist"),
        ("sub", "sub is not a file but a folder"),
        ("", "this is the workspace itself, which is a folder; name a file in it"),
        ("fifo", "fifo is not a file but a named pipe"),
        ("notes.md/x", "notes.md/x is not a folder, or leads through something that is not one"),
    ] {
        assert_eq!(read(&root, path), expected);
        assert!(!expected.contains(folder.path().to_str().expect("UTF-8")));
    }
    for (path, expected) in [
        ("sub", "sub is not a file but a folder"),
        ("good-folder", "good-folder is not a file but a folder"),
        (".", "this is the workspace itself, which is a folder; name a file in it"),
        ("fifo", "fifo is not a file but a named pipe"),
        ("notes.md/x", "notes.md/x is not a folder, or leads through something that is not one"),
        ("dangling-folder/x", "dangling-folder/x does not exist"),
    ] {
        assert_eq!(write(&root, path, &Expect::Anything), expected);
    }
    assert_eq!(
        list(&root, "notes.md"),
        "notes.md is not a folder, or leads through something that is not one"
    );
    let socket = std::os::unix::net::UnixListener::bind(folder.path().join("root/socket")).expect("a socket");
    assert_eq!(read(&root, "socket"), "socket is not a file but a socket");
    drop(socket);
    std::os::unix::fs::symlink("x".repeat(256), folder.path().join("root/long")).expect("a link");
    assert_eq!(read(&root, "long"), "a name in the path is larger than 255 bytes");
    // As long as nothing of it is written, it takes no room.
    let large = fs::File::create(folder.path().join("root/large")).expect("a file");
    large.set_len((64 << 20) + 1).expect("its length");
    assert_eq!(
        write(&root, "large", &Expect::Sha256(SHA256_OF_OLD.to_owned())),
        "the present file, which must be looked at first, is larger than 67108864 bytes"
    );
}

#[test]
fn a_part_of_a_file() {
    let (_folder, root) = playground();
    let path = root.locate("notes.md").expect("inside");
    for (offset, bytes_max, expected) in [
        (0, 3, "old"),
        (0, 100, "old"),
        (1, 1, "l"),
        (2, 100, "d"),
        (3, 9, ""),
        (u64::MAX, 9, ""),
        (0, 0, ""),
    ] {
        let part = root.read(&path, offset, bytes_max).expect("readable");
        assert_eq!((part.bytes, part.total_bytes), (expected.into(), 3), "{offset}, {bytes_max}");
        assert!(part.modified.elapsed().expect("in the past") < Duration::from_secs(600));
    }
    let (mut file, meta) = root.open_read(&path).expect("readable");
    assert_eq!((std::io::read_to_string(&mut file).expect("text").as_str(), meta.bytes), ("old", 3));
}

#[test]
fn a_narrowed_root_never_writes() {
    let (folder, root) = playground();
    let before = snapshot(folder.path());
    let narrow = root.narrowed(Access::Read);
    for root in [narrow.clone(), narrow.narrowed(Access::ReadWrite)] {
        assert_eq!(read(&root, "notes.md"), "old");
        for path in ["notes.md", "new/file.md", "sub", "to-file"] {
            assert_eq!(write(&root, path, &Expect::Anything), "the workspace is open for reading only");
        }
    }
    assert_eq!(snapshot(folder.path()), before);
}

#[test]
fn writes_and_creates() {
    let (folder, root) = playground();
    for (path, place, expected) in [
        ("notes.md", "notes.md", "created: false"),
        ("new.md", "new.md", "created: true"),
        ("a/b/c/new.md", "a/b/c/new.md", "created: true"),
        ("good-folder/x/new.md", "sub/x/new.md", "created: true"),
        ("good", "sub/deep.md", "created: false"),
        ("good-new", "sub/new.md", "created: true"),
    ] {
        assert_eq!(write(&root, path, &Expect::Anything), expected, "{path}");
        assert_eq!(fs::read(folder.path().join("root").join(place)).expect("written"), b"new", "{path}");
    }
    let link = fs::symlink_metadata(folder.path().join("root/good")).expect("still there");
    assert!(link.is_symlink(), "a link is written through, not replaced");
    let left = snapshot(folder.path()).into_iter().filter(|(path, ..)| path.ends_with(".tmp"));
    assert_eq!(left.count(), 0);
    let written = root.write(&root.locate("x").expect("inside"), b"old", &Expect::Anything).expect("written");
    assert_eq!((written.created, written.sha256.as_str(), written.bytes), (true, SHA256_OF_OLD, 3));
}

#[test]
fn what_must_be_kept_is_not_replaced() {
    let (folder, root) = playground();
    let real = folder.path().join("root/notes.md");
    let place = root.locate("notes.md").expect("inside");
    let sha256 = |of: &str| Expect::Sha256(of.to_owned());
    let check = |present: Option<&str>, expect: &Expect, is_kept: &dyn Fn(&[u8]) -> bool, expected: &str| {
        match present {
            Some(present) => fs::write(&real, present).expect("ours"),
            None => fs::remove_file(&real).expect("ours"),
        }
        let written = root.write_unless(&place, b"new", expect, Some(is_kept));
        let told = written.map_or_else(|error| error.to_string(), |written| written.created.to_string());
        let after = fs::read_to_string(&real).unwrap_or_default();
        assert_eq!(format!("{told} | {after}"), expected, "{present:?} {expect:?}");
        let left = snapshot(folder.path()).into_iter().filter(|(path, ..)| path.ends_with(".tmp"));
        assert_eq!(left.count(), 0);
    };
    let is_old = |present: &[u8]| present == b"old";
    check(Some("old"), &Expect::Anything, &is_old, "the file holds what would be lost | old");
    check(Some("old"), &sha256(SHA256_OF_OLD), &is_old, "the file holds what would be lost | old");
    check(Some("other"), &Expect::Anything, &is_old, "false | new");
    check(Some("old"), &sha256(SHA256_OF_OLD), &|_| false, "false | new");
    check(None, &Expect::Anything, &is_old, "true | new");
    fs::write(&real, "").expect("ours");
    check(None, &Expect::Absent, &is_old, "true | new");
    let changed = |now: &str| format!("the file is not as expected: {now}; read it again before writing");
    let is_now_old = changed(&format!("its SHA-256 is now {SHA256_OF_OLD}")) + " | old";
    check(Some("old"), &Expect::Absent, &|_| false, &is_now_old);
    check(Some("old"), &sha256("00"), &|_| false, &is_now_old);
    // Somebody else writes it while it is looked at.
    let meanwhile = |_: &[u8]| {
        fs::write(&real, "old").expect("ours");
        false
    };
    check(Some("other"), &Expect::Anything, &meanwhile, &is_now_old);
    // Or removes it.
    let gone = |_: &[u8]| {
        fs::remove_file(&real).expect("ours");
        false
    };
    let told = "notes.md does not exist | ";
    check(Some("other"), &Expect::Anything, &gone, told);
}

#[test]
fn keeps_the_mode() {
    let (folder, root) = playground();
    let path = folder.path().join("root/notes.md");
    for mode in [0o600, 0o755, 0o444, 0o666, 0o200] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        assert_eq!(write(&root, "notes.md", &Expect::Anything), "created: false");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o7777, mode);
    }
    assert_eq!(write(&root, "made/new.md", &Expect::Anything), "created: true");
    let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("there").permissions().mode();
    assert_eq!(mode("root/made/new.md") & 0o7133, 0, "no execution, no writing by others");
    assert_eq!(mode("root/made") & 0o7022, 0);
}

#[test]
fn a_failed_expectation_leaves_everything_as_it_was() {
    let (folder, root) = playground();
    let before = snapshot(folder.path());
    let is = |found: &str| format!("the file is not as expected: {found}; read it again before writing");
    let old = is(&format!("its SHA-256 is now {SHA256_OF_OLD}"));
    for (path, expect, expected) in [
        ("notes.md", Expect::Absent, &old),
        ("good", Expect::Absent, &old),
        ("notes.md", Expect::Sha256("0".repeat(64)), &old),
        ("notes.md", Expect::Sha256(String::new()), &old),
        ("none.md", Expect::Sha256(SHA256_OF_OLD.to_owned()), &is("it does not exist")),
    ] {
        assert_eq!(&write(&root, path, &expect), expected, "{path}");
    }
    assert_eq!(snapshot(folder.path()), before);
    assert_eq!(write(&root, "notes.md", &Expect::Sha256(SHA256_OF_OLD.to_uppercase())), "created: false");
    assert_eq!(write(&root, "fresh.md", &Expect::Absent), "created: true");
}

#[test]
fn lists_one_level_in_order() {
    let (folder, root) = playground();
    let strange = std::ffi::OsStr::from_bytes(b"\xff-strange");
    fs::write(folder.path().join("root/sub").join(strange), "12345").expect("a file");
    rustix::fs::mkfifoat(CWD, folder.path().join("root/sub/fifo"), Mode::from_raw_mode(0o644)).expect("fifo");
    fs::create_dir(folder.path().join("root/sub/below")).expect("a folder");
    let old = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
    let deep = fs::File::options().write(true).open(folder.path().join("root/sub/deep.md")).expect("there");
    deep.set_modified(old).expect("ours");
    let listed = root.folder(&root.locate("good-folder").expect("inside")).expect("a folder");
    let (entries, plain) = (listed.entries_with_meta().expect("a list"), listed.entries().expect("a list"));
    let seen: Vec<_> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.kind, entry.name_is_exact)).collect();
    let without: Vec<_> = entries.iter().map(|entry| Entry { meta: None, ..entry.clone() }).collect();
    assert_eq!(plain, without);
    let expected = [
        ("below", Kind::Folder, true),
        ("deep.md", Kind::File, true),
        ("fifo", Kind::Other, true),
        ("up", Kind::Link, true),
        ("\u{fffd}-strange", Kind::File, false),
    ];
    assert_eq!(seen, expected);
    assert_eq!(entries[1].meta, Some(Meta { bytes: 3, modified: old }));
    assert_eq!(entries[4].meta.map(|meta| meta.bytes), Some(5));
}

#[test]
fn a_walk_goes_down_and_never_along_a_link() {
    let (folder, root) = playground();
    fs::create_dir(folder.path().join("root/sub/below")).expect("a folder");
    let top = root.folder(&Inside::root()).expect("the root");
    let sub = top.child("sub").expect("a folder");
    assert_eq!(sub.path().as_str(), "sub");
    assert_eq!(sub.child("below").expect("a folder").path().as_str(), "sub/below");
    assert_eq!(sub.read("deep.md", 2).expect("a file").bytes, b"ol");
    assert_eq!(sub.entries().expect("twice").len(), sub.entries().expect("twice").len());
    let refusal = FileError::Outside.to_string();
    for name in ["..", ".", "", "a/b", "/etc", "\0"] {
        assert_eq!(sub.child(name).expect_err(name).to_string(), refusal);
        assert_eq!(sub.read(name, 9).expect_err(name).to_string(), refusal);
    }
    for name in ["to-folder", "good-folder", "absolute-folder", "notes.md", "circle"] {
        assert!(matches!(top.child(name), Err(FileError::NotAFolder { .. })), "{name}");
    }
    for name in ["to-file", "to-nothing", "absolute-file", "good"] {
        assert_eq!(top.read(name, 9).expect_err(name).to_string(), refusal);
    }
    assert_eq!(top.read("fifo", 9).expect_err("no file").to_string(), "fifo is not a file but a named pipe");
}

/// Another program swaps a folder and a link to the outside as fast as it can.
#[test]
fn a_race_never_reads_or_writes_outside() {
    const TRIES: usize = 3000;
    let (folder, root) = playground();
    fs::write(folder.path().join("outside/deep.md"), "secret").expect("a file");
    let outside_before = snapshot(&folder.path().join("outside"));
    let (one, other) = (folder.path().join("root/sub"), folder.path().join("root/to-folder"));
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).expect("both are there");
            }
        });
        for _ in 0..TRIES {
            match read(&root, "sub/deep.md").as_str() {
                "old" | "new" => inside += 1,
                "secret" => break,
                _ => refused += 1,
            }
            write(&root, "sub/deep.md", &Expect::Anything);
            write(&root, "sub/fresh/a.md", &Expect::Anything);
            write(&root, "good", &Expect::Anything);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(inside + refused, TRIES, "the outside was read");
    assert!(inside > 0 && refused > 0, "the race must have been run: {inside} inside, {refused} refused");
    assert_eq!(snapshot(&folder.path().join("outside")), outside_before, "the outside was written");
    let left = snapshot(&folder.path().join("root")).into_iter().filter(|(path, ..)| path.ends_with(".tmp"));
    assert_eq!(left.count(), 0, "a temporary file was left");
}

/// Links and folders that do not exist yet do not open a way around the protection.
#[test]
fn what_decides_about_tools_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(path.join(".git/hooks")).unwrap();
    std::fs::write(path.join("toolcrib.toml"), "old").unwrap();
    std::os::unix::fs::symlink("toolcrib.toml", path.join("harmless.md")).unwrap();
    std::os::unix::fs::symlink(".git/hooks", path.join("docs")).unwrap();
    let root = Root::open(&path, Access::ReadWrite).unwrap();
    root.protect(&unwritten(&[path.join("not/yet")]));
    for asked in [
        "toolcrib.toml",
        "sub/toolcrib.toml",
        "harmless.md",
        "docs/pre-commit",
        ".git/hooks/pre-commit",
        ".git/config",
        ".opencode/config.toml",
        "sub/../.git/config",
        "not/yet/audit.jsonl",
    ] {
        let refused = root.write(&root.locate(asked).unwrap(), b"new", &Expect::Anything);
        assert!(matches!(refused, Err(FileError::Protected { .. })), "{asked}: {refused:?}");
    }
    assert_eq!(std::fs::read_to_string(path.join("toolcrib.toml")).unwrap(), "old");
    assert!(
        !path.join("sub").exists() && !path.join("not").exists(),
        "no folder is made for a refused write"
    );
    assert!(root.write(&root.locate("notes.md").unwrap(), b"new", &Expect::Anything).is_ok());
}

/// A folder that `git` obeys is one by what is in it or leads to it, and not by its name.
#[test]
fn what_git_obeys_under_another_name_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    for real in ["real", "a/x.git"] {
        for part in ["objects", "refs", "hooks"] {
            std::fs::create_dir_all(path.join(real).join(part)).unwrap();
        }
        std::fs::write(path.join(real).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(path.join(real).join("config"), "old").unwrap();
    }
    std::fs::write(path.join(".git"), "gitdir: real\n").unwrap();
    std::fs::create_dir_all(path.join("tools/hooks")).unwrap();
    std::os::unix::fs::symlink("../tools/hooks", path.join("real/info")).unwrap();
    std::os::unix::fs::symlink("real", path.join("link")).unwrap();
    let root = Root::open(&path, Access::ReadWrite).unwrap();
    let written = |asked: &str| root.write(&root.locate(asked).unwrap(), b"new", &Expect::Anything);
    for asked in [
        "real/config",
        "real/hooks/pre-push",
        "link/config",
        "a/x.git/config",
        "a/x.git/new/file",
        "tools/hooks/attributes",
    ] {
        let refused = written(asked);
        assert!(matches!(refused, Err(FileError::Protected { .. })), "{asked}: {refused:?}");
    }
    let kept = |_: &str| false;
    let moved = root.move_to(&root.locate("real").unwrap(), &root.locate("other").unwrap(), &kept);
    assert!(matches!(moved, Err(FileError::Protected { .. })), "{moved:?}");
    for asked in ["notes.md", "a/notes.md", "tools/notes.md", "realm/config"] {
        assert!(written(asked).is_ok(), "{asked}");
    }
    assert_eq!(std::fs::read_to_string(path.join("real/config")).unwrap(), "old");
}

/// What is guarded changes for every handle at once, narrowed and cloned ones included.
#[test]
fn what_is_guarded_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let root = Root::open(&path, Access::ReadWrite).unwrap();
    let handles = [root.clone(), root.narrowed(Access::ReadWrite), root.clone().narrowed(Access::ReadWrite)];
    let check = |guarded: &[&str]| {
        for (handle, name) in handles.iter().flat_map(|handle| ["a.py", "b.py"].map(|name| (handle, name))) {
            let written = handle.write(&handle.locate(name).unwrap(), b"new", &Expect::Anything);
            let is_refused = matches!(written, Err(FileError::Protected { .. }));
            assert_eq!(is_refused, guarded.contains(&name), "{name} with {guarded:?}: {written:?}");
        }
    };
    check(&[]);
    root.protect(&unwritten(&[path.join("a.py")]));
    check(&["a.py"]);
    handles[1].protect(&unwritten(&[path.join("b.py")]));
    check(&["b.py"]);
    root.protect(&ProtectedPaths::default());
    check(&[]);
}

fn unwritten(paths: &[PathBuf]) -> ProtectedPaths {
    ProtectedPaths { unwritten: paths.to_vec(), ..ProtectedPaths::default() }
}

/// A folder with ordinary files, and links to those that others obey.
fn obeyed_by_others() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("a folder");
    for name in [".github/workflows", "sub"] {
        std::fs::create_dir_all(path.join(name)).expect("a folder");
    }
    for name in [".mcp.json", "notes.md"] {
        std::fs::write(path.join(name), "old").expect("a folder");
    }
    for (target, name) in [
        (".mcp.json", "link.md"),
        ("link.md", "link2.md"),
        (".github/workflows", "docs"),
        (".vscode/tasks.json", "nowhere.md"),
        ("notes.md", "CLAUDE.md"),
        ("../sub/../.mcp.json", "sub/up.md"),
    ] {
        std::os::unix::fs::symlink(target, path.join(name)).expect("a folder");
    }
    let root = Root::open(&path, Access::ReadWrite).expect("a folder");
    (folder, root)
}

/// Every spelling, case and link of what others obey asks, by name; nothing is written and no folder is made.
#[test]
fn what_others_obey_is_not_written_without_agreement() {
    let (folder, root) = obeyed_by_others();
    for (asked, expected) in [
        (".mcp.json", ".mcp.json"),
        ("/workspace/./.mcp.json", ".mcp.json"),
        ("sub/../.mcp.json", ".mcp.json"),
        (".MCP.json", ".MCP.json"),
        ("new/.vscode/settings.json", "new/.vscode/settings.json"),
        ("link.md", ".mcp.json"),
        ("link2.md", ".mcp.json"),
        ("sub/up.md", ".mcp.json"),
        ("docs/ci.yml", ".github/workflows/ci.yml"),
        ("nowhere.md", ".vscode/tasks.json"),
        // The link is what others read.
        ("CLAUDE.md", "CLAUDE.md"),
    ] {
        let path = root.locate(asked).unwrap();
        let found: Vec<_> = root.obeyed(&path).into_iter().map(|file| file.path).collect();
        assert_eq!(found, [PathBuf::from(expected)], "{asked}");
        match root.write(&path, b"new", &Expect::Anything) {
            Err(FileError::Obeyed(file)) => assert_eq!(file.path, PathBuf::from(expected), "{asked}"),
            other => panic!("{asked}: {other:?}"),
        }
        assert!(!matches!(root.read(&path, 0, 1), Err(FileError::Obeyed { .. })), "{asked} may be read");
    }
    for asked in ["notes.md", "sub/package.json", "Makefile", "toolcrib.toml", ".git/config"] {
        assert_eq!(root.obeyed(&root.locate(asked).unwrap()), [], "{asked}");
    }
    let there = std::fs::read_to_string(folder.path().join(".mcp.json")).unwrap();
    assert!(there == "old" && !folder.path().join("new").exists() && !folder.path().join(".vscode").exists());
}

/// Agreement is for this file through this handle, wherever a link leads by then.
#[test]
fn agreement_is_for_one_file() {
    let (folder, root) = obeyed_by_others();
    let asked = root.locate("link.md").unwrap();
    let agreed = root.agreeing(&root.obeyed(&asked));
    assert!(agreed.write(&asked, b"new", &Expect::Anything).is_ok());
    assert!(agreed.narrowed(Access::ReadWrite).write(&asked, b"new", &Expect::Anything).is_ok());
    let is_asked = |root: &Root, name: &str| {
        let written = root.write(&root.locate(name).unwrap(), b"newer", &Expect::Anything);
        matches!(written, Err(FileError::Obeyed { .. }))
    };
    assert!(is_asked(&root, "link.md"), "another handle has no agreement");
    assert!(is_asked(&agreed, "AGENTS.md") && is_asked(&agreed, "sub/.mcp.json"));
    std::fs::remove_file(folder.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink(".envrc", folder.path().join("link.md")).unwrap();
    assert!(is_asked(&agreed, "link.md"), "it leads elsewhere now");
    let denied = agreed.write(&root.locate("toolcrib.toml").unwrap(), b"", &Expect::Anything);
    assert!(matches!(denied, Err(FileError::Protected { .. })));
}

/// What is set free is written, and nothing that is protected.
#[test]
fn what_is_writable_needs_no_agreement() {
    let (folder, root) = obeyed_by_others();
    let globs = ["AGENTS.md", ".github/**", "toolcrib.toml", ".git/**", "state/**"].map(str::to_owned);
    let writable = Writable::new(&globs).unwrap();
    let unread = vec![folder.path().join("state")];
    root.protect(&ProtectedPaths { writable, unread, ..ProtectedPaths::default() });
    let written = |name: &str| root.write(&root.locate(name).unwrap(), b"new", &Expect::Anything);
    for name in ["AGENTS.md", ".github/workflows/ci.yml", "docs/ci.yml", "notes.md"] {
        assert!(written(name).is_ok(), "{name}");
    }
    for name in ["sub/AGENTS.md", ".mcp.json", "link.md"] {
        assert!(matches!(written(name), Err(FileError::Obeyed { .. })), "{name}");
    }
    for name in ["toolcrib.toml", ".git/config", "state/AGENTS.md"] {
        assert!(matches!(written(name), Err(FileError::Protected { .. })), "{name}");
    }
}

/// What servers load is not written, by whatever way it is reached, and is read freely.
#[test]
fn what_servers_load_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(path.join("tools")).unwrap();
    std::fs::write(path.join("tools/server.py"), "old").unwrap();
    std::os::unix::fs::symlink("tools", path.join("docs")).unwrap();
    std::os::unix::fs::symlink("tools/json.py", path.join("new.md")).unwrap();
    let root = Root::open(&path, Access::ReadWrite).unwrap();
    // The folder is named by a link here.
    let (named, code) = (vec![path.join("docs/server.py"), path.join("later.py")], vec![path.join("docs")]);
    let servers = ServerFiles { named, code, starts: vec![path.clone()] };
    root.protect(&ProtectedPaths { servers, ..ProtectedPaths::default() });
    for (asked, is_refused) in [
        ("tools/server.py", true),
        ("docs/server.py", true),
        ("tools/json.py", true),
        ("tools/json/__init__.py", true),
        ("docs/x/y.js", true),
        ("new.md", true),
        ("later.py", true),
        (".npmrc", true),
        ("node_modules/a/index.js", true),
        ("sub/.npmrc", false),
        ("tools/README.md", false),
        ("main.py", false),
    ] {
        let located = root.locate(asked).unwrap();
        let written = root.agreeing(&root.obeyed(&located)).write(&located, b"new", &Expect::Anything);
        assert_eq!(matches!(written, Err(FileError::OfServer { .. })), is_refused, "{asked}: {written:?}");
        assert_eq!(written.is_ok(), !is_refused, "{asked}: {written:?}");
    }
    assert!(root.read(&root.locate("tools/server.py").unwrap(), 0, 9).is_ok());
    assert!(!path.join("tools/json").exists() && !path.join("node_modules").exists());
    let said = root.write(&root.locate(".npmrc").unwrap(), b"", &Expect::Anything).unwrap_err().to_string();
    assert_eq!(
        said,
        ".npmrc is read by what starts a server there, so only a person may write it; a server whose script and `cwd` lie \
         outside the workspace leaves it free"
    );
}

/// What holds secrets is neither read nor listed, by whatever way it is reached.
#[test]
fn what_holds_secrets_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(path.join("state/run")).unwrap();
    for name in ["state/secret.key", "state/run/1.log", "key.txt", "key.txt.bak", "notes.md", "server.py"] {
        std::fs::write(path.join(name), "text").unwrap();
    }
    std::os::unix::fs::symlink("state", path.join("harmless")).unwrap();
    std::os::unix::fs::symlink("key.txt", path.join("link.md")).unwrap();
    let root = Root::open(&path, Access::ReadWrite).unwrap();
    let unread = vec![path.join("state"), path.join("key.txt"), path.join("later")];
    root.protect(&ProtectedPaths {
        unwritten: vec![path.join("server.py")],
        unread,
        ..ProtectedPaths::default()
    });
    let root = root.narrowed(Access::Read);
    std::fs::create_dir(path.join("later")).unwrap();
    std::fs::write(path.join("later/made.md"), "text").unwrap();

    for (asked, is_refused) in [
        ("state/secret.key", true),
        ("state/run/1.log", true),
        ("harmless/secret.key", true),
        ("notes/../state/secret.key", true),
        ("key.txt", true),
        ("link.md", true),
        ("later/made.md", true),
        ("key.txt.bak", false),
        ("notes.md", false),
        ("server.py", false),
    ] {
        let read = root.read(&root.locate(asked).unwrap(), 0, 100);
        assert_eq!(matches!(read, Err(FileError::Secret { .. })), is_refused, "{asked}: {read:?}");
    }
    for asked in ["state", "state/run", "harmless", "harmless/run", "later"] {
        let listed = root.folder(&root.locate(asked).unwrap());
        assert!(matches!(listed, Err(FileError::Secret { .. })), "{asked}: {listed:?}");
    }
    let top = root.folder(&Inside::root()).unwrap();
    assert!(matches!(top.child("state"), Err(FileError::Secret { .. })));
    assert!(matches!(top.read("key.txt", 100), Err(FileError::Secret { .. })));
    assert!(top.read("notes.md", 100).is_ok() && top.entries().is_ok());

    // A folder that was open before is not read from either.
    root.protect(&ProtectedPaths::default());
    let before = root.folder(&root.locate("state").unwrap()).unwrap();
    root.protect(&ProtectedPaths { unread: vec![path.join("state")], ..ProtectedPaths::default() });
    assert!(matches!(before.read("secret.key", 100), Err(FileError::Secret { .. })));
}

#[test]
fn a_folder_that_was_exchanged_is_told_and_used() {
    let (folder, root) = playground();
    let path = folder.path().join("root");
    assert!(root.check_present().is_ok());
    let before = root.narrowed(Access::Read);
    fs::remove_dir_all(&path).expect("ours");
    assert!(matches!(root.check_present(), Err(FileError::Gone)));

    // No link is followed to what others may have put there.
    symlink(folder.path().join("outside"), &path).expect("a link");
    assert!(matches!(root.check_present(), Err(FileError::Gone)));
    assert_eq!(read(&root, "secret"), "secret does not exist");
    fs::remove_file(&path).expect("ours");

    fs::create_dir(&path).expect("a folder");
    fs::write(path.join("new.md"), "new").expect("a file");
    assert_eq!(read(&root, "new.md"), "new.md does not exist");
    assert!(matches!(root.check_present(), Err(FileError::Exchanged)));
    assert!(root.check_present().is_ok());
    for root in [&root, &before] {
        assert_eq!((read(root, "new.md").as_str(), root.path()), ("new", &*path));
        assert_eq!(read(root, "../outside/secret"), FileError::Outside.to_string());
    }
    root.protect(&ProtectedPaths { unread: vec![path.join("new.md")], ..ProtectedPaths::default() });
    assert!(read(&before, "new.md").contains("no tool may read it"));
}
