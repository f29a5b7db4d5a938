//! Callers by every kind of credential, and everybody who is none.
#![expect(clippy::disallowed_methods, reason = "a state folder that loses files")]

mod auth_settings;
mod sample_issuer;
mod tokens;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gate::keys::{KeyRequest, all, create, is_held, revoke};
use gate::{Role, Roles, Scopes};
use http::{HeaderName, HeaderValue};
use store::SqliteStore;
use tempfile::TempDir;
use tokio::time::{advance, pause, resume};

use super::*;

/// When all this happens, in seconds since 1970.
const NOW_S: i64 = 1_000_000;

thread_local! {
    /// The clock of one test.
    static CLOCK_MS: AtomicI64 = const { AtomicI64::new(NOW_S * 1000) };
}

fn now_ms() -> i64 {
    CLOCK_MS.with(|clock| clock.load(Ordering::Relaxed))
}

fn set_clock(seconds: i64) {
    CLOCK_MS.with(|clock| clock.store(seconds * 1000, Ordering::Relaxed));
}

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

type Lines<'l> = &'l [(&'l str, &'l str)];

/// An identity over a state of its own.
struct Sample {
    identity: Identity,
    folder: TempDir,
}

impl Sample {
    fn new(section: &str, open_on_loopback: Option<bool>) -> Sample {
        let folder = tempfile::tempdir().expect("a folder");
        let identity = identity(section, open_on_loopback, folder.path());
        Sample { identity, folder }
    }

    /// The store as another process has it.
    fn store(&self) -> SqliteStore {
        SqliteStore::at(self.folder.path())
    }

    fn create(&self, name: &str, roles: Roles, expires_ms: Option<i64>) -> String {
        let request =
            KeyRequest { name: name.into(), roles, scopes: None, person: false, now_ms: 0, expires_ms };
        let (key, _) = create(&self.store(), request).expect("created");
        key.reveal().to_owned()
    }

    /// Who sends these headers from `peer`, in a few words.
    async fn ask_from(&self, peer: IpAddr, lines: Lines<'_>) -> String {
        match self.identity.identify(&headers(lines), peer).await {
            Ok(caller) => format!("{} {:?} {:?}", caller.id(), caller.kind(), caller.roles()),
            Err(unknown) => format!("{unknown:?}"),
        }
    }

    async fn ask(&self, credential: &str) -> String {
        self.ask_from(HERE, &[("authorization", &format!("Bearer {credential}"))]).await
    }
}

fn identity(section: &str, open_on_loopback: Option<bool>, folder: &std::path::Path) -> Identity {
    let config: Config = toml::from_str(section).expect("a sample reads");
    let address = SocketAddr::from(([127, 0, 0, 1], 3000));
    config.check(address).expect("a good section");
    let store = Arc::new(SqliteStore::at(folder));
    let identity = Identity::new(&config, open_on_loopback, store, Client::new(), now_ms);
    identity.served_at("http", address);
    identity
}

fn headers(lines: Lines<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a sample");
        headers.append(name, HeaderValue::from_str(value).expect("a sample"));
    }
    headers
}

