//! Folders of skills as people make them, and as others would like them to be.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> Folders {
        Folders(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn skill(&self, folder: &str, name: &str) {
        self.write(&format!("{folder}/{name}/SKILL.md"), &text(name, folder));
    }

    fn own(&self, folder: &str) -> Place {
        Place { folder: self.path(folder), agreed: None }
    }

    /// One whose skills of this content a person has agreed to.
    fn agreed(&self, folder: &str, sha256: String) -> Place {
        let agreed = move |skill: &Skill| match skill.sha256 == sha256 {
            true => Ok(()),
            false => Err("nobody has agreed".to_owned()),
        };
        Place { folder: self.path(folder), agreed: Some(Arc::new(agreed)) }
    }
}

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nBody of {name}\n")
}

fn names(library: &Library) -> Vec<String> {
    library.list().iter().map(|skill| format!("{} of {}", skill.name, skill.description)).collect()
}

#[test]
fn the_first_folder_that_has_a_name_has_it() {
    let folders = Folders::new();
    [("a", "one"), ("b", "one"), ("b", "two")].iter().for_each(|(folder, name)| folders.skill(folder, name));
    let places = ["none", "a", "b"].map(|name| folders.own(name));
    let library = Library::read(&places);
    assert_eq!(names(&library), ["one of a", "two of b"]);
    assert_eq!(library.problems, [""; 0]);
    let (skill, file) = library.read("one", None).expect("a skill");
    assert_eq!((&*skill.body, file), ("Body of one", None));
}

#[test]
fn each_skill_stands_for_itself() {
    let folders = Folders::new();
    folders.skill("a", "sound");
    folders.write("a/other/SKILL.md", &text("another", "d"));
    folders.write("a/no-head/SKILL.md", "Body");
    folders.write("a/large/SKILL.md", &format!("{}{}", text("large", "d"), "x".repeat(200_000)));
    folders.write("a/binary/SKILL.md", "---\nname: binary\ndescription: d\n---\n");
    fs::write(folders.path("a/binary/SKILL.md"), b"\xff").expect("a file");
    folders.write("a/no-skill/README.md", "x");
    folders.write("a/.hidden/SKILL.md", &text("hidden", "d"));
    folders.write("a/file", "x");
    let library = Library::read(&[folders.own("a")]);
    assert_eq!(names(&library), ["sound of a"]);
    let below = format!("{}/", folders.path("a").display());
    let told: Vec<_> = library.problems.iter().map(|why| why.replace(&below, "")).collect();
    assert_eq!(
        told,
        [
            "binary/SKILL.md: it is no text in UTF-8",
            "large/SKILL.md: it is larger than 128 KiB; put details into files beside it",
            "no-head/SKILL.md: it must begin with a line `---`, the skill's name and description in YAML, and `---`",
            "other/SKILL.md: name: is `another`, and must be the name of its folder",
        ]
    );
}

#[test]
fn files_beside_a_skill_are_read_by_their_paths() {
    let folders = Folders::new();
    folders.skill("a", "s");
    folders.write("a/s/references/x.md", "beside");
    folders.write("a/s/.git/config", "hidden");
    folders.write("secret", "secret");
    symlink(folders.path("secret"), folders.path("a/s/link")).expect("a link");
    let library = Library::read(&[folders.own("a")]);
    let read = |wanted| library.read("s", Some(wanted)).expect("a skill");
    let (skill, file) = read("references/x.md");
    let paths: Vec<_> = skill.files.iter().map(|file| (&*file.path, file.bytes)).collect();
    assert_eq!(paths, [("SKILL.md", 41), ("references/x.md", 6)]);
    assert_eq!(file.as_deref(), Some(&b"beside"[..]));
    for path in ["../../secret", "link", ".git/config", "references", "", "/etc/passwd", "references//x.md"] {
        assert_eq!(read(path).1, None, "{path}");
    }
    let sha256 = skill.sha256;
    folders.write("a/s/references/x.md", "Beside");
    assert_ne!(read("x").0.sha256, sha256);
    folders.write("a/s/references/x.md", "beside");
    assert_eq!(read("x").0.sha256, sha256);
    folders.write("a/s/new", "");
    assert_ne!(read("x").0.sha256, sha256);
}

