//! The account's record at its keeper: read, changed without losing what another process wrote, and claimed.

use std::time::Duration;

use tokio::time::sleep;

use super::Account;
use crate::assertion::random_name;
use crate::error::{AuthError, Reason};
use crate::keeper::KeepError;
use crate::record::Record;
use crate::unfinished::Piece;

/// So often a change is tried again after another process was faster. Each time it was, it made progress.
const CHANGES_MAX: usize = 16;

/// Longer than a look-up, a request and the disk take; whoever has the claim then has it no more. A machine that needs
/// two requests may lose it in between, which costs nothing but one more token.
const CLAIM_TIME: Duration = Duration::from_secs(20);

/// Longer than a claim, so that a process that died with one holds nobody up for good.
const CLAIM_WAIT: Duration = Duration::from_secs(22);

/// Between two looks whether the claim is free or its work done.
const CLAIM_PAUSE: Duration = Duration::from_millis(50);

/// The right to renew or register, for a while. It is given back by `Account::release`; if that never happens, it
/// ends by itself.
pub(super) struct Claim {
    holder: String,
    /// What is done under a claim is waited for when the program ends.
    _piece: Piece,
}

impl Account {
    /// What is kept; an empty record if nothing is.
    pub(super) async fn load(&self) -> Result<Record, AuthError> {
        let kept = self.keeper.load(&self.key).await?;
        Ok(kept.map(|kept| Record::read(&kept.record)).unwrap_or_default())
    }

    /// Changes what is kept, and returns what it then is. `change` is called with what is kept at that moment, once
    /// more each time another process was faster; what it leaves as it is is not written.
    pub(super) async fn update(&self, change: &(dyn Fn(&mut Record) + Sync)) -> Result<Record, AuthError> {
        for _ in 0..CHANGES_MAX {
            let kept = self.keeper.load(&self.key).await?;
            let before = kept.as_ref().map(|kept| Record::read(&kept.record)).unwrap_or_default();
            let mut record = before.clone();
            change(&mut record);
            if record == before {
                return Ok(record);
            }
            let bytes = if record.is_empty() { None } else { Some(record.write()?) };
            let version = kept.map(|kept| kept.version);
            if self.keeper.replace(&self.key, version, bytes.as_deref()).await?.is_some() {
                return Ok(record);
            }
        }
        Err(KeepError("other processes change them all the time".to_owned()).into())
    }

    /// Claims the record, so that no other process renews or registers at the same time. `done` looks at what is
    /// kept, before and after the claim is got, and ends the waiting if another process has done the work already.
    pub(super) async fn claim<T>(
        &self,
        done: &(dyn Fn(&Record) -> Option<T> + Sync),
    ) -> Result<Result<T, Claim>, AuthError> {
        let holder = random_name()?;
        let pauses = CLAIM_WAIT.as_millis() / CLAIM_PAUSE.as_millis();
        for _ in 0..pauses {
            if let Some(work) = done(&self.load().await?) {
                return Ok(Ok(work));
            }
            if let Some(claim) = self.try_claim(&holder).await? {
                // Whoever had it before may have finished between the two.
                return match self.load().await.map(|record| done(&record)) {
                    Ok(None) => Ok(Err(claim)),
                    Ok(Some(work)) => {
                        self.release(claim).await;
                        Ok(Ok(work))
                    }
                    Err(error) => {
                        self.release(claim).await;
                        Err(error)
                    }
                };
            }
            sleep(CLAIM_PAUSE).await;
        }
        Err(busy())
    }

    /// Claims the record whatever is kept, even if it cannot be read.
    pub(super) async fn claim_alone(&self) -> Result<Claim, AuthError> {
        let holder = random_name()?;
        for _ in 0..CLAIM_WAIT.as_millis() / CLAIM_PAUSE.as_millis() {
            if let Some(claim) = self.try_claim(&holder).await? {
                return Ok(claim);
            }
            sleep(CLAIM_PAUSE).await;
        }
        Err(busy())
    }

    /// Claims the record unless somebody else has done that.
    async fn try_claim(&self, holder: &str) -> Result<Option<Claim>, AuthError> {
        let begun = self.keeper.unfinished().begin();
        let piece = begun.ok_or_else(|| KeepError("the program is ending".to_owned()))?;
        let is_ours = self.keeper.claim(&self.key, holder, CLAIM_TIME).await?;
        Ok(is_ours.then(|| Claim { holder: holder.to_owned(), _piece: piece }))
    }

    /// Gives back a claim. If that fails, it ends by itself.
    pub(super) async fn release(&self, claim: Claim) {
        if let Err(error) = self.keeper.release(&self.key, &claim.holder).await {
            tracing::debug!(server = %self.name, %error, "a claim could not be given back and has to run out");
        }
    }
}

fn busy() -> AuthError {
    AuthError::failed(Reason::Other, "another process has been busy with this sign-in for too long")
}
