//! `Draft`: an offer while it is made of what a server lists.

use std::sync::Weak;

use pins::Judge;

use crate::kind::Kind;
use crate::listing::{Entry, Listed};
use crate::lists::Lists;
use crate::offer::{Offer, Withheld};
use crate::settings::Settings;
use crate::upstream::Upstream;

pub(crate) struct Draft<'a> {
    pub(crate) lists: &'a Lists,
    pub(crate) settings: &'a Settings,
    pub(crate) upstream: &'a Weak<Upstream>,
    pub(crate) judge: &'a Judge,
    pub(crate) offer: Offer,
}

impl Draft<'_> {
    /// Says why an entry cannot be offered, whoever accepts it.
    pub(crate) fn withhold(&mut self, kind: Kind, key: &str, why: String) {
        let name = self.settings.mask().shown_name(key);
        self.offer.withheld.push(Withheld { kind: kind.singular(), name, why });
    }

    /// Says what of a list nobody has a use for: entries that are not sound, that nest too deeply, or have a secret in the
    /// name.
    pub(crate) fn withhold_unusable(&mut self, listed: &Listed) {
        for name in &listed.concealed {
            self.withhold(listed.kind, name, "its name holds a secret".to_owned());
        }
        if listed.unusable > 0 {
            let name = format!("{} without a sound definition", listed.unusable);
            self.withhold(listed.kind, &name, listed.kind.needs().to_owned());
        }
    }

    /// What a caller is told of an entry that is not offered before a person accepts it; nothing if it may be offered.
    pub(crate) fn hold_back(&mut self, kind: Kind, entry: &Entry) -> Option<String> {
        let held = entry.held(kind, entry.objection(kind, self.judge)?, self.settings.mask());
        let advice = held.advice(self.settings.name());
        self.offer.held.push(held);
        Some(advice)
    }
}
