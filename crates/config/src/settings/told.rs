//! Who is told of the end of a job: the table `[jobs.notify]`, with its secret followed to where it is kept.

use gate::jobs::NotifySecret;
use redact::Known;
use sandbox::egress::CompanyProxy;
use upstream::{Value, references};

use super::Settling;
use crate::kept::{Kept, known};

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
            *secret = self.followed(&SECRET, &Value::Reference(reference), kept)?;
        }
        Some(known("jobs.notify.secret", secret))
    }
}