#[test]
fn what_nobody_has_agreed_to_waits() {
    let folders = Folders::new();
    folders.skill("project", "s");
    folders.skill("home", "s");
    let unread = || String::new();
    let library = Library::read(&[folders.agreed("project", unread()), folders.own("home")]);
    assert_eq!(names(&library), ["s of home"]);
    let [held] = &library.held[..] else { panic!("{:?}", library.held) };
    let library = Library::read(&[folders.agreed("project", held.sha256.clone()), folders.own("home")]);
    assert_eq!(names(&library), ["s of project"]);
    assert!(library.held.is_empty());
    // Another content is not what was agreed to, whenever it comes.
    folders.write("project/s/run.sh", "echo");
    let why = library.read("s", None).expect_err("it has changed").to_string();
    assert_eq!(why, "the skill `s` cannot be used: nobody has agreed");
}

#[test]
fn no_link_leads_out_of_a_projects_folder() {
    let folders = Folders::new();
    folders.skill("elsewhere", "s");
    fs::create_dir_all(folders.path("a")).expect("a folder");
    symlink(folders.path("elsewhere/s"), folders.path("a/s")).expect("a link");
    assert_eq!(names(&Library::read(&[folders.own("a")])), ["s of elsewhere"]);
    let library = Library::read(&[folders.agreed("a", String::new())]);
    assert!(library.held.is_empty() && library.list().is_empty());
}

#[test]
fn a_project_has_few_and_small_ones() {
    let folders = Folders::new();
    for nth in 0..=PROJECTS_MAX {
        folders.skill("a", &format!("s{nth:02}"));
    }
    let library = Library::read(&[folders.agreed("a", String::new())]);
    assert_eq!(library.held.len(), PROJECTS_MAX);
    assert!(library.problems[0].contains("s32: more than 32 skills"), "{:?}", library.problems);
    for nth in 0..3 {
        fs::write(folders.path(&format!("a/s{nth:02}/large")), vec![0; 15 * 1024 * 1024]).expect("a file");
    }
    let library = Library::read(&[folders.agreed("a", String::new())]);
    let told = library.problems.iter().find(|why| why.contains("s02/"));
    assert!(
        told.is_some_and(|why| why.ends_with("it has more than 512 files or 1 MiB")),
        "{:?}",
        library.problems
    );
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let folders = Folders::new();
    let none = Library::read(&[folders.own("a")]);
    let why =
        |library: &Library, name: &str| library.read(name, None).expect_err("there is none").to_string();
    assert_eq!(why(&none, "x"), "there is no skill `x`; there are no skills here");
    ["notes", "deploy"].iter().for_each(|name| folders.skill("a", name));
    let library = Library::read(&[folders.own("a")]);
    assert_eq!(why(&library, "note"), "there is no skill `note`; the nearest are notes");
    assert_eq!(why(&library, "zzz"), "there is no skill `zzz`; there are deploy, notes");
    assert_eq!(why(&library, "../x"), "there is no skill of this name; there are deploy, notes");
    let hidden = "---\nname: note-all\ndescription: all\ndisable-model-invocation: true\n---\nBody\n";
    folders.write("a/note-all/SKILL.md", hidden);
    let library = Library::read(&[folders.own("a")]);
    assert_eq!(why(&library, "note-al"), "there is no skill `note-al`; there are deploy, notes");
}

#[test]
fn a_skill_has_bounds() {
    let folders = Folders::new();
    folders.skill("a", "s");
    for nth in 0..512 {
        folders.write(&format!("a/s/f{nth}"), "");
    }
    let library = Library::read(&[folders.own("a")]);
    let why = library.read("s", None).expect_err("too many").to_string();
    assert_eq!(why, "the skill `s` cannot be used: it has more than 512 files or 16 MiB");
    fs::remove_file(folders.path("a/s/f0")).expect("a file");
    assert!(library.read("s", None).is_ok());
    fs::write(folders.path("a/s/f1"), vec![0; 17 * 1024 * 1024]).expect("a file");
    assert!(library.read("s", None).is_err());
}
