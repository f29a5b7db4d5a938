//! Sessions: whose they are, how many, and how they end.

use gate::{CallerKind, Proof, Role, Scopes, Via};
use hyper::header::HeaderName;
use wire::{Id, Revision};

use super::*;
use crate::http::event_log::KEPT_MAX;
use crate::identity;

fn caller() -> Caller {
    Caller::local_user(Via::Http)
}

fn open_one(sessions: &Sessions) -> (String, HeaderMap) {
    let session = Session::new(caller(), Revision::LATEST_LEGACY);
    let (id, _) = sessions.open(session, None).expect("the system has randomness");
    let headers = HeaderMap::from_iter([(HeaderName::from_static(SESSION_ID), header(&id))]);
    (id, headers)
}

#[test]
fn only_an_open_session_of_the_caller_is_found() {
    let sessions = Sessions::new(Total::default());
    let (id, headers) = open_one(&sessions);
    assert!(matches!(sessions.named(&headers, &caller()), Ok(Some(_))));
    assert!(matches!(sessions.named(&HeaderMap::new(), &caller()), Ok(None)));
    let mut twice = headers.clone();
    twice.append(SESSION_ID, HeaderValue::from_static("x"));
    assert!(sessions.named(&twice, &caller()).is_err());
    assert_eq!(id.len(), 2 * ID_BYTES);

    // Each differs in one thing.
    let other = |id: &str, kind, roles, via| Caller::new(id.into(), kind, roles, Scopes::all(), via);
    let (owner, reader) = (Role::Owner.into(), Role::Auditor.into());
    let others = [
        caller().with_scopes(std::iter::empty().collect()),
        caller().with_proof(Proof::Key("k".into())),
        other("local", CallerKind::LocalUser, owner, Via::Stdio),
        other("another", CallerKind::LocalUser, owner, Via::Http),
        other("local", CallerKind::Token, owner, Via::Http),
        other("local", CallerKind::LocalUser, reader, Via::Http),
    ];
    for other in others {
        assert!(sessions.named(&headers, &other).is_err());
        assert!(!sessions.end(&id, &other), "a foreign session is not ended");
    }
    assert!(sessions.end(&id, &caller()));
    assert!(!sessions.end(&id, &caller()));
    assert!(sessions.named(&headers, &caller()).is_err());
}

/// Knows whoever is on this machine.
fn open_identity() -> Identity {
    let store = Arc::new(store::SqliteStore::at(std::path::Path::new("nothing is kept here")));
    Identity::new(&identity::Config::default(), Some(true), store, sandbox::Client::new(), || 0)
}

#[tokio::test]
async fn a_session_that_was_silent_too_long_is_gone() {
    let mut sessions = Sessions::new(Total::default());
    let [(_, silent), (read_id, read)] = std::array::from_fn(|_| open_one(&sessions));
    let reader = sessions.get(&read_id, &caller()).expect("open").streams.stand(None).expect("always");
    let day = SILENCE_MAX + Duration::from_secs(1);
    let Some(before) = sessions.since.checked_sub(day) else { return };
    sessions.since = before;
    let (_, heard) = open_one(&sessions);
    sessions.sweep(&open_identity()).await;
    assert!(sessions.named(&silent, &caller()).is_err());
    for kept in [&read, &heard] {
        assert!(matches!(sessions.named(kept, &caller()), Ok(Some(_))));
    }
    drop(reader);
}

#[tokio::test]
async fn sessions_of_those_who_were_shut_out_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(store::SqliteStore::at(folder.path()));
    let key = |name: &str| {
        let (roles, name) = (gate::Role::Agent.into(), name.to_owned());
        let request =
            gate::keys::KeyRequest { name, roles, scopes: None, person: false, now_ms: 0, expires_ms: None };
        gate::keys::create(&*store, request).expect("created").1.id
    };
    let ids = ["stays", "goes"].map(key);
    let issuer = identity::IssuerConfig {
        issuer: "https://i.example".to_owned(),
        name: Some("i".to_owned()),
        ..identity::IssuerConfig::default()
    };
    let config = &identity::Config { issuers: vec![issuer], ..identity::Config::default() };
    let (store, client, now_ms) = (store.clone(), sandbox::Client::new(), || 0);
    let identity = Identity::new(config, None, store.clone(), client, now_ms);
    let sessions = Sessions::new(Total::default());
    let role = gate::Role::Agent;
    let of_key = |name: &str, id: &str| {
        let caller = format!("key:{name}").into();
        let caller = Caller::new(caller, gate::CallerKind::Key, role.into(), role.scopes(), Via::Http);
        caller.with_proof(Proof::Key(id.into()))
    };
    let of_token = |end_s: i64| {
        let caller =
            Caller::new("i:a".into(), gate::CallerKind::Token, role.into(), role.scopes(), Via::Http);
        caller.with_proof(Proof::Until(end_s))
    };
    let open = |caller: Caller| {
        let session = Session::new(caller, Revision::LATEST_LEGACY);
        sessions.open(session, None).expect("there is room").0
    };
    let [stays, goes] = [of_key("stays", &ids[0]), of_key("goes", &ids[1])];
    let opened = [
        open(stays.clone()),
        open(goes),
        open(caller()),
        open(of_token(1)),
        open(of_token(0)),
        open(of_token(0)),
    ];
    assert!(sessions.get(&opened[0], &of_key("stays", "another")).is_none(), "a later key of its name");
    assert!(sessions.get(&opened[0], &stays).is_some());
    assert!(sessions.get(&opened[5], &of_token(9)).is_some(), "with a later token it goes on");
    gate::keys::revoke(&*store, "goes").expect("revoked");
    // A later key of its name is another's.
    key("goes");
    sessions.sweep(&identity).await;
    let left = opened.map(|id| sessions.lock().contains_key(&*id));
    // Since there is a key, the local user needs one, too; and a token ends what it opened as it ends.
    assert_eq!(left, [true, false, false, true, false, true]);
}

