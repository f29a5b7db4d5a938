//! What a write does to the disk, in which order, and what stays when one of its steps does not work.
#![expect(clippy::disallowed_methods, reason = "prepares and inspects folders from outside the sandbox")]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::super::file_ops::{FileOps, Step};
use super::*;

/// What happens before a step, by its number from 1.
type Before = Box<dyn Fn(usize, Step) -> io::Result<()> + Send + Sync>;

/// Files that note the steps they are asked for.
struct Noting {
    steps: Arc<Mutex<Vec<Step>>>,
    before: Before,
}

impl std::fmt::Debug for Noting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noting").finish_non_exhaustive()
    }
}

impl FileOps for Noting {
    fn before(&self, step: Step) -> io::Result<()> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push(step);
        (self.before)(steps.len(), step)
    }
}

/// What came of a write of `new`: the answer in a word, the steps, what the file holds then, and how many files are beside it.
struct Done {
    answer: Result<Written, FileError>,
    steps: Vec<Step>,
    content: Option<String>,
    others: usize,
}

/// Writes in a folder that holds `notes.md`, which says `old`.
fn write(path: &str, expect: &Expect, before: Before) -> Done {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("notes.md"), "old").expect("a file");
    write_in(folder.path(), path, expect, before)
}

fn write_in(folder: &Path, path: &str, expect: &Expect, before: Before) -> Done {
    let steps = Arc::<Mutex<Vec<Step>>>::default();
    let ops = Noting { steps: steps.clone(), before };
    let root = Root::open_with(folder, Access::ReadWrite, Box::new(ops)).expect("a root");
    let answer = root.write(&root.locate(path).expect("inside"), b"new", expect);
    let file = folder.join(path);
    let beside = fs::read_dir(file.parent().expect("it has one"));
    let others = beside.map_or(0, |all| all.filter(|one| one.as_ref().expect("ours").path() != file).count());
    let steps = steps.lock().expect("nobody panics").clone();
    Done { answer, steps, content: fs::read_to_string(file).ok(), others }
}

fn sound() -> Before {
    Box::new(|_, _| Ok(()))
}

const PLAIN: Step = Step::Rename(RenameFlags::empty());
const EXCHANGE: Step = Step::Rename(RenameFlags::EXCHANGE);
const NO_REPLACE: Step = Step::Rename(RenameFlags::NOREPLACE);

/// Paths, what is expected of them, and the steps to the new content.
fn cases() -> [(&'static str, Expect, Vec<Step>); 6] {
    use Step::{Create, MakeFolders, Remove, SetMode, Sync, SyncFolder, Write};
    [
        ("notes.md", Expect::Anything, vec![Create, Write, SetMode, Sync, PLAIN, SyncFolder]),
        ("new.md", Expect::Anything, vec![Create, Write, Sync, PLAIN, SyncFolder]),
        ("new.md", Expect::Absent, vec![Create, Write, Sync, NO_REPLACE, SyncFolder]),
        (
            "notes.md",
            Expect::Sha256(sha256_of(b"old")),
            vec![Create, Write, SetMode, Sync, EXCHANGE, Remove, SyncFolder],
        ),
        (
            "notes.md",
            Expect::Content(b"old".into()),
            vec![Create, Write, SetMode, Sync, EXCHANGE, Remove, SyncFolder],
        ),
        // The names of new folders, above the last one.
        (
            "a/b/new.md",
            Expect::Anything,
            vec![MakeFolders, SyncFolder, SyncFolder, Create, Write, Sync, PLAIN, SyncFolder],
        ),
    ]
}

#[test]
fn the_content_is_on_the_disk_before_it_has_the_name_and_the_name_before_it_is_told() {
    for (path, expect, steps) in cases() {
        let done = write(path, &expect, sound());
        assert!(done.answer.is_ok(), "{path}: {:?}", done.answer);
        assert_eq!((done.steps, done.content.as_deref()), (steps, Some("new")), "{path} {expect:?}");
    }
}

#[test]
fn whichever_step_fails_the_old_file_or_the_new_one_is_there_and_nothing_else() {
    for (path, expect, steps) in cases() {
        let old = if path == "notes.md" { Some("old") } else { None };
        let named = steps.iter().position(|step| matches!(step, Step::Rename(_))).expect("it is renamed");
        for failing in 1..=steps.len() {
            let full =
                move |nth, _| if nth == failing { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) };
            let done = write(path, &expect, Box::new(full));
            let at = format!("{path} {expect:?}, step {failing}: {:?}", done.steps);
            if steps[failing - 1] == Step::Remove {
                // It is written; the old one stays beside it.
                assert!(done.answer.is_ok(), "{at}: {:?}", done.answer);
                assert_eq!((done.content.as_deref(), done.others), (Some("new"), 1), "{at}");
                continue;
            }
            assert!(matches!(done.answer, Err(FileError::Io(_))), "{at}: {:?}", done.answer);
            let expected = if failing - 1 > named { Some("new") } else { old };
            assert_eq!(done.content.as_deref(), expected, "{at}");
            // The one that was there before, beside another.
            let others = usize::from(!path.contains('/') && path != "notes.md");
            assert_eq!(done.others, others, "{at}");
        }
        let done = write(path, &expect, sound());
        assert!(
            done.answer.is_ok() && done.steps.len() == steps.len(),
            "each step was tried: {:?}",
            done.steps
        );
    }
}

