//! Upstreams that take the place of others: which calls go where, and what clients notice of it.

use super::*;

#[test]
fn a_call_under_way_is_finished_by_the_server_it_was_made_to() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let (old, new) = (SmallServer::new(folder.path(), "old"), SmallServer::new(folder.path(), "new"));
        let other = SmallServer::new(folder.path(), "other");
        let tables = |first: &SmallServer| {
            let other = Config { prefix: Some("other".to_owned()), ..other.table() };
            settle_all(&[("it", first.table()), ("other", other)])
        };
        let world = World::new(folder.path(), tables(&old), Start::AtOnce);
        world.until_connected("it").await;
        world.until_connected("other").await;
        let (call, beside) = (world.call("wait"), world.call("other_wait"));
        let exchange = async {
            old.called.acquire().await.expect("open").forget();
            other.called.acquire().await.expect("open").forget();
            let changes = world.upstreams.replace(tables(&new));
            assert_eq!(
                (changes.changed, changes.unchanged),
                (vec!["it".to_owned()], vec!["other".to_owned()])
            );
            // What another server offers is not known yet, and the old one gets no more calls.
            assert_eq!(world.tools(), ["other_wait"]);
            new.answers.add_permits(1);
            let answer = world.call("wait").await.expect("the new one answers");
            assert!(answer.contains("\"new\""), "{answer}");
            old.answers.add_permits(1);
            other.answers.add_permits(1);
        };
        let (call, beside, ()) = tokio::join!(call, beside, exchange);
        let (call, beside) = (call.expect("the old one answers"), beside.expect("nobody has disturbed it"));
        assert!(call.contains("\"old\"") && beside.contains("\"other\""), "{call} {beside}");
        assert_eq!(old.called.available_permits(), 0, "it got one call");
        world.upstreams.end().await;
    });
}

#[test]
fn no_call_is_lost_between_a_server_and_the_one_in_its_place() {
    const CALLERS: usize = 4;
    const EXCHANGES: usize = 40;
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let servers = ["one", "other"].map(|name| SmallServer::new(folder.path(), name));
        let tables = servers.each_ref().map(|server| {
            server.answers.add_permits(tokio::sync::Semaphore::MAX_PERMITS);
            settle_all(&[("it", server.table())])
        });
        let world = World::new(folder.path(), tables[0].clone(), Start::AtOnce);
        world.until_connected("it").await;
        let over = std::sync::atomic::AtomicBool::new(false);
        let calls = join_all((0..CALLERS).map(async |_| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                // It waits for the disk once it is admitted, and may find another server then.
                world.call("wait").await.expect("an answer");
            }
        }));
        let exchanges = async {
            for at in 1..=EXCHANGES {
                world.upstreams.replace(tables[at % 2].clone());
                world.until_connected("it").await;
            }
            over.store(true, std::sync::atomic::Ordering::Relaxed);
        };
        tokio::join!(calls, exchanges);
        world.upstreams.end().await;
    });
}

#[test]
fn the_same_server_with_other_settings_is_on_offer_without_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let world = World::new(folder.path(), settle_all(&[("it", server.table())]), Start::AtOnce);
        world.until_connected("it").await;
        let before = Arc::downgrade(&world.upstreams.get("it").expect("it is there"));
        let renamed = Config { prefix: Some("p".to_owned()), ..server.table() };
        world.upstreams.replace(settle_all(&[("it", renamed)]));
        assert_eq!(world.tools(), ["p_wait"], "under its new name, before anything else happens");
        world.until_connected("it").await;
        server.answers.add_permits(1);
        assert!(world.call("p_wait").await.is_ok());
        assert_eq!(before.strong_count(), 0, "the one before is gone, since the new one waits for that");
        world.upstreams.end().await;
    });
}

