//! `Examined`: the definitions of one server, looked at.

use pins::{Change, Definition, Finding, Pinned, Pins, Risk, Scanner, Trust, What, Why, difference, risks};
use serde_json::Value;
use upstream::Settings;

use super::known_pins::KnownPins;
use super::{Examination, Found, ServerTrust, Shown};

/// One server, and what is known of its definitions.
pub(super) struct Examined<'a> {
    settings: &'a Settings,
    pins: Option<&'a Pins>,
    error: Option<&'a str>,
    scanner: Scanner,
}

impl<'a> Examined<'a> {
    pub(super) fn of(settings: &'a Settings, known: &'a KnownPins<'_>) -> Examined<'a> {
        // What is offered as it comes is not looked at.
        let pins = known.of(settings.name()).filter(|_| settings.trust != Trust::Trust);
        let error = pins.and_then(Result::err);
        Examined { settings, pins: pins.and_then(Result::ok), error, scanner: known.scanner(settings.name()) }
    }

    pub(super) fn report(&self) -> ServerTrust {
        let all = || self.pins.into_iter().flat_map(Pins::all);
        let held = all().filter(|(.., pinned)| pinned.held(self.settings.trust).is_some());
        let others = all().filter(|(.., pinned)| pinned.shown.is_none());
        let found = others.map(|(kind, name, pinned)| {
            let findings = self.found(kind, name, pinned);
            Found { kind, name: name.to_owned(), findings }
        });
        ServerTrust {
            name: self.settings.name().to_owned(),
            trust: self.settings.trust,
            seen: self.pins.is_some() || self.error.is_some(),
            error: self.error.map(str::to_owned),
            accepted: all().filter(|(.., pinned)| pinned.accepted.is_some()).count(),
            held_back: held.map(|(kind, name, pinned)| self.examination(kind, name, pinned)).collect(),
            findings: found.filter(|found| !found.findings.is_empty()).collect(),
        }
    }

    pub(super) fn shown(&self, kind: What, name: &str, pinned: &Pinned) -> Shown {
        let json = |definition: &Option<Definition>| -> Value {
            text(definition.as_ref()).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        Shown {
            examination: self.examination(kind, name, pinned),
            accepted: json(&pinned.accepted),
            shown: json(&pinned.shown),
        }
    }

    /// What has changed about a definition, and what to think of that.
    pub(super) fn changes(&self, what: What, key: &str, pinned: &Pinned) -> (Vec<Change>, Vec<Risk>) {
        let Some(shown) = text(pinned.shown.as_ref()) else { return (Vec::new(), Vec::new()) };
        let before = text(pinned.accepted.as_ref());
        let changes = difference(before, Some(shown));
        let search = |text: &str| self.scanner.search(what, key, text);
        let risks = risks(&changes, &before.map(search).unwrap_or_default(), &search(shown));
        (changes, risks)
    }

    fn examination(&self, kind: What, name: &str, pinned: &Pinned) -> Examination {
        let (changes, risks) = self.changes(kind, name, pinned);
        let hash = |definition: &Option<Definition>| definition.as_ref().map(|it| it.hash.clone());
        let why = pinned.held(self.settings.trust);
        Examination {
            kind,
            name: name.to_owned(),
            why: why.as_ref().map(|why| why.word().to_owned()),
            because: why.as_ref().map(in_short),
            accepted_hash: hash(&pinned.accepted),
            shown_hash: hash(&pinned.shown),
            is_gone: pinned.gone_ms.is_some(),
            changes,
            risks,
            findings: self.found(kind, name, pinned),
        }
    }

    fn found(&self, what: What, key: &str, pinned: &Pinned) -> Vec<Finding> {
        let text = text(pinned.shown.as_ref().or(pinned.accepted.as_ref()));
        text.map(|text| self.scanner.search(what, key, text)).unwrap_or_default()
    }
}

/// What a definition says; nothing if it was too long to be kept.
fn text(definition: Option<&Definition>) -> Option<&str> {
    definition?.text.as_deref()
}

/// Why, without what was found: that stands beside it.
fn in_short(why: &Why) -> String {
    match why {
        Why::Suspicious(_) => "it looks suspicious".to_owned(),
        Why::New | Why::Changed | Why::Unreviewed | Why::Rejected | Why::Unknown(_) => why.to_string(),
    }
}
