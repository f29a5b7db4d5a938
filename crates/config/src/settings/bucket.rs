//! Where artifacts are kept beside the state folder, and the keys to it.

use artifacts::{Bucket, Config};
use redact::Known;
use upstream::Value;

use super::Settling;
use crate::kept::{Kept, known};

const SECTION: &str = "artifacts";

impl Settling<'_> {
    /// The bucket, and what must not be shown of it.
    pub(super) fn artifacts(
        &mut self,
        config: &Config<Value>,
        kept: Option<&Kept>,
    ) -> (Option<Bucket>, Option<Known>) {
        let wrong = config.check();
        for (key, why) in &wrong {
            self.report(&[SECTION, key], format!("{SECTION}.{key}: {why}"));
        }
        let (Ok(Some(bucket)), true) = (config.bucket(), wrong.is_empty()) else { return (None, None) };
        let [access, secret] = [("access_key", &config.access_key), ("secret_key", &config.secret_key)]
            .map(|(key, value)| value.as_ref().and_then(|value| self.followed(&[SECTION, key], value, kept)));
        match (access, secret) {
            (Some(access), Some(secret)) => {
                (Some(bucket.asked_by(&access, &secret)), Some(known("artifacts.secret_key", &secret)))
            }
            // Told where it is used.
            _ => (Some(bucket), None),
        }
    }
}