#[test]
fn what_clients_watch_is_watched_on() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let world = World::new(folder.path(), settle_all(&[("it", server.table())]), Start::AtOnce);
        world.until_connected("it").await;
        let target = Target::Resource { action: Action::Subscribe, uri: "it:///thing" };
        let call = Call { target, ..Call::tool("", Some("{\"uri\":\"it:///thing\"}".into())) };
        let subscribed = world.gate.call(&Caller::local_user(Via::CommandLine), call).await;
        assert!(subscribed.is_ok(), "{:?}", subscribed.err());
        server.subscribed.acquire().await.expect("open").forget();
        world.upstreams.reconnect("it", PATIENCE).await.expect("it is there");
        let again = tokio::time::timeout(PATIENCE, server.subscribed.acquire()).await;
        assert!(again.is_ok(), "the new connection asks for it, too");
        world.upstreams.end().await;
    });
}

#[test]
fn one_that_was_connected_or_is_watched_is_connected_again() {
    for (is_watched, on_demand) in [(false, false), (true, false), (true, true)] {
        let folder = tempfile::tempdir().expect("a folder");
        run(async {
            let server = SmallServer::new(folder.path(), "it");
            let table = |seconds: u64| {
                let timeout =
                    toml::from_str::<Config>(&format!("timeout = \"{seconds}s\"")).expect("sound").timeout;
                settle_all(&[("it", Config { timeout, on_demand, ..server.table() })])
            };
            let world = World::new(folder.path(), table(5), Start::WhenWanted);
            world.upstreams.get("it").expect("it is there").connect().await.expect("connected");
            if is_watched {
                let target = Target::Resource { action: Action::Subscribe, uri: "it:///thing" };
                let call = Call { target, ..Call::tool("", Some("{\"uri\":\"it:///thing\"}".into())) };
                let subscribed = world.gate.call(&Caller::local_user(Via::CommandLine), call).await;
                assert!(subscribed.is_ok(), "{:?}", subscribed.err());
                server.subscribed.acquire().await.expect("open").forget();
            }
            assert_eq!(world.upstreams.replace(table(6)).changed, ["it"]);
            world.until_connected("it").await;
            if is_watched {
                let again = tokio::time::timeout(PATIENCE, server.subscribed.acquire()).await;
                assert!(again.is_ok(), "it is asked for again");
            }
            world.upstreams.end().await;
        });
    }
}

#[test]
fn one_that_only_a_call_starts_is_left_alone_unless_it_is_watched() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let server = SmallServer::new(folder.path(), "it");
        let table = |prefix: &str| {
            settle_all(&[(
                "it",
                Config { prefix: Some(prefix.to_owned()), on_demand: true, ..server.table() },
            )])
        };
        let world = World::new(folder.path(), table(""), Start::AtOnce);
        world.upstreams.get("it").expect("it is there").connect().await.expect("connected");
        let before = Arc::downgrade(&world.upstreams.get("it").expect("it is there"));
        world.upstreams.replace(table("p"));
        let left = async {
            while before.strong_count() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, left).await.expect("an end");
        // An hour passes at once, in which only the clock would start it.
        tokio::time::pause();
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        tokio::time::resume();
        assert_eq!(world.upstreams.get("it").expect("it is there").status().state.word(), "stopped");
        world.upstreams.end().await;
    });
}

#[test]
fn one_that_is_starting_goes_at_once_if_nobody_waits_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    run(async {
        let path = folder.path().join("silent");
        // It takes connections in, and says nothing.
        #[expect(clippy::disallowed_methods, reason = "a server that answers nobody")]
        let listener = tokio::net::UnixListener::bind(&path).expect("free");
        let hour = toml::from_str::<Config>("start_timeout = \"1h\"").expect("sound");
        let silent = Config { socket: Some(path), ..hour };
        let server = SmallServer::new(folder.path(), "it");
        let world = World::new(folder.path(), settle_all(&[("it", silent)]), Start::AtOnce);
        let (connection, _) = listener.accept().await.expect("it is being met");
        let before = Arc::downgrade(&world.upstreams.get("it").expect("it is there"));
        world.upstreams.replace(settle_all(&[("it", server.table())]));
        world.until_connected("it").await;
        assert_eq!(before.strong_count(), 0, "the new one waits for its end");
        drop(connection);
        world.upstreams.end().await;
    });
}
