//! What is held back, for people and for programs.

use pins::{
    Change, Definition, Finding, Pinned, Pins, Risk, Scanner, Severity, What, Why, difference, risks,
    shell_word, visible,
};
use serde_json::{Value, json};
use upstream::{Settings, Trust};

use super::item::{DIGITS_SHOWN, Item};
use super::stored::KnownPins;

/// Most findings that are shown of one definition in a list.
const FINDINGS_LISTED_MAX: usize = 3;

/// One server, and what is known of its definitions.
pub(super) struct Examined<'a> {
    settings: &'a Settings,
    pins: Option<&'a Pins>,
    trouble: Option<&'a str>,
    scanner: Scanner,
}

impl<'a> Examined<'a> {
    pub(super) fn of(settings: &'a Settings, known: &'a KnownPins) -> Examined<'a> {
        let name = settings.name();
        // What is offered as it comes is not looked at.
        let pins = known.of(name).filter(|_| settings.trust != Trust::Trust);
        let trouble = pins.and_then(Result::err);
        Examined { settings, pins: pins.and_then(Result::ok), trouble, scanner: known.scanner(name) }
    }

    fn all(&self) -> impl Iterator<Item = (What, &str, &Pinned)> {
        self.pins.into_iter().flat_map(Pins::all)
    }

    fn held(&self) -> impl Iterator<Item = (What, &str, &Pinned)> {
        self.all().filter(|(.., pinned)| pinned.held(self.settings.trust).is_some())
    }

    fn accepted(&self) -> usize {
        self.all().filter(|(.., pinned)| pinned.accepted.is_some()).count()
    }

    /// What is found in definitions that nothing is to be decided about.
    fn found_in_others(&self) -> impl Iterator<Item = (What, &str, Vec<Finding>)> {
        let others = self.all().filter(|(.., pinned)| pinned.shown.is_none());
        others.map(|(what, key, pinned)| (what, key, self.found(what, key, pinned)))
    }

    fn found(&self, what: What, key: &str, pinned: &Pinned) -> Vec<Finding> {
        let text = text(pinned.shown.as_ref().or(pinned.accepted.as_ref()));
        text.map(|text| self.scanner.search(what, key, text)).unwrap_or_default()
    }

    /// What has changed about a definition, and what to think of that.
    fn changes(&self, what: What, key: &str, pinned: &Pinned) -> (Vec<Change>, Vec<Risk>) {
        let Some(shown) = text(pinned.shown.as_ref()) else { return (Vec::new(), Vec::new()) };
        let before = text(pinned.accepted.as_ref());
        let changes = difference(before, Some(shown));
        let search = |text: &str| self.scanner.search(what, key, text);
        let risks = risks(&changes, &before.map(search).unwrap_or_default(), &search(shown));
        (changes, risks)
    }

    /// What to think of what a definition says now, each thing on a line.
    pub(super) fn risk_lines(&self, what: What, key: &str, pinned: &Pinned) -> Vec<String> {
        let (_, risks) = self.changes(what, key, pinned);
        let risks = risks.iter().take(FINDINGS_LISTED_MAX);
        risks.map(|risk| format!("    {}: {}", risk.severity, risk.says)).collect()
    }

    /// Everything as an object.
    pub(super) fn to_json(&self) -> Value {
        let held = self.held().map(|(what, key, pinned)| self.entry(what, key, pinned));
        let findings = self.found_in_others().filter(|(.., found)| !found.is_empty());
        let findings =
            findings.map(|(what, key, found)| json!({ "kind": what, "name": key, "findings": found }));
        json!({
            "name": self.settings.name(),
            "trust": self.settings.trust,
            "error": self.trouble,
            "accepted": self.accepted(),
            "held_back": held.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
        })
    }

    fn entry(&self, what: What, key: &str, pinned: &Pinned) -> Value {
        let (changes, risks) = self.changes(what, key, pinned);
        json!({
            "kind": what,
            "name": key,
            "why": pinned.held(self.settings.trust).as_ref().map(Why::word),
            "accepted_hash": pinned.accepted.as_ref().map(|definition| &definition.hash),
            "shown_hash": pinned.shown.as_ref().map(|definition| &definition.hash),
            "is_gone": pinned.gone_ms.is_some(),
            "changes": changes,
            "risks": risks,
            "findings": self.found(what, key, pinned),
        })
    }

    /// One definition as an object, with its texts.
    pub(super) fn item_to_json(&self, item: &Item) -> Value {
        let Some(pinned) = self.pinned(item) else { return Value::Null };
        let json = |definition: &Option<Definition>| -> Value {
            text(definition.as_ref()).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
        };
        let mut entry = self.entry(item.what, &item.key, pinned);
        entry["accepted"] = json(&pinned.accepted);
        entry["shown"] = json(&pinned.shown);
        entry
    }

    fn pinned(&self, item: &Item) -> Option<&'a Pinned> {
        self.pins?.get(item.what, &item.key)
    }

    /// A paragraph.
    pub(super) fn to_text(&self) -> String {
        let (name, mode) = (self.settings.name(), self.settings.trust);
        if let Some(trouble) = self.trouble {
            return format!("{name}: nothing is offered: {trouble}; --reset forgets it");
        }
        if self.pins.is_none() {
            let why = match mode {
                Trust::Trust => "everything is offered as it comes (trust)",
                Trust::Pin => "not connected to yet; what it has then is accepted (pin)",
                Trust::Review => "not connected to yet; what it has then is held back (review)",
            };
            return format!("{name}: {why}");
        }
        let (held, accepted) = (self.held().count(), self.accepted());
        let mode = if mode == Trust::Review { "review" } else { "pin" };
        let mut lines = vec![format!("{name}: {held} held back, {accepted} accepted ({mode})")];
        for (what, key, pinned) in self.held() {
            let why = pinned.held(self.settings.trust).as_ref().map(why_in_short).unwrap_or_default();
            lines.push(format!("  {what} {}: {why}", visible(key)));
            lines.extend(self.risk_lines(what, key, pinned));
        }
        for (what, key, found) in self.found_in_others() {
            let found =
                found.iter().filter(|finding| finding.severity > Severity::Low).take(FINDINGS_LISTED_MAX);
            let mut found = found.map(|finding| format!("    {}: {finding}", finding.severity)).peekable();
            if found.peek().is_some() {
                lines.push(format!("  {what} {}: accepted; look at", visible(key)));
                lines.extend(found);
            }
        }
        if held > 0 {
            lines.push(format!(
                "  `toolcrib mcp trust {name} --show ITEM` shows one, --accept ITEM offers it"
            ));
        }
        self.settings.masked(&lines.join("\n"))
    }

    /// One definition: what has changed, and what to do.
    pub(super) fn item_to_text(&self, item: &Item) -> String {
        let Some(pinned) = self.pinned(item) else { return String::new() };
        let (name, Item { what, key, .. }) = (self.settings.name(), item);
        let (changes, risks) = self.changes(*what, key, pinned);
        let why = pinned.held(self.settings.trust);
        let state = why.as_ref().map_or_else(|| "it is accepted".to_owned(), why_in_short);
        let gone = if pinned.gone_ms.is_some() { ", and the server does not have it any more" } else { "" };
        let mut lines = vec![format!("{what} {} of {name}: {state}{gone}", visible(key))];
        let whole = || difference(None, text(pinned.accepted.as_ref()));
        let changes = if pinned.shown.is_some() { changes } else { whole() };
        if pinned.shown.as_ref().is_some_and(|shown| shown.text.is_none()) {
            let too_long = "  its definition is too long to be kept, so what has changed cannot be shown";
            lines.push(too_long.to_owned());
        }
        lines.extend(changes.iter().flat_map(Change::lines).map(|line| format!("  {line}")));
        match (why.is_some(), risks.as_slice()) {
            (false, _) => {
                let found = self.found(*what, key, pinned);
                lines.extend(found.iter().map(|finding| format!("  {}: {finding}", finding.severity)));
            }
            (true, []) => lines.push("nothing about it stands out".to_owned()),
            (true, risks) => {
                lines.push("look twice:".to_owned());
                lines.extend(risks.iter().map(|risk| format!("  {}: {}", risk.severity, risk.says)));
            }
        }
        if let (Some(_), Some(shown)) = (why, &pinned.shown) {
            let digits = &shown.hash.as_str()[..DIGITS_SHOWN];
            let item = shell_word(&format!("{what}:{}@{digits}", visible(key)));
            lines.push(format!(
                "to offer it: toolcrib mcp trust {name} --accept {item}; to be left in peace: --reject"
            ));
        }
        self.settings.masked(&lines.join("\n"))
    }
}

/// What a definition says; nothing if it was too long to be kept.
fn text(definition: Option<&Definition>) -> Option<&str> {
    definition?.text.as_deref()
}

/// Why, without what was found: that stands below it.
fn why_in_short(why: &Why) -> String {
    match why {
        Why::Suspicious(_) => "it looks suspicious".to_owned(),
        Why::New | Why::Changed | Why::Unreviewed | Why::Rejected | Why::Unknown(_) => why.to_string(),
    }
}
