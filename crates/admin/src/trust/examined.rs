//! `Examined`: the definitions of one server, looked at.

use pins::{
    Change, Definition, Finding, Hash, Pinned, Pins, Risk, Scanner, Trust, What, Why, difference, risks,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use upstream::Settings;

use super::known_pins::KnownPins;

/// What is held back of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTrust {
    /// Its name.
    pub name: String,
    /// What its definitions have to pass.
    pub trust: Trust,
    /// Whether anything is known of it.
    pub seen: bool,
    /// Why what was accepted cannot be read; nothing is offered then.
    pub error: Option<String>,
    /// How many definitions are accepted.
    pub accepted: usize,
    /// What is not offered.
    pub held_back: Vec<Examination>,
    /// What is found in definitions that nothing is to be decided about.
    pub findings: Vec<Found>,
}

/// What is known of one definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Examination {
    /// What it is of.
    pub kind: What,
    /// Its own name or URI.
    pub name: String,
    /// Why it is held back, in a word: `new`, `changed`, `suspicious`, `unreviewed` or `rejected`; nothing if it is accepted.
    pub why: Option<String>,
    /// The same in a sentence.
    pub because: Option<String>,
    /// The hash of what was accepted.
    pub accepted_hash: Option<Hash>,
    /// The hash of what the server shows instead.
    pub shown_hash: Option<Hash>,
    /// Whether the server does not have it any more.
    pub is_gone: bool,
    /// What has changed.
    pub changes: Vec<Change>,
    /// How bad that could be.
    pub risks: Vec<Risk>,
    /// What is found in it.
    pub findings: Vec<Finding>,
}

/// What is found in one definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// What it is of.
    pub kind: What,
    /// Its own name or URI.
    pub name: String,
    /// The worst first.
    pub findings: Vec<Finding>,
}

/// One definition, with its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// What is known of it.
    #[serde(flatten)]
    pub examination: Examination,
    /// What was accepted; null if that was nothing, or too long to be kept.
    pub accepted: Value,
    /// What the server shows instead; null if that is nothing, or too long to be kept.
    pub shown: Value,
}

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
