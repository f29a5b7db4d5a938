//! What programs may touch: what is made of the words for it, and how far a folder's file has a say.
#![expect(clippy::disallowed_methods, reason = "the tests write what stands in a folder")]

use std::path::Path;

use expect_test::{Expect, expect};
use sandbox::egress::{Destination, Grant, HostRules};
use upstream::ServerSandbox;

use super::super::{Unfollowed, loaded};
use super::{SECRET, agreed, check_refused, load, sources, surroundings};
use crate::{Loaded, Surroundings};

fn sandbox_of(loaded: &Loaded, name: &str) -> ServerSandbox {
    let found = loaded.settings.upstreams.iter().find(|server| server.name() == name);
    found.expect("it is there").sandbox().clone()
}

#[test]
fn paths_start_where_they_are_written_or_at_home() {
    let loaded = load(&[
        "[sandbox]\nread = ['a', '~/b', '/c']\nwrite = ['d']\nhosts = ['proxy.example']\n[mcp.it]\ncommand = 'x'\n\
         sandbox = { read = ['e', '~/f'], write = ['/g', '${workspace}/h'], sockets = ['i'] }\n",
        "",
    ])
    .expect("sound");
    let own = Path::new("/home/u/.config/toolcrib");
    let settings = &loaded.settings.sandbox;
    assert_eq!(settings.read, [own.join("a"), "/home/u/b".into(), "/c".into()]);
    assert_eq!(settings.write, [own.join("d")]);
    assert_eq!(settings.hosts, HostRules::parse(["proxy.example"]).expect("a host"));
    let server = sandbox_of(&loaded, "it");
    assert_eq!(server.read, [own.join("e"), "/home/u/f".into()]);
    assert_eq!(server.write, [Path::new("/g"), Path::new("/project/h")]);
    assert_eq!(server.sockets, [own.join("i")]);
}

