//! Who is told of the end of a job: the table `[jobs.notify]`, with its secret followed to where it is kept.

use gate::jobs::NotifySecret;
use redact::Known;
use sandbox::egress::CompanyProxy;
use upstream::{NotFollowed, Reference, references};

use super::Settling;
use crate::kept::{Kept, known};
use crate::reference::{self, Unfollowed};

const SECRET: [&str; 3] = ["jobs", "notify", "secret"];

impl Settling<'_> {
    /// Checks it, and gives what nobody may see of it.
    pub(super) fn notify(
        &mut self,
        config: &mut gate::jobs::Config,
        company: Option<&CompanyProxy>,
        kept: Option<&Kept>,
    ) -> Option<Known> {
        let notify = config.notify.as_mut()?;
        for (key, why) in notify.check() {
            self.report(&["jobs", "notify", key], format!("jobs.notify.{key}: {why}"));
        }
        notify.company = company.cloned();
        let NotifySecret(secret) = notify.secret.as_mut()?;
        if let Some(reference) = references(secret).into_iter().next() {
            *secret = self.followed(reference, kept)?;
        }
        Some(known("jobs.notify.secret", secret))
    }

    fn followed(&mut self, reference: Reference, kept: Option<&Kept>) -> Option<String> {
        let reference = match reference {
            Reference::File(path) => Reference::File(self.secret_path(&SECRET, &path)),
            other @ (Reference::Env(_) | Reference::Store(_)) => other,
        };
        match (reference::follow(&reference, self.surroundings, kept), self.unfollowed) {
            (Ok(secret), _) => Some(secret),
            // Nothing is going to be told.
            (Err(_), Unfollowed::IsPassedOver) => None,
            (Err(NotFollowed::Wrong(why) | NotFollowed::Missing(why)), _) => {
                self.report(&SECRET, format!("jobs.notify.secret: {why}"));
                None
            }
        }
    }
}
