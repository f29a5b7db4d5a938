//! The session's record at its token store: read, changed without losing what another process wrote, and claimed.

use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use crate::assertion::random_name;
use crate::error::{AuthError, Reason};
use crate::record::Record;
use crate::token_store::TokenStoreError;
use crate::unfinished::Piece;

/// So often a change is tried again after another process was faster. Each time it was, it made progress.
const CHANGES_MAX: usize = 16;

/// Longer than a look-up, a request and the disk take; whoever has the lease then has it no more. A machine that needs
/// two requests may lose it in between, which costs nothing but one more token.
const LEASE_TIME: Duration = Duration::from_secs(20);

/// Longer than a lease, so that a process that died with one holds nobody up for good.
const LEASE_WAIT: Duration = Duration::from_secs(22);

/// Between two looks whether the lease is free or its work done.
const LEASE_PAUSE: Duration = Duration::from_millis(50);

/// The right to renew or register, for a while. It is given back by `Session::release`; if that never happens, it
/// ends by itself.
pub(super) struct Lease {
    holder: String,
    /// What is done under a lease is waited for when the program ends.
    _piece: Piece,
}

impl Session {
    /// What is kept; an empty record if nothing is.
    pub(super) async fn load(&self) -> Result<Record, AuthError> {
        let kept = self.token_store.load(&self.key).await?;
        Ok(kept.map(|kept| Record::read(&kept.record)).unwrap_or_default())
    }

    /// Changes what is kept, and returns what it then is. `change` is called with what is kept at that moment, once
    /// more each time another process was faster; what it leaves as it is is not written.
    pub(super) async fn update(&self, change: &(dyn Fn(&mut Record) + Sync)) -> Result<Record, AuthError> {
        for _ in 0..CHANGES_MAX {
            let kept = self.token_store.load(&self.key).await?;
            let before = kept.as_ref().map(|kept| Record::read(&kept.record)).unwrap_or_default();
            let mut record = before.clone();
            change(&mut record);
            if record == before {
                return Ok(record);
            }
            let bytes = if record.is_empty() { None } else { Some(record.write()?) };
            let version = kept.map(|kept| kept.version);
            if self.token_store.replace(&self.key, version, bytes.as_deref()).await?.is_some() {
                return Ok(record);
            }
        }
        Err(TokenStoreError("other processes change them all the time".to_owned()).into())
    }

    /// Claims the record, so that no other process renews or registers at the same time. `done` looks at what is
    /// kept, before and after the lease is got, and ends the waiting if another process has done the work already.
    pub(super) async fn acquire<T>(
        &self,
        done: &(dyn Fn(&Record) -> Option<T> + Sync),
    ) -> Result<Result<T, Lease>, AuthError> {
        let holder = random_name()?;
        let pauses = LEASE_WAIT.as_millis() / LEASE_PAUSE.as_millis();
        for _ in 0..pauses {
            if let Some(work) = done(&self.load().await?) {
                return Ok(Ok(work));
            }
            if let Some(lease) = self.try_acquire(&holder).await? {
                // Whoever had it before may have finished between the two.
                return match self.load().await.map(|record| done(&record)) {
                    Ok(None) => Ok(Err(lease)),
                    Ok(Some(work)) => {
                        self.release(lease).await;
                        Ok(Ok(work))
                    }
                    Err(error) => {
                        self.release(lease).await;
                        Err(error)
                    }
                };
            }
            sleep(LEASE_PAUSE).await;
        }
        Err(busy())
    }

    /// Claims the record whatever is kept, even if it cannot be read.
    pub(super) async fn acquire_alone(&self) -> Result<Lease, AuthError> {
        let holder = random_name()?;
        for _ in 0..LEASE_WAIT.as_millis() / LEASE_PAUSE.as_millis() {
            if let Some(lease) = self.try_acquire(&holder).await? {
                return Ok(lease);
            }
            sleep(LEASE_PAUSE).await;
        }
        Err(busy())
    }

    /// Claims the record unless somebody else has done that.
    async fn try_acquire(&self, holder: &str) -> Result<Option<Lease>, AuthError> {
        let begun = self.token_store.unfinished().begin();
        let piece = begun.ok_or_else(|| TokenStoreError("the program is ending".to_owned()))?;
        let is_ours = self.token_store.acquire(&self.key, holder, LEASE_TIME).await?;
        Ok(is_ours.then(|| Lease { holder: holder.to_owned(), _piece: piece }))
    }

    /// Does work under a lease, and gives it back.
    pub(super) async fn under<T>(
        &self,
        lease: Lease,
        work: impl Future<Output = Result<T, AuthError>>,
    ) -> Result<T, AuthError> {
        let outcome = work.await;
        self.release(lease).await;
        outcome
    }

    /// Gives back a lease. If that fails, it ends by itself.
    async fn release(&self, lease: Lease) {
        if let Err(error) = self.token_store.release(&self.key, &lease.holder).await {
            tracing::debug!(server = %self.name, %error, "a lease could not be given back and has to run out");
        }
    }
}

fn busy() -> AuthError {
    AuthError::failed(Reason::Other, "another process has been busy with this sign-in for too long")
}