/// Lets time pass that no request is under way in: answers come from real sockets and threads, which a stopped clock
/// would not wait for.
async fn pass(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

#[track_caller]
fn holds(said: &str, part: &str) {
    assert!(said.contains(part), "{said:?} does not say {part:?}");
}

#[tokio::test]
async fn whoever_says_nothing_is_the_local_user_or_nobody() {
    let (open, closed) = (Some(true), Some(false));
    let (local, key) = ("local LocalUser", "which a person makes");
    let there: IpAddr = "192.0.2.1".parse().expect("an address");
    let mapped: IpAddr = "::ffff:127.0.0.1".parse().expect("an address");
    let proxied = [("x-forwarded-for", "192.0.2.7")];
    let issuer = "[[issuers]]\nissuer = 'https://login.example'";
    let cases: [(&str, Option<bool>, IpAddr, Lines<'_>, &str); 15] = [
        ("", None, HERE, &[], local),
        ("", open, HERE, &[], local),
        ("", open, mapped, &[], local),
        ("", closed, HERE, &[], key),
        ("", open, there, &[], "from other machines"),
        ("", None, there, &[], "from other machines"),
        ("", open, HERE, &proxied, "proxy forwards"),
        ("", None, HERE, &proxied, "proxy forwards"),
        ("", open, HERE, &[("forwarded", "for=192.0.2.7")], "proxy forwards"),
        ("", open, HERE, &[("via", "1.1 proxy")], "proxy forwards"),
        ("", open, HERE, &[("x-forwarded-host", "crib.example")], "proxy forwards"),
        ("", None, HERE, &[("cf-connecting-ip", "192.0.2.7")], "proxy forwards"),
        ("", open, HERE, &[("x-forward", "a")], local),
        (issuer, None, HERE, &[], "sign in with a client"),
        (issuer, open, HERE, &[], local),
    ];
    for (section, open_on_loopback, peer, lines, expected) in cases {
        let sample = Sample::new(section, open_on_loopback);
        holds(&sample.ask_from(peer, lines).await, expected);
    }
}

#[tokio::test]
async fn a_door_that_a_key_has_shut_stays_shut_when_the_keys_are_gone() {
    for (loss, is_later_process) in [("gone", true), ("empty", true), ("revoked", true), ("gone", false)] {
        let sample = Sample::new("", None);
        sample.create("ci", Roles::default(), None);
        if loss == "revoked" {
            revoke(&sample.store(), "ci").expect("revoked");
        }
        assert_eq!(sample.identity.is_open().await, Ok(false), "{loss}");
        for file in
            std::fs::read_dir(sample.folder.path()).expect("a folder").map(|file| file.expect("a file"))
        {
            if file.file_name().to_string_lossy().starts_with("toolcrib.db") {
                std::fs::remove_file(file.path()).expect("removed");
            }
        }
        if loss == "empty" {
            std::fs::write(sample.folder.path().join("toolcrib.db"), "").expect("a file");
        }
        pass(Duration::from_millis(1001)).await;
        let later = identity("", None, sample.folder.path());
        let asked = if is_later_process { &later } else { &sample.identity };
        if !is_later_process {
            // Whoever had them open is told once that they are gone, and lets nobody in then either.
            assert!(asked.is_open().await.is_err());
        }
        assert_eq!(asked.is_open().await, Ok(false), "{loss}");
        let anew = identity("", Some(true), sample.folder.path());
        assert_eq!(anew.is_open().await, Ok(true), "whoever says so is let in");
    }
}

#[tokio::test]
async fn the_first_key_shuts_the_door_that_nobody_had_opened() {
    let (by_default, opened) = (Sample::new("", None), Sample::new("", Some(true)));
    for (sample, is_open_later) in [(by_default, false), (opened, true)] {
        assert_eq!(
            (sample.identity.is_open().await, sample.identity.knows_anybody().await),
            (Ok(true), Ok(false))
        );
        sample.create("ci", Roles::default(), None);
        pass(Duration::from_millis(1001)).await;
        assert_eq!(
            (sample.identity.is_open().await, sample.identity.knows_anybody().await),
            (Ok(is_open_later), Ok(true))
        );
        let said = sample.ask_from(HERE, &[]).await;
        holds(&said, if is_open_later { "local LocalUser" } else { "which a person makes" });
        // Whose key is taken back leaves it out.
        revoke(&sample.store(), "ci").expect("revoked");
        pass(Duration::from_millis(1001)).await;
        assert_eq!(
            (sample.identity.is_open().await, sample.identity.knows_anybody().await),
            (Ok(is_open_later), Ok(false))
        );
        let restarted = identity("", None, sample.folder.path());
        assert_eq!(restarted.is_open().await, Ok(false), "nor does another start open it");
    }
}

#[tokio::test]
async fn keys_are_good_until_they_end() {
    let sample = Sample::new("", None);
    let key = sample.create("ci", Roles::default(), None);
    let brief = sample.create("brief", Role::Owner.into(), Some((NOW_S + 1) * 1000));
    assert_eq!(sample.ask(&key).await, "key:ci Key {Agent}");
    assert_eq!(sample.ask_from(HERE, &[("x-api-key", &key)]).await, "key:ci Key {Agent}");
    assert_eq!(sample.ask(&brief).await, "key:brief Key {Owner}");
    set_clock(NOW_S + 1);
    holds(&sample.ask(&brief).await, "expired");
    // Created while the others are in use, by another process.
    let later = sample.create("later", Role::Auditor.into(), None);
    pass(Duration::from_millis(60)).await;
    assert_eq!(sample.ask(&later).await, "key:later Key {Auditor}");
    revoke(&sample.store(), "ci").expect("revoked");
    pass(Duration::from_millis(1001)).await;
    holds(&sample.ask(&key).await, "may have been revoked");
    assert_eq!(sample.ask(&later).await, "key:later Key {Auditor}");
    set_clock(NOW_S);
}

#[tokio::test]
async fn wrong_keys_are_refused_even_where_none_is_needed() {
    let sample = Sample::new("", Some(true));
    let key = sample.create("ci", Roles::default(), None);
    let last = if key.ends_with('a') { "b" } else { "a" };
    let stranger = Sample::new("", None).create("other", Roles::default(), None);
    let forged = format!("{}{}", &key[..10], &stranger[10..]);
    for (credential, expected) in [
        (key.as_str(), "key:ci"),
        (&format!("{}{last}", &key[..58]), "checksum"),
        (&key[..40], "no key of toolcrib"),
        (&stranger, "may have been revoked"),
        (&forged, "checksum"),
        ("tc_", "no key of toolcrib"),
        ("", "no issuer of tokens is trusted"),
        ("a.b.c", "no issuer of tokens is trusted"),
    ] {
        holds(&sample.ask(credential).await, expected);
    }
    let bearer = format!("Bearer {key}");
    for lines in [
        &[("authorization", "Basic YTpi")][..],
        &[("authorization", &bearer), ("authorization", &bearer)],
        &[("authorization", &bearer), ("x-api-key", &key)],
    ] {
        holds(&sample.ask_from(HERE, lines).await, "Malformed");
    }
}

#[tokio::test]
async fn too_many_wrong_ones_are_told_to_wait_and_good_ones_are_not() {
    let sample = Sample::new("", None);
    let key = sample.create("ci", Roles::default(), None);
    for _ in 0..attempts::FAILED_MAX {
        holds(&sample.ask("nonsense").await, "Invalid");
    }
    holds(&sample.ask("nonsense").await, "TooMany");
    holds(&sample.ask(&key).await, "key:ci");
    let there: IpAddr = "192.0.2.1".parse().expect("an address");
    holds(&sample.ask_from(there, &[("x-api-key", "nonsense")]).await, "Invalid");
    pass(attempts::SPAN).await;
    holds(&sample.ask("nonsense").await, "Invalid");
}

#[test]
fn a_revoked_key_is_held_by_nobody() {
    let sample = Sample::new("", None);
    let holder = |id: &str| {
        let caller =
            Caller::new("key:ci".into(), CallerKind::Key, Roles::default(), Scopes::all(), Via::Http);
        caller.with_proof(Proof::Key(id.into()))
    };
    let id_of = |key: &str| key[3..9].to_owned();
    let first = id_of(&sample.create("ci", Roles::default(), None));
    let is_held = |id: &str| is_held(&sample.store(), &holder(id)).expect("readable");
    assert!(is_held(&first));
    revoke(&sample.store(), "ci").expect("revoked");
    assert!(!is_held(&first));
    let later = id_of(&sample.create("ci", Roles::default(), None));
    assert_eq!([is_held(&first), is_held(&later)], [false, true]);
    assert!(gate::keys::is_held(&sample.store(), &Caller::local_user(Via::Stdio)).expect("readable"));
}

#[tokio::test]
async fn keys_that_cannot_be_read_let_nobody_in() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let identity = identity("", None, &file.path().join("state"));
    let key = Sample::new("", None).create("ci", Roles::default(), None);
    for lines in [&[][..], &[("x-api-key", key.as_str())]] {
        let said = format!("{:?}", identity.identify(&headers(lines), HERE).await);
        holds(&said, "Unavailable");
    }
    // What needs no keys does not ask for them.
    let open = self::identity("", Some(true), &file.path().join("state"));
    assert!(open.identify(&headers(&[]), HERE).await.is_ok());
}

#[tokio::test]
async fn the_last_use_of_a_key_is_noted_to_the_hour() {
    let sample = Sample::new("", None);
    let key = sample.create("ci", Roles::default(), None);
    let noted = async |expected: Option<i64>| {
        // Written beside the answer; there is nothing to wait for but the note itself.
        for _ in 0..1_000 {
            if all(&sample.store()).expect("readable")[0].used_ms == expected {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{expected:?} was not noted");
    };
    sample.ask(&key).await;
    noted(Some(NOW_S * 1000)).await;
    set_clock(NOW_S + 3_599);
    sample.ask(&key).await;
    noted(Some(NOW_S * 1000)).await;
    set_clock(NOW_S + 3_600);
    sample.ask(&key).await;
    noted(Some((NOW_S + 3_600) * 1000)).await;
    set_clock(NOW_S);
}

#[test]
fn nothing_shows_a_key() {
    let sample = Sample::new("", None);
    let secret = &sample.create("ci", Roles::default(), None)[10..];
    for unknown in [Unknown::invalid("x"), Unknown::Nobody("x".into())] {
        assert!(!format!("{unknown:?}").contains(secret));
    }
}
