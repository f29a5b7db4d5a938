//! Tokens that end, and who renews them.

use std::sync::Mutex;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use crate::record::Record;
use crate::token_store::{StoredRecord, TokenStoreError};
use crate::unfinished::Unfinished;

/// A signed-in session, at the moment when its token of an hour is due.
async fn due() -> (World, Arc<Session>) {
    let world = World::new().await;
    world.authority.state().lifetime = Some(3600);
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    assert_eq!(token(&session).await, "access-3");
    world.pass(3600 - 31);
    assert_eq!(token(&session).await, "access-3");
    world.pass(1);
    world.authority.log();
    (world, session)
}

#[tokio::test]
async fn a_token_is_renewed_shortly_before_it_ends() {
    let (world, session) = due().await;
    assert_eq!(token(&session).await, "access-5");
    assert_eq!(token(&session).await, "access-5");
    assert_eq!(world.authority.log(), ["token refresh_token client-1 by nothing"]);
}

#[tokio::test]
async fn two_processes_renew_once_and_both_stay_signed_in() {
    for repeats_itself in [false, true] {
        let world = World::new().await;
        world.authority.state().lifetime = Some(600);
        world.authority.state().repeats_itself = repeats_itself;
        let (one, other) = (world.session(Settings::default()), world.session(Settings::default()));
        world.sign_in(&one).await;
        let mut last = token(&other).await;
        // From the second time on, both know where to ask and do so at once. The server takes everything back if a
        // refresh token is used twice, so that a later round shows what an earlier one did wrong.
        for _ in 0..5 {
            world.pass(570);
            world.authority.log();
            let many = (0..8).map(|index| {
                let session = if index % 2 == 0 { Arc::clone(&one) } else { Arc::clone(&other) };
                tokio::spawn(async move { token(&session).await })
            });
            let mut tokens = Vec::new();
            for task in many.collect::<Vec<_>>() {
                tokens.push(task.await.unwrap());
            }
            tokens.dedup();
            assert_eq!(tokens.len(), 1, "{tokens:?}");
            assert_eq!(tokens[0] == last, repeats_itself);
            last.clone_from(&tokens[0]);
            let log = world.authority.log();
            assert_eq!(log.iter().filter(|line| line.starts_with("token")).count(), 1, "{log:?}");
        }
    }
}

/// A token store at which another process is done just before it gives out its first lease.
struct Overtaken {
    kept: Arc<InMemory>,
    by: Mutex<Option<Record>>,
}

impl TokenStore for Overtaken {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<StoredRecord>, TokenStoreError>> {
        self.kept.load(key)
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, TokenStoreError>> {
        self.kept.replace(key, expected, record)
    }

    fn acquire<'a>(
        &'a self,
        key: &'a str,
        holder: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        async move {
            let record = self.by.lock().unwrap().take();
            if let Some(record) = record {
                let version = self.kept.load(key).await?.map(|kept| kept.version);
                self.kept.replace(key, version, Some(&record.write().unwrap())).await?;
            }
            self.kept.acquire(key, holder, time).await
        }
        .boxed()
    }

    fn release<'a>(&'a self, key: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), TokenStoreError>> {
        self.kept.release(key, holder)
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, TokenStoreError>> {
        self.kept.keys(prefix)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        self.kept.remove(key)
    }

    fn unfinished(&self) -> &Unfinished {
        self.kept.unfinished()
    }
}

#[tokio::test]
async fn what_another_process_did_before_the_claim_counts() {
    let (world, session) = due().await;
    let mut record = session.load().await.unwrap();
    let tokens = record.tokens.as_mut().unwrap();
    tokens.access = "the-other's".to_owned();
    tokens.expires_at = Some(START + 7200);
    let token_store = Overtaken { kept: Arc::clone(&world.token_store), by: Mutex::new(Some(record)) };
    let session = world.account_at(Arc::new(token_store), Settings::default());
    assert_eq!(token(&session).await, "the-other's");
    assert_eq!(world.authority.log(), ["metadata"]);
    // And the lease has been given back.
    assert!(world.token_store.acquire(&session.key, "somebody", Duration::from_secs(1)).await.unwrap());
}

