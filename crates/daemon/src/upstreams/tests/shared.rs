//! Servers that several workspaces share: when they do, and what one of them notices of the others.

use super::*;

/// How many servers there are for two workspaces with these tables.
#[track_caller]
fn check_count(one: (&str, &Config), other: (&str, &Config), expected: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let first = World::new(folder.path(), vec![settle_in("/one", one)], Start::WhenWanted);
        let settings = vec![settle_in("/other", other)];
        let second = World::sharing(&first.servers, folder.path(), settings, Start::WhenWanted);
        assert_eq!(first.servers.count(), expected, "{other:?}");
        assert_eq!(Arc::ptr_eq(&it(&first, one.0), &it(&second, other.0)), expected == 1);
        first.upstreams.end().await;
        assert_eq!(second.servers.count(), 1);
        second.upstreams.end().await;
        assert_eq!(second.servers.count(), 0, "nobody shares one any more");
    });
}

/// A server of a workspace whose client has a variable that tells which.
fn settle_in(workspace: &str, (name, table): (&str, &Config)) -> Settings {
    let variables = [("WHERE".into(), workspace.into()), ("HOME".into(), "/home/u".into())].into();
    settle(name, table).working_in(Ok(workspace)).inheriting(&variables, Path::new(workspace))
}

fn it(world: &World, name: &str) -> Arc<Upstream> {
    world.upstreams.get(name).expect("it is there")
}

#[test]
fn workspaces_share_what_is_the_same() {
    let table = |keys: &str| toml::from_str::<Config>(&format!("command = 'x'\n{keys}")).expect("a table");
    let plain = table("");
    check_count(("it", &plain), ("it", &plain), 1);
    check_count(("it", &table("inherit = ['OTHER']")), ("it", &table("inherit = ['OTHER']")), 1);
    let off = table("enabled = false");
    check_count(("it", &off), ("it", &off), 1);
    for keys in [
        "inherit = ['WHERE']",
        "args = ['${workspace}']",
        "env.ROOT = '${workspace}'",
        "cwd = '${workspace}'",
        "isolation = 'session'",
        "isolation = 'caller'",
    ] {
        check_count(("it", &table(keys)), ("it", &table(keys)), 2);
    }
    for keys in ["env.A = 'b'", "timeout = 5", "prefix = 'p'", "trust = 'review'", "exclude = ['a']"] {
        check_count(("it", &plain), ("it", &table(keys)), 2);
    }
    check_count(("it", &plain), ("its", &plain), 2);
}

#[test]
fn one_that_lets_go_disturbs_nobody_and_the_last_one_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let settings = || settle_all(&[("it", server.table())]);
        let one = World::new(folder.path(), settings(), Start::AtOnce);
        one.until_connected("it").await;
        let other = World::sharing(&one.servers, folder.path(), settings(), Start::WhenWanted);
        assert_eq!(other.tools(), ["wait"], "what is known is on offer at once");
        let shared = Arc::downgrade(&it(&one, "it"));
        let call = other.call("wait");
        let goes = async {
            server.called.acquire().await.expect("open").forget();
            assert_eq!(one.upstreams.replace(Vec::new()).removed, ["it"]);
            assert_eq!((one.tools().len(), other.tools().len()), (0, 1));
            server.answers.add_permits(2);
        };
        let (answer, ()) = tokio::join!(call, goes);
        assert!(answer.is_ok() && other.call("wait").await.is_ok(), "{answer:?}");
        assert_eq!(it(&other, "it").status().restarts, 0);
        other.upstreams.end().await;
        assert_eq!((other.servers.count(), shared.strong_count()), (0, 0));
    });
}

#[test]
fn a_reload_in_one_workspace_leaves_the_other_its_server_until_that_reloads_too() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let servers = ["old", "new"].map(|name| SmallServer::new(folder.path(), name));
        let [old, new] = servers.each_ref().map(|server| settle_all(&[("it", server.table())]));
        servers.iter().for_each(|server| server.answers.add_permits(10));
        let one = World::new(folder.path(), old.clone(), Start::AtOnce);
        let other = World::sharing(&one.servers, folder.path(), old, Start::AtOnce);
        one.until_connected("it").await;
        other.until_connected("it").await;
        assert_eq!(one.servers.count(), 1);
        assert_eq!(one.upstreams.replace(new.clone()).changed, ["it"]);
        one.until_connected("it").await;
        for (world, expected) in [(&one, "\"new\""), (&other, "\"old\"")] {
            let answer = world.call("wait").await.expect("an answer");
            assert!(answer.contains(expected), "{answer}");
        }
        assert_eq!(one.servers.count(), 2);
        assert_eq!(other.upstreams.replace(new).changed, ["it"]);
        assert!(Arc::ptr_eq(&it(&one, "it"), &it(&other, "it")) && one.servers.count() == 1);
        assert!(other.call("wait").await.expect("an answer").contains("\"new\""));
        one.servers.end().await;
    });
}

#[test]
fn connecting_anew_is_for_all_who_share_it() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let settings = || settle_all(&[("it", server.table())]);
        let one = World::new(folder.path(), settings(), Start::AtOnce);
        let other = World::sharing(&one.servers, folder.path(), settings(), Start::AtOnce);
        other.until_connected("it").await;
        let before = it(&other, "it");
        one.upstreams.reconnect("it", PATIENCE).await.expect("it is there");
        assert!(Arc::ptr_eq(&it(&one, "it"), &it(&other, "it")) && !Arc::ptr_eq(&before, &it(&one, "it")));
        server.answers.add_permits(1);
        assert!(other.call("wait").await.is_ok());
        one.servers.end().await;
    });
}

#[test]
fn names_left_out_for_one_workspace_are_left_out_there_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::offering(folder.path(), "it", "b_wait");
        let alone = || settle_all(&[("it", server.table())]);
        let with_b = settle_all(&[("b", program("b")), ("it", server.table())]);
        let one = World::new(folder.path(), alone(), Start::AtOnce);
        let other = World::sharing(&one.servers, folder.path(), alone(), Start::AtOnce);
        one.until_connected("it").await;
        other.until_connected("it").await;
        assert_eq!(one.upstreams.replace(with_b).changed, ["it"], "it cannot be as it was for both");
        one.until_connected("it").await;
        assert_eq!((one.tools().len(), other.tools()), (0, vec!["b_wait".to_owned()]));
        one.servers.end().await;
    });
}

#[test]
fn of_a_thousand_workspaces_that_have_gone_nothing_is_left() {
    const WORKSPACES: usize = 1_000;
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let settings = settle_all(&[("it", server.table()), ("x", program("x"))]);
        let first = World::new(folder.path(), settings.clone(), Start::WhenWanted);
        it(&first, "it").connect().await.expect("connected");
        let AllSettings { redactor, .. } = AllSettings::for_selftest(folder.path());
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let share = |_| {
            let catalog = Catalog::new(Vec::new());
            let start = Start::WhenWanted;
            Upstreams::start(settings.clone(), &first.servers, &catalog, &redactor, start)
        };
        let all: Vec<Upstreams> = (0..WORKSPACES).map(share).collect();
        assert_eq!(first.servers.count(), 2);
        assert!(tasks() >= before + WORKSPACES);
        drop(all);
        while tasks() > before {
            tokio::task::yield_now().await;
        }
        assert_eq!(first.servers.count(), 2);
        let last = it(&first, "it");
        drop(first.upstreams);
        assert_eq!(first.servers.count(), 0);
        while Arc::strong_count(&last) > 1 {
            tokio::task::yield_now().await;
        }
    });
}
