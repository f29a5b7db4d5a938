//! `StateTokens`: what accounts remember, sealed in the state folder and shared by all processes of its owner.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use oauth::{StoredRecord, TokenStore, TokenStoreError, Unfinished};
use store::{Secrets, StoreError};
use terminal::runtime;
use terminal::times::now_ms;
use tokio::task::spawn_blocking;

use admin::chain;

/// Keeps records in the state folder. Nothing touches the disk until something is asked or kept.
pub(crate) struct StateTokens {
    secrets: Arc<Secrets>,
    unfinished: Unfinished,
}

impl StateTokens {
    /// Keeps what accounts remember among `secrets`. The run that this is part of waits for what must be kept.
    pub(crate) fn new(secrets: Arc<Secrets>) -> StateTokens {
        StateTokens { secrets, unfinished: runtime::unfinished() }
    }

    /// Runs `work` where a person's keyring and the disk may be waited for. It goes on if nobody waits any more: a new token that has
    /// arrived is kept, whoever asked for it.
    fn run<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&Secrets) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, TokenStoreError>> {
        let secrets = self.secrets.clone();
        let running = spawn_blocking(move || work(&secrets));
        let lost = |_| TokenStoreError("the program is ending".to_owned());
        async move { running.await.map_err(lost)?.map_err(cannot) }.boxed()
    }
}

fn cannot(error: StoreError) -> TokenStoreError {
    TokenStoreError(chain(&error))
}

impl TokenStore for StateTokens {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<StoredRecord>, TokenStoreError>> {
        let key = key.to_owned();
        self.run(move |secrets| {
            let opened = secrets.load(&key)?;
            Ok(opened.map(|opened| StoredRecord { version: opened.version, record: opened.value }))
        })
    }

    fn replace<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        record: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, TokenStoreError>> {
        let (key, record) = (key.to_owned(), record.map(<[u8]>::to_owned));
        self.run(move |secrets| secrets.replace(&key, expected, record.as_deref()))
    }

    fn acquire<'a>(
        &'a self,
        key: &'a str,
        holder: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        let now_ms = now_ms();
        let until_ms = now_ms.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        self.secrets.store().acquire(key, holder, now_ms, until_ms).map_err(cannot).boxed()
    }

    fn release<'a>(&'a self, key: &'a str, holder: &'a str) -> BoxFuture<'a, Result<(), TokenStoreError>> {
        self.secrets.store().release(key, holder).map_err(cannot).boxed()
    }

    fn keys<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, TokenStoreError>> {
        let prefix = prefix.to_owned();
        self.run(move |secrets| secrets.names(&prefix))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        let key = key.to_owned();
        self.run(move |secrets| secrets.remove(&key))
    }

    fn unfinished(&self) -> &Unfinished {
        &self.unfinished
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::path::Path;

    use store::SqliteStore;

    use super::*;

    fn tokens(state: &Path) -> StateTokens {
        StateTokens::new(Arc::new(Secrets::new(Arc::new(SqliteStore::at(state)), state)))
    }

    fn check<F: Future<Output = Result<(), TokenStoreError>>>(
        work: impl FnOnce(StateTokens, StateTokens) -> F,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        terminal::runtime::run(work(tokens(&state), tokens(&state))).expect("a runtime").expect("kept");
    }

    #[test]
    fn two_processes_keep_one_record() {
        check(|first, second| async move {
            assert_eq!(first.load("a").await?, None);
            let one = first.replace("a", None, Some(b"one")).await?;
            let kept = second.load("a").await?.expect("a record");
            assert_eq!((Some(kept.version), kept.record), (one, b"one".to_vec()));
            let two = second.replace("a", one, Some(b"two")).await?;
            assert_eq!(first.replace("a", one, Some(b"late")).await?, None);
            assert_eq!(first.replace("a", one, None).await?, None);
            assert_eq!(first.replace("a", two, None).await?, Some(0));
            assert_eq!(second.load("a").await?, None);
            Ok(())
        });
    }

    #[test]
    fn a_claim_is_held_by_one() {
        const LONG: Duration = Duration::from_secs(60);
        check(|first, second| async move {
            assert!(first.acquire("a", "me", LONG).await?);
            assert!(!second.acquire("a", "you", LONG).await?);
            second.release("a", "you").await?;
            assert!(!second.acquire("a", "you", LONG).await?);
            first.release("a", "me").await?;
            assert!(second.acquire("a", "you", Duration::ZERO).await?);
            assert!(first.acquire("a", "me", LONG).await?, "that one was over at once");
            Ok(())
        });
    }

    #[test]
    fn a_folder_that_cannot_be_is_said_and_nothing_of_the_record() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let tokens = tokens(&file.path().join("state"));
        let kept = terminal::runtime::run(async { tokens.replace("a", None, Some(b"s3cret")).await });
        let error = kept.expect("a runtime").expect_err("no folder").to_string();
        assert!(error.starts_with("sign-ins cannot be kept: the state folder "), "{error}");
        assert!(error.contains("Not a directory") && !error.contains("s3cret"), "{error}");
    }
}