#[tokio::test]
async fn a_refresh_token_that_another_process_has_used_up_is_not_sent_again() {
    let (world, session) = due().await;
    let before = session.load().await.unwrap();
    assert_eq!(token(&session).await, "access-5");
    let after = session.load().await.unwrap();
    // A process that was slow finds only after it has the lease what the other did, and that has ended, too.
    world.pass(3600);
    let kept = Arc::new(InMemory::default());
    kept.replace(&session.key, None, Some(&before.write().unwrap())).await.unwrap();
    let token_store = Arc::new(Overtaken { kept, by: Mutex::new(Some(after)) });
    let slow = world.account_at(token_store, Settings::default());
    assert_eq!(token(&slow).await, "access-7");
}

#[tokio::test]
async fn a_process_that_knows_the_former_issuer_does_not_forget_a_sign_in_at_the_next() {
    let (world, session) = due().await;
    world.authority.state().lifetime = Some(10);
    assert_eq!(token(&session).await, "access-5");
    world.authority.state().issuer_path = "/other";
    world.sign_in(&world.session(Settings::default())).await;
    world.pass(8);
    assert_eq!(token(&session).await, "access-11");
}

#[tokio::test]
async fn a_server_that_takes_its_time_to_fail_is_not_asked_again_at_once() {
    let (world, session) = due().await;
    world.authority.state().lifetime = Some(10);
    assert_eq!(token(&session).await, "access-5");
    world.pass(10);
    world.authority.log();
    world.authority.state().instead = vec![(503, "<p>Sorry</p>".to_owned()); 3];
    world.authority.state().slow = Some((10, Arc::clone(&world.now)));
    for _ in 0..3 {
        assert!(session.access_token().await.is_err());
        world.pass(2);
    }
    assert_eq!(world.authority.log(), ["token refresh_token client-1 by nothing"]);
}

#[tokio::test]
async fn a_program_that_ends_keeps_the_token_that_is_on_its_way_and_asks_for_no_other() {
    let (world, session) = due().await;
    let unfinished = world.token_store.unfinished();
    let task = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.access_token().await }
    });
    while !unfinished.is_there() {
        tokio::task::yield_now().await;
    }
    assert!(unfinished.finish().await);
    assert_eq!(session.load().await.unwrap().tokens.unwrap().access, "access-5");
    assert!(world.token_store.acquire(&session.key, "somebody", Duration::ZERO).await.unwrap());
    assert_eq!(task.await.unwrap().unwrap().unwrap().secret(), "access-5");
    world.pass(3600);
    assert_eq!(
        world.shown(session.access_token().await),
        "keep: sign-ins cannot be kept: the program is ending"
    );
    assert_eq!(world.authority.log().iter().filter(|line| line.starts_with("token")).count(), 1);
}