#[test]
fn what_is_named_and_not_there_is_told_with_its_key() {
    let there = tempfile::tempdir().expect("a folder");
    let there = there.path().display();
    let text = format!(
        "[sandbox]\nread = ['{there}', '/no/a']\nwrite = ['/no/b']\n[mcp.it]\ncommand = 'x'\n\
         sandbox = {{ read = ['/no/c'], write = ['{there}'], sockets = ['/no/d'] }}\n\
         [mcp.open]\ncommand = 'x'\nsandbox = {{ profile = 'open', read = ['/no/e'] }}\n"
    );
    expect![[r#"
        sandbox.read[1]: /no/a is not there, and no confined program starts until it is
        sandbox.write[0]: /no/b is not there, and no program that may write starts until it is
        mcp.it.sandbox.read[0]: /no/c is not there, and the server does not start until it is
        mcp.it.sandbox.sockets[0]: /no/d is not there, and the server does not start until it is"#]]
    .assert_eq(&load(&[&text]).expect("sound").settings.absent_paths().join("\n"));
}

#[test]
fn mistakes_are_told_where_they_stand() {
    check_refused(
        "[sandbox]\nread = ['//']\nwrite = ['a', '/']\nhosts = [\n  'none',\n  'localhost',\n]\n[mcp.it]\ncommand = 'x'\n\
         [mcp.it.sandbox]\nnetwork = ['a.example',\n  'http://b']\nread = ['/']\nmemory = '1 MiB'\n\
         [mcp.web]\nurl = 'http://h/'\nsandbox.network = 'none'\n",
        expect![[r#"
            toolcrib.toml:2:9: sandbox.read[0] is everything on this machine; name the files and folders that programs read
            toolcrib.toml:3:15: sandbox.write[1] is everything on this machine; name the folders that programs write
            toolcrib.toml:5:3: sandbox.hosts[0]: `none` is no host; a list without hosts reaches nothing
            toolcrib.toml:6:3: sandbox.hosts[1]: `localhost` needs a port, as in localhost:5432: nobody should get at everything on this machine
            toolcrib.toml:12:3: mcp.it.sandbox.network[1]: `http://b` names no host: only the host is written and, behind a colon, its port: no http://, no path and no user
            toolcrib.toml:13:9: mcp.it.sandbox.read[0]: is everything on this machine; a server that needs it says `profile = "open"`
            toolcrib.toml:14:10: mcp.it.sandbox.memory: must be at least 16 MiB
            toolcrib.toml:17:1: mcp.web.sandbox: only a server with `command` is confined"#]],
    );
    check_refused(
        "[mcp.a]\ncommand = 'x'\nsandbox = { netwrok = 'none' }\n[mcp.b]\ncommand = 'x'\nsandbox.network = 'pubic'\n\
         [mcp.c]\ncommand = 'x'\nsandbox.profile = 'opn'\n[mcp.d]\ncommand = 'x'\nsandbox.network = 5\n\
         [mcp.e]\ncommand = 'x'\nsandbox.env = { A = 'b' }\n",
        expect![[r#"
            toolcrib.toml:3:13: unknown key `netwrok` in [mcp.a.sandbox]; did you mean `network`?
            toolcrib.toml:6:19: mcp.b.sandbox.network must be one of "public", "none"; did you mean "public"?
            toolcrib.toml:9:19: mcp.c.sandbox.profile must be one of "confined", "open"; did you mean "open"?
            toolcrib.toml:12:19: mcp.d.sandbox.network must be text or a list, not a number
            toolcrib.toml:15:9: unknown key `env` in [mcp.e.sandbox]; variables of a server stand beside its `sandbox` table: `mcp.e.env`"#]],
    );
}

#[test]
fn limits_with_which_nothing_runs_are_told_where_they_stand() {
    check_refused(
        "[sandbox]\ntimeout = '0s'\ncpu = '999ms'\nprocesses = 0\nopen_files = 15\nmemory = '16383 KiB'\n\
         file_size = '0 KiB'\nscratch = '63 KiB'\noutput = '0 KiB'\n",
        expect![[r#"
            toolcrib.toml:2:11: sandbox.timeout must be at least 1s
            toolcrib.toml:3:7: sandbox.cpu must be at least 1s
            toolcrib.toml:4:13: sandbox.processes must be at least 1
            toolcrib.toml:5:14: sandbox.open_files must be at least 16
            toolcrib.toml:6:10: sandbox.memory must be at least 16 MiB
            toolcrib.toml:7:13: sandbox.file_size must be at least 1 KiB
            toolcrib.toml:8:11: sandbox.scratch must be at least 64 KiB
            toolcrib.toml:9:10: sandbox.output must be at least 1 KiB"#]],
    );
    let least = "timeout = '1s'\ncpu = '1s'\nprocesses = 1\nopen_files = 16\nmemory = '16 MiB'\nfile_size = '1 KiB'\n\
                 scratch = '64 KiB'\noutput = '1 KiB'\n";
    assert!(load(&[&format!("[sandbox]\n{least}")]).is_ok());
}

/// What a server of the user's, which says this of its sandbox, may do with what a folder's file says of it: whether it
/// is open, which of some destinations it reaches, and what is passed over.
#[track_caller]
fn check(users: &str, folders: &str, expected: Expect) {
    let user = format!("[mcp.it]\ncommand = 'x'\n[mcp.it.sandbox]\n{users}\n");
    let mut told = Vec::new();
    // Nothing that is agreed to changes it.
    for surroundings in [surroundings(), agreed()] {
        let folder = format!("[mcp.it.sandbox]\n{folders}\n");
        let loaded = loaded(sources(&[&user, &folder]), &surroundings, Unfollowed::IsWrong).expect("sound");
        let found = sandbox_of(&loaded, "it");
        let reached =
            ["a.example:443", "a.example:22", "db.internal:5432", "localhost:5432", "b.example:443"]
                .into_iter()
                .filter_map(|to| {
                    match found.network.grant(&Destination::parse(to, None).expect("a host"))? {
                        Grant::Public => Some(format!(" {to}")),
                        Grant::Named | Grant::Address => Some(format!(" {to} wherever it is")),
                    }
                });
        let paths =
            [&found.read, &found.write, &found.sockets].map(|paths| paths.len()).iter().sum::<usize>();
        let passed = loaded
            .passed_over
            .iter()
            .map(|line| format!("; {}", &line[..line.find(" is passed").expect("so")]));
        told.push(format!(
            "{}, {paths} paths, reaches{}{}",
            if found.is_open { "open" } else { "confined" },
            reached.collect::<String>(),
            passed.collect::<String>()
        ));
    }
    assert_eq!(told[0], told[1]);
    expected.assert_eq(&told[0]);
}

#[test]
fn a_folder_confines_and_narrows_the_users_servers_and_never_widens_them() {
    check(
        "",
        "",
        expect!["confined, 0 paths, reaches a.example:443 a.example:22 db.internal:5432 b.example:443"],
    );
    check(
        "profile = 'open'",
        "profile = 'confined'\nnetwork = 'none'",
        expect!["confined, 0 paths, reaches"],
    );
    check(
        "network = 'none'",
        "profile = 'open'\nnetwork = 'public'",
        expect!["confined, 0 paths, reaches; toolcrib.toml:2:1: mcp.it.sandbox.profile"],
    );
    // A name of a folder's leads to public addresses alone where the user did not say it.
    check(
        "",
        "network = ['a.example', 'db.internal:5432', 'localhost:5432']",
        expect!["confined, 0 paths, reaches a.example:443 db.internal:5432"],
    );
    check(
        "network = ['a.example', 'db.internal:5432', 'localhost:5432']",
        "network = ['db.internal:5432', 'localhost:5432', 'b.example']",
        expect!["confined, 0 paths, reaches db.internal:5432 wherever it is localhost:5432 wherever it is"],
    );
    check(
        "network = ['a.example']",
        "network = 'public'",
        expect!["confined, 0 paths, reaches a.example:443"],
    );
    check("network = ['a.example']", "network = []", expect!["confined, 0 paths, reaches"]);
    check(
        "network = 'none'\nread = ['/a']",
        "network = 5\nread = ['/b']\nwrite = ['/b']\nsockets = ['/b']\nmemory = '8 GiB'\nx = 1",
        expect![
            "confined, 1 paths, reaches; toolcrib.toml:2:1: mcp.it.sandbox.network; toolcrib.toml:3:1: mcp.it.sandbox.read; toolcrib.toml:4:1: mcp.it.sandbox.write; toolcrib.toml:5:1: mcp.it.sandbox.sockets; toolcrib.toml:6:1: mcp.it.sandbox.memory; toolcrib.toml:7:1: mcp.it.sandbox.x"
        ],
    );
}

#[test]
fn mistakes_of_both_files_are_told_and_hide_no_other() {
    let refused = |user: &str, folder: &str| {
        let texts =
            [user, folder].map(|network| format!("[mcp.it]\ncommand = 'x'\nsandbox.network = {network}\n"));
        let texts = [texts[0].as_str(), &texts[1].replace("command = 'x'\n", "")];
        loaded(sources(&texts), &agreed(), Unfollowed::IsWrong).err().map(|problems| problems.to_string())
    };
    expect!["toolcrib.toml:2:20: mcp.it.sandbox.network[0]: `localhost` needs a port, as in localhost:5432: nobody should get at everything on this machine"]
        .assert_eq(&refused("'public'", "['localhost']").expect("wrong"));
    expect!["/home/u/.config/toolcrib/toolcrib.toml:3:20: mcp.it.sandbox.network[0]: `localhost` needs a port, as in localhost:5432: nobody should get at everything on this machine"]
        .assert_eq(&refused("['localhost']", "'none'").expect("wrong"));
    assert!(refused("5", "'none'").expect("wrong").contains("mcp.it.sandbox.network must be"));
}

#[test]
fn what_a_folders_server_asks_for_holds_once_it_is_agreed_to_but_it_is_never_open() {
    let folder = "[mcp.own]\ncommand = 'x'\nsandbox = { profile = 'open', network = ['db.internal:5432'], sockets = ['/run/db'] }\n";
    let held = load(&["", folder]).expect("sound").held;
    let lines: Vec<&str> = held[0].declaration.lines.iter().map(|line| line.shown.as_str()).collect();
    assert_eq!(lines, ["starts x", "reaches db.internal:5432", "uses the socket /run/db"]);
    let loaded = loaded(sources(&["", folder]), &agreed(), Unfollowed::IsWrong).expect("sound");
    let found = sandbox_of(&loaded, "own");
    assert!(!found.is_open && loaded.passed_over[0].contains(": mcp.own.sandbox.profile is passed over"));
    assert_eq!(
        (found.network.words(), found.sockets),
        (&["db.internal:5432".to_owned()][..], vec!["/run/db".into()])
    );
}

#[test]
fn a_path_of_a_folders_server_is_the_one_that_a_person_read() {
    let disk = tempfile::tempdir().expect("a folder");
    let root = disk.path().canonicalize().expect("it is there");
    let folder = root.join("project");
    std::fs::create_dir_all(folder.join("data")).expect("folders");
    std::fs::create_dir_all(root.join("home/.ssh")).expect("folders");
    for (to, name) in [(root.join("home/.ssh"), "keys"), (folder.join("data"), "also")] {
        std::os::unix::fs::symlink(to, folder.join(name)).expect("a link");
    }
    let variables = [("HOME".into(), root.join("home").into())].into();
    let surroundings = Surroundings { current_dir: folder.clone(), variables, ..agreed() };
    let lacks = |path: &str| {
        let mut sources = sources(&["", &format!("[mcp.own]\ncommand = 'x'\nsandbox.write = ['{path}']\n")]);
        sources[1].path = folder.join("toolcrib.toml");
        let loaded = loaded(sources, &surroundings, Unfollowed::FailsItsServer).expect("sound");
        let lacks = loaded.settings.upstreams[0].lacks().map(str::to_owned);
        lacks.map(|why| why.replace(&root.display().to_string(), "ROOT"))
    };
    let inside = folder.join("keys").display().to_string();
    for path in ["data", "also", "new", "/srv", "~/.ssh", "${workspace}/data"] {
        assert_eq!(lacks(path), None, "{path}");
    }
    for (path, why) in [
        ("keys", "ROOT/project/keys leads out of the folder"),
        (&inside, "ROOT/project/keys leads out of the folder"),
        ("data/../keys", "data/../keys has `..` in it; write where it leads"),
        (
            "/proc/self/cwd/keys",
            "/proc/self/cwd/keys is not the same for everybody; a folder's file cannot ask for it",
        ),
        ("${env:HOME}/x", "${env:HOME}/x depends on the environment; a folder's file writes its paths out"),
        ("${workspace}/keys", "ROOT/project/keys leads out of the workspace"),
    ] {
        assert_eq!(lacks(path).as_deref(), Some(&*format!("mcp.own.sandbox.write[0]: {why}")), "{path}");
    }
}

#[test]
fn the_password_of_a_companys_proxy_is_kept_secret_wherever_it_comes_from() {
    let address = format!("http://me:{SECRET}@proxy.example:3128");
    let surroundings = Surroundings {
        variables: [("HOME".into(), "/home/u".into()), ("PROXY".into(), address.clone().into())].into(),
        ..surroundings()
    };
    for proxy in [format!("'{address}'"), "{ env = 'PROXY' }".to_owned()] {
        let text = format!("[sandbox]\nproxy = {proxy}\n");
        let loaded = loaded(sources(&[&text]), &surroundings, Unfollowed::IsWrong).expect("sound");
        let found = loaded.settings.sandbox.proxy.as_ref().expect("a proxy");
        assert_eq!(found.to_string(), "http://…@proxy.example:3128");
        assert!(!loaded.to_toml().contains(SECRET) && !loaded.to_json().to_string().contains(SECRET));
        let known: Vec<_> =
            loaded.settings.secrets.iter().map(|known| (&*known.name, &*known.value)).collect();
        assert_eq!(known, [("sandbox.proxy", SECRET)], "{proxy}");
    }
    check_refused(
        &format!("[sandbox]\nproxy = 'https://me:{SECRET}@proxy.example'\n"),
        expect![
            "toolcrib.toml:2:9: sandbox.proxy: a proxy is written as http://host:port or http://user:password@host:port, with nothing behind the port"
        ],
    );
    check_refused(
        "[sandbox]\nproxy = { env = 'NONE' }\n",
        expect!["toolcrib.toml:2:9: sandbox.proxy: the environment variable NONE is not set"],
    );
}
