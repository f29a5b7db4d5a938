//! Where file tools are offered without anybody having said so, and how far references of a folder's server lead.
#![expect(clippy::disallowed_methods, reason = "folders to be found")]

use std::path::Path;

use super::super::{Unfollowed, loaded};
use super::{SECRET, surroundings};
use crate::Surroundings;
use crate::kept::Kept;
use crate::problem::Source;
use crate::surroundings::Flags;
use admin::receipts::{self, Receipt};
use admin::secrets::{bind, unbind};

/// Whether file tools are offered, started in `current` with this text in a file.
#[track_caller]
fn check(
    current: &Path,
    home: &Path,
    text: &str,
    is_projects: bool,
    workspace: Option<&Path>,
    expected: bool,
) {
    let mut surroundings = Surroundings { current_dir: current.to_owned(), ..surroundings() };
    surroundings.variables.insert("HOME".into(), home.into());
    surroundings.flags =
        Flags { workspace: workspace.map(Path::to_owned), trust_folder: true, ..Flags::default() };
    let text = format!("{text}\n[mcp.it]\ncommand = 'x'\nargs = ['${{workspace}}']");
    let source = Source { path: current.join("toolcrib.toml"), text: text.clone(), is_projects };
    let loaded = loaded(vec![source], &surroundings, Unfollowed::IsWrong);
    let settings = loaded.unwrap_or_else(|why| panic!("{text}: {why}")).settings;
    assert_eq!(
        settings.too_wide.is_none(),
        expected,
        "{}: {text}: {:?}",
        current.display(),
        settings.too_wide
    );
    assert_eq!(settings.tools.contains(&tools::Set::Workspace), expected);
    // Nor is a server given all of it.
    assert_eq!(settings.upstreams[0].lacks().is_none(), expected);
}

#[test]
fn the_disk_and_the_home_folder_are_no_workspace_by_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("it is there");
    let (home, project) = (top.join("home/me"), top.join("home/me/project"));
    std::fs::create_dir_all(&project).expect("folders");
    std::os::unix::fs::symlink(&home, top.join("link")).expect("a link");
    for wide in [Path::new("/"), &top, &top.join("home"), &home, &top.join("link")] {
        check(wide, &home, "", false, None, false);
        check(wide, &home, "", false, Some(&project), true);
        check(wide, &home, "", false, Some(wide), true);
        // Their own word, or that of the file which they name.
        check(wide, &home, "workspace.root = '.'", false, None, true);
    }
    // Not a folder's.
    check(&home, &home, "workspace.root = '.'", true, None, false);
    check(&project, &home, "", false, None, true);
    check(&project, &home, "", false, Some(Path::new("..")), true);
    check(&project, &top.join("link"), "", false, None, true);
}

/// What becomes of the server that a folder declares with this value of a header.
#[track_caller]
fn check_reference(value: &str, trusted: bool, expected: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let top = folder.path().canonicalize().expect("it is there");
    let project = top.join("project");
    std::fs::create_dir(&project).expect("a folder");
    std::fs::write(project.join("inside"), "of the folder").expect("a file");
    std::fs::write(top.join("outside"), SECRET).expect("a file");
    std::os::unix::fs::symlink("../outside", project.join("link")).expect("a link");
    let flags = Flags { trust_folder: trusted, ..Flags::default() };
    let surroundings = Surroundings { current_dir: project.clone(), flags, ..surroundings() };
    let text = format!("[mcp.web]\nurl = 'https://h.example'\nheaders = {{ X = {value} }}\n");
    let source = Source { path: project.join("toolcrib.toml"), text, is_projects: true };
    let loaded =
        loaded(vec![source], &surroundings, Unfollowed::FailsItsServer).expect("nobody else is stopped");
    let lacks =
        loaded.settings.upstreams.first().map(|server| server.lacks().unwrap_or("nothing").to_owned());
    let lacks = lacks.map(|lacks| lacks.replace(&top.display().to_string(), "TOP"));
    assert_eq!(lacks.as_deref(), expected, "{value}");
}

#[test]
fn references_of_a_folder_lead_nowhere_else() {
    check_reference("{ env = 'TOKEN' }", false, None);
    check_reference("{ env = 'TOKEN' }", true, Some("nothing"));
    check_reference("{ file = 'inside' }", true, Some("nothing"));
    let elsewhere = |path: &str| {
        format!(
            "mcp.web.headers.X: a folder's file reads files of its own folder only, and {path} is elsewhere"
        )
    };
    check_reference("{ file = '../outside' }", true, Some(&elsewhere("TOP/outside")));
    check_reference("{ file = 'link' }", true, Some(&elsewhere("TOP/outside")));
    check_reference("'x ${file:../outside}'", true, Some(&elsewhere("TOP/outside")));
    check_reference(
        "{ env = 'NONE' }",
        true,
        Some("mcp.web.headers.X: the environment variable NONE is not set"),
    );
}

#[test]
fn a_kept_secret_goes_to_a_folders_server_only_where_a_person_has_said_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().canonicalize().expect("it is there");
    let project = home.join("project");
    std::fs::create_dir(&project).expect("a folder");
    let mut surroundings = Surroundings { current_dir: project.clone(), ..surroundings() };
    surroundings.variables.insert("HOME".into(), home.into());
    let state = surroundings.data_folder().expect("a home");
    let name = store::SecretName::parse("KEPT").expect("a name");
    let value = store::SecretValue::parse(SECRET).expect("a value");
    Kept::new(&state, store::KeySource::State).sealed().set_named(&name, &value, 1).expect("kept");
    let text = "[mcp.web]\nurl = 'https://H.example/x'\nheaders = { X = { store = 'KEPT' } }\n";
    let load = || {
        let source = Source { path: project.join("toolcrib.toml"), text: text.to_owned(), is_projects: true };
        loaded(vec![source], &surroundings, Unfollowed::FailsItsServer).expect("nobody else is stopped")
    };
    let lacks = || load().settings.upstreams[0].lacks().map(str::to_owned);
    let held = load().held.remove(0).declaration;
    let store = store::SqliteStore::at(&state);
    let agree = |secrets: Vec<String>| {
        let receipt = Receipt { sha256: held.sha256.clone(), lines: Vec::new(), secrets, agreed_at_ms: 1 };
        receipts::agree(&store, &held.folder, &[(held.key.clone(), receipt)]).expect("kept");
    };
    agree(Vec::new());
    assert!(lacks().is_some_and(|why| why.contains("KEPT is not for this server")));
    bind(&store, "KEPT", &["other".to_owned(), "evil.example".to_owned()]).expect("kept");
    assert!(lacks().is_some(), "another server and host");
    bind(&store, "KEPT", &["h.example".to_owned()]).expect("kept");
    assert_eq!(lacks(), None, "by its host");
    unbind(&store, "KEPT").expect("forgotten");
    assert!(lacks().is_some());
    bind(&store, "KEPT", &["web".to_owned()]).expect("kept");
    assert_eq!(lacks(), None, "by its name");
    unbind(&store, "KEPT").expect("forgotten");
    agree(vec!["KEPT".to_owned()]);
    assert_eq!(lacks(), None, "by the agreement");
}