#[test]
fn where_names_cannot_be_exchanged_the_file_is_looked_at_once_more() {
    let (sha256, content) = (Expect::Sha256(sha256_of(b"old")), Expect::Content(b"old".into()));
    for (path, expect, flags) in [
        ("notes.md", sha256, RenameFlags::EXCHANGE),
        ("notes.md", content, RenameFlags::EXCHANGE),
        ("new.md", Expect::Absent, RenameFlags::NOREPLACE),
    ] {
        for changes in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join("notes.md"), "old").expect("a file");
            let file = folder.path().join(path);
            let before = move |_, step| {
                if step != Step::Rename(flags) {
                    return Ok(());
                }
                if changes {
                    fs::write(&file, "theirs")?;
                }
                Err(Errno::INVAL.into())
            };
            let done = write_in(folder.path(), path, &expect, Box::new(before));
            let (is_changed, content) =
                (matches!(done.answer, Err(FileError::Changed(Some(_)))), done.content);
            let expected = if changes { "theirs" } else { "new" };
            assert_eq!((is_changed, content.as_deref()), (changes, Some(expected)), "{path}");
            assert_eq!(done.others, usize::from(path != "notes.md"));
        }
    }
}

/// Just before the names are exchanged, as another program would.
#[test]
fn what_the_file_has_become_meanwhile_stays() {
    for is_folder in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("notes.md");
        fs::write(&file, "old").expect("a file");
        let (inner, theirs) = (file.join("inner"), file.clone());
        let is_first = AtomicBool::new(true);
        let before = move |_, step| match step == EXCHANGE && is_first.swap(false, Ordering::Relaxed) {
            true if is_folder => {
                fs::remove_file(&theirs).and_then(|()| fs::create_dir_all(theirs.join("inner")))
            }
            true => fs::write(&theirs, "theirs"),
            false => Ok(()),
        };
        let done = write_in(folder.path(), "notes.md", &Expect::Content(b"old".into()), Box::new(before));
        let error = done.answer.expect_err("it is another");
        let (is_told, is_there) = match is_folder {
            true => (matches!(error, FileError::NotAFile { kind: "folder", .. }), inner.is_dir()),
            false => {
                (matches!(error, FileError::Changed(Some(_))), done.content.as_deref() == Some("theirs"))
            }
        };
        assert!(is_told && is_there, "{error:?}");
        assert_eq!(done.others, 0);
    }
}

/// Where the names cannot be exchanged back, either.
#[test]
fn what_cannot_be_put_back_is_not_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.md");
    fs::write(&file, "old").expect("a file");
    let is_first = AtomicBool::new(true);
    let before = move |_, step| match (step, is_first.load(Ordering::Relaxed)) {
        (EXCHANGE, true) => {
            is_first.store(false, Ordering::Relaxed);
            fs::write(&file, "theirs")
        }
        (Step::Rename(_), false) => Err(Errno::IO.into()),
        _ => Ok(()),
    };
    let done = write_in(folder.path(), "notes.md", &Expect::Content(b"old".into()), Box::new(before));
    assert!(matches!(done.answer, Err(FileError::Io(_))), "{:?}", done.answer);
    let all = fs::read_dir(folder.path()).expect("a folder");
    let texts = all.map(|one| fs::read_to_string(one.expect("one").path()).expect("a text"));
    assert!(texts.collect::<Vec<_>>().contains(&"theirs".to_owned()), "nothing of theirs is lost");
}

/// What stands behind the expected content, or is missing of it, is a change as well.
#[test]
fn a_file_of_another_length_is_another_file() {
    let long = "x".repeat(600_000);
    for (present, expected, is_same) in [
        (&*long, &*long, true),
        (&long, &long[1..], false),
        (&long[1..], &long, false),
        (&long, "", false),
        ("", &long, false),
        ("", "", true),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), present).expect("a file");
        let done = write_in(folder.path(), "a", &Expect::Content(expected.into()), sound());
        assert_eq!(done.answer.is_ok(), is_same, "{} {}", present.len(), expected.len());
        assert_eq!((done.content.as_deref() == Some("new"), done.others), (is_same, 0));
        assert!(is_same || !done.steps.contains(&Step::Sync), "refused before the disk is waited for");
    }
}

/// The folder was missing when its path was judged, and is a link to what nobody may write when it is made.
#[test]
fn what_a_folder_has_become_meanwhile_is_judged_again() {
    for (target, name, is_refused) in [
        (".git/hooks", "pre-commit", true),
        (".github/workflows", "ci.yml", true),
        ("sub", "toolcrib.md", false),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        for dir in [".git/hooks", ".github/workflows", "sub"] {
            fs::create_dir_all(folder.path().join(dir)).expect("a folder");
        }
        let link = folder.path().join("new");
        let links = move |_, step| match step {
            Step::MakeFolders => symlink(target, &link),
            _ => Ok(()),
        };
        let done = write_in(folder.path(), &format!("new/{name}"), &Expect::Anything, Box::new(links));
        let refused = matches!(done.answer, Err(FileError::Protected(_) | FileError::Obeyed(_)));
        assert_eq!(refused, is_refused, "{target}: {:?}", done.answer);
        let left = fs::read_dir(folder.path().join(target)).expect("a folder").count();
        assert_eq!(left, usize::from(!is_refused), "{target}");
    }
}
