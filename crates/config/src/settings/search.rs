//! What a web search asks: the table `[search]`, with the keys of its services followed to where they are kept.

use redact::Known;
use tools::{SearchConfig, SearchSettings};
use upstream::Value;

use super::Settling;
use crate::kept::{Kept, known};

const SECTION: &str = "search";

impl Settling<'_> {
    /// Checks it, and gives what nobody may see of it.
    pub(super) fn search(
        &mut self,
        config: &SearchConfig<Value>,
        kept: Option<&Kept>,
    ) -> (SearchSettings, Vec<Known>) {
        let (settings, problems) =
            config.settings(|service, key| self.followed(&[SECTION, "services", service, "key"], key, kept));
        for (keys, why) in problems {
            let keys: Vec<&str> = std::iter::once(SECTION).chain(keys.iter().map(String::as_str)).collect();
            self.report(&keys, format!("{}: {why}", keys.join(".")));
        }
        let keys = settings.keys().map(|(service, key)| known(&format!("search.{service}.key"), key));
        let keys = keys.collect();
        (settings, keys)
    }
}