#[tokio::test]
async fn an_account_that_waits_for_another_process_is_busy() {
    let (world, session) = due().await;
    assert!(
        world
            .token_store
            .acquire(&session.key, "a process that died", Duration::from_secs(60))
            .await
            .unwrap()
    );
    assert!(!session.is_busy());
    let task = tokio::spawn({
        let session = Arc::clone(&session);
        async move { token(&session).await }
    });
    while !session.is_busy() {
        tokio::task::yield_now().await;
    }
    world.token_store.release(&session.key, "a process that died").await.unwrap();
    assert_eq!(task.await.unwrap(), "access-5");
    assert!(!session.is_busy());
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_lose_the_renewed_token() {
    let (world, session) = due().await;
    let task = tokio::spawn({
        let session = Arc::clone(&session);
        async move { session.access_token().await }
    });
    // One turn lets it begin; the answer can only come after that.
    tokio::task::yield_now().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(token(&session).await, "access-5");
    assert_eq!(world.authority.log(), ["token refresh_token client-1 by nothing"]);
}

#[tokio::test]
async fn while_it_is_good_a_token_survives_a_server_in_trouble() {
    let (world, session) = due().await;
    world.authority.state().instead = vec![(503, "<p>Sorry</p>".to_owned()); 3];
    assert_eq!(token(&session).await, "access-3");
    assert_eq!(token(&session).await, "access-3");
    assert_eq!(world.authority.log().len(), 1);
    world.pass(5);
    assert_eq!(token(&session).await, "access-3");
    assert_eq!(world.authority.log().len(), 1);
    // Now it has ended, and it is still too early to ask again.
    world.pass(25 - 1);
    assert_eq!(world.authority.log().len(), 0);
    assert_eq!(token(&session).await, "access-3");
    world.pass(1);
    for _ in 0..5 {
        let error = world.shown(session.access_token().await);
        assert_eq!(error, "Other: HOST/token answered 503 with HTML, not with a token");
    }
    assert_eq!(world.authority.log().len(), 1);
    world.pass(20);
    assert_eq!(token(&session).await, "access-5");
}

#[tokio::test]
async fn a_sign_in_that_has_ended_is_forgotten_and_nobody_is_asked_again() {
    let (world, session) = due().await;
    world.authority.state().instead = vec![(400, r#"{"error":"invalid_grant"}"#.to_owned())];
    let why =
        "sign in: the sign-in has ended, sign in again: HOST/token refuses to issue a token (invalid_grant)";
    assert_eq!(world.shown(session.access_token().await), why);
    assert_eq!(world.shown(session.access_token().await), why);
    assert_eq!(session.status().await.unwrap(), Status::NotSignedIn);
    world.pass(2);
    assert_eq!(token(&session).await, "none");
    assert_eq!(world.authority.log(), ["token refresh_token client-1 by nothing"]);
    // The client is still known.
    world.sign_in(&session).await;
    assert!(!world.authority.log().iter().any(|line| line.starts_with("register")));
}

#[tokio::test]
async fn a_refused_refresh_token_takes_nobody_s_new_sign_in_with_it() {
    let (world, one) = due().await;
    let other = world.session(Settings::default());
    // The other process signs in anew just before the first learns that its old refresh token is not good.
    let sign_in = other.begin().await.unwrap();
    let callback = world.authority.consent(sign_in.url());
    let record = one.load().await.unwrap();
    sign_in.finish(&callback).await.unwrap();
    one.forget_tokens(record.tokens.as_ref().unwrap()).await.unwrap();
    assert_eq!(token(&one).await, token(&other).await);
    assert_eq!(token(&one).await, "access-6");
}

#[tokio::test]
async fn a_client_that_its_server_has_forgotten_is_registered_anew() {
    let (world, session) = due().await;
    world.authority.state().instead = vec![(401, r#"{"error":"invalid_client"}"#.to_owned())];
    assert_eq!(
        world.shown(session.access_token().await),
        "sign in: sign in again: HOST/token refuses to issue a token (invalid_client)"
    );
    world.sign_in(&session).await;
    assert!(world.authority.log().contains(&"register client-5".to_owned()));
}

#[tokio::test]
async fn without_a_refresh_token_a_token_is_used_to_its_end() {
    let world = World::new().await;
    world.authority.state().lifetime = Some(60);
    world.authority.state().issues_no_refresh = true;
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    world.pass(59);
    assert_eq!(token(&session).await, "access-3");
    world.pass(1);
    assert_eq!(world.shown(session.access_token().await), "sign in: the sign-in has expired, sign in again");
}

#[tokio::test]
async fn a_token_of_seconds_is_used_for_half_of_them() {
    let world = World::new().await;
    world.authority.state().lifetime = Some(4);
    let session = world.session(Settings::default());
    world.sign_in(&session).await;
    world.pass(1);
    assert_eq!(token(&session).await, "access-3");
    world.pass(1);
    assert_eq!(token(&session).await, "access-5");
    world.authority.state().lifetime = Some(0);
    world.pass(2);
    assert_eq!(token(&session).await, "access-7");
    assert_eq!(token(&session).await, "access-7");
}