/// A session that was last heard at this second.
fn heard_at(sessions: &Sessions, second: u64) -> (String, Arc<Open>) {
    let session = Session::new(caller(), Revision::LATEST_LEGACY);
    let (id, open) = sessions.open(session, None).expect("there is room");
    open.heard_s.store(second, Ordering::Relaxed);
    (id, open)
}

#[test]
fn a_flood_of_new_sessions_ends_its_own_first() {
    let sessions = Sessions::new(Total::default());
    let is_open = |id: &str| sessions.lock().contains_key(id);
    let [abandoned, used, read, calling] = std::array::from_fn(|_| heard_at(&sessions, 1));
    let call = calling.1.session.begin(&Id::number(1)).expect("free");
    let reader = read.1.streams.stand(None).expect("always");
    assert!(sessions.get(&used.0, &caller()).is_some());
    used.1.heard_s.store(1, Ordering::Relaxed);
    let left = |case: &str, expected: [bool; 4]| {
        let open = [&abandoned, &used, &read, &calling].map(|(id, _)| is_open(id));
        assert_eq!(open, expected, "{case}");
        assert_eq!(sessions.lock().len(), SESSIONS_MAX, "{case}");
    };
    let fill = |more: usize| (0..more).map(|_| heard_at(&sessions, 2)).collect::<Vec<_>>();
    let mut flood = fill(SESSIONS_MAX - 4);
    left("all have room", [true; 4]);
    flood.extend(fill(100));
    left("one that was only opened goes first, then the flood's own", [false, true, true, true]);
    flood.iter().for_each(|(_, open)| open.is_used.store(true, Ordering::Relaxed));
    heard_at(&sessions, 2);
    left("of those that were used, the one that was silent longest", [false, false, true, true]);
    heard_at(&sessions, 2);
    left("but none in which something goes on", [false, false, true, true]);
    drop((call, reader));
    for _ in 0..2 {
        sessions.lock().values().for_each(|open| open.is_used.store(true, Ordering::Relaxed));
        heard_at(&sessions, 2);
    }
    left("until it has ended", [false; 4]);
}

#[test]
fn who_has_most_sessions_makes_room_for_the_others() {
    let sessions = Sessions::new(Total::default());
    let role = gate::Role::Agent;
    let flooding = Caller::new("key:a".into(), gate::CallerKind::Key, role.into(), role.scopes(), Via::Http);
    let of = |caller: &Caller, is_used: bool| {
        let session = Session::new(caller.clone(), Revision::LATEST_LEGACY);
        let (id, open) = sessions.open(session, None).expect("there is room");
        open.is_used.store(is_used, Ordering::Relaxed);
        id
    };
    let count = |caller: &Caller| {
        let is_its = |open: &&Arc<Open>| open.session.caller.id() == caller.id();
        sessions.lock().values().filter(is_its).count()
    };
    (0..SESSIONS_MAX).for_each(|_| drop(of(&flooding, true)));
    let newcomers: Vec<String> = (0..20).map(|_| of(&caller(), false)).collect();
    assert_eq!((count(&flooding), count(&caller())), (SESSIONS_MAX - 20, 20));
    // More of the flood ends its own, though the others have not come back to theirs yet.
    (0..20).for_each(|_| drop(of(&flooding, true)));
    assert_eq!((count(&flooding), count(&caller())), (SESSIONS_MAX - 20, 20));
    assert!(newcomers.iter().all(|id| sessions.get(id, &caller()).is_some()));
}

#[test]
fn a_new_session_is_refused_if_something_goes_on_in_all() {
    let sessions = Sessions::new(Total::default());
    let calls: Vec<_> = (0..SESSIONS_MAX)
        .map(|_| heard_at(&sessions, 1).1.session.begin(&Id::number(1)).expect("free"))
        .collect();
    let another = || sessions.open(Session::new(caller(), Revision::LATEST_LEGACY), None);
    assert_eq!(another().err().map(|refusal| refusal.status().as_u16()), Some(503));
    assert_eq!(sessions.lock().len(), SESSIONS_MAX);
    drop(calls);
    assert!(another().is_ok());
}

#[tokio::test(start_paused = true)]
async fn abandoned_sessions_give_back_what_they_keep() {
    let total = Total::default();
    let sessions = Sessions::new(total.clone());
    let opened: Vec<_> = (0..3).map(|_| heard_at(&sessions, 1)).collect();
    opened.iter().for_each(|(_, open)| drop(open.streams.stand(None).expect("always")));
    opened.iter().for_each(|(_, open)| open.streams.tell(b"news"));
    assert_ne!(total.load(Ordering::Relaxed), 0);
    tokio::time::advance(KEPT_MAX + Duration::from_secs(1)).await;
    sessions.sweep(&open_identity()).await;
    assert_eq!(total.load(Ordering::Relaxed), 0);
}
