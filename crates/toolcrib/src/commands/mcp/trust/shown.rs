//! What is held back, for people and for programs.

use pins::{
    Change, Finding, Pinned, Pins, Risk, Scanner, Severity, What, difference, risks, shell_word, visible,
};
use serde_json::{Value, json};
use upstream::{Settings, Trust};

use super::item::{DIGITS_SHOWN, Item};
use super::stored::All;

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
    pub(super) fn of(settings: &'a Settings, all: &'a All, scanner: &Scanner) -> Examined<'a> {
        let name = settings.name();
        // What is offered as it comes is not looked at.
        let is_held = settings.trust() != Trust::Trust;
        let (pins, trouble) = (all.of(name).filter(|_| is_held), all.trouble(name).filter(|_| is_held));
        Examined { settings, pins, trouble, scanner: scanner.beside(all.beside(name)) }
    }

    fn found(&self, what: What, key: &str, pinned: &Pinned) -> Vec<Finding> {
        let text = pinned.shown.as_ref().or(pinned.accepted.as_ref()).and_then(|it| it.text.as_deref());
        text.map(|text| self.scanner.search(what, key, text)).unwrap_or_default()
    }

    /// What has changed about a definition, and what to think of that.
    fn changes(&self, what: What, key: &str, pinned: &Pinned) -> (Vec<Change>, Vec<Risk>) {
        let Some(shown) = pinned.shown.as_ref().and_then(|shown| shown.text.as_deref()) else {
            return (Vec::new(), Vec::new());
        };
        let before = pinned.accepted.as_ref().and_then(|accepted| accepted.text.as_deref());
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

    fn held(&self) -> impl Iterator<Item = (What, &str, &Pinned)> {
        let mode = self.settings.trust();
        let all = self.pins.into_iter().flat_map(Pins::all);
        all.filter(move |(_, _, pinned)| pinned.held(mode).is_some())
    }

    /// Everything as an object.
    pub(super) fn to_json(&self) -> Value {
        let all = || self.pins.into_iter().flat_map(Pins::all);
        let held: Vec<Value> = self.held().map(|(what, key, it)| self.entry(what, key, it)).collect();
        let accepted = all().filter(|(.., pinned)| pinned.accepted.is_some()).count();
        let findings =
            all().filter(|(.., pinned)| pinned.shown.is_none()).filter_map(|(what, key, pinned)| {
                let found = self.found(what, key, pinned);
                (!found.is_empty()).then(|| json!({ "kind": what, "name": key, "findings": found }))
            });
        json!({
            "name": self.settings.name(),
            "trust": self.settings.trust(),
            "error": self.trouble,
            "accepted": accepted,
            "held_back": held,
            "findings": findings.collect::<Vec<_>>(),
        })
    }

    fn entry(&self, what: What, key: &str, pinned: &Pinned) -> Value {
        let why = pinned.held(self.settings.trust());
        let (changes, risks) = self.changes(what, key, pinned);
        let hash = |it: &Option<pins::Definition>| it.as_ref().map(|it| it.hash.clone());
        json!({
            "kind": what,
            "name": key,
            "why": why.as_ref().map(pins::Why::word),
            "accepted_hash": hash(&pinned.accepted),
            "shown_hash": hash(&pinned.shown),
            "is_gone": pinned.gone_ms.is_some(),
            "changes": changes,
            "risks": risks,
            "findings": self.found(what, key, pinned),
        })
    }

    /// One definition as an object, with its texts.
    pub(super) fn item_to_json(&self, item: &Item) -> Value {
        let Some(pinned) = self.pinned(item) else { return Value::Null };
        let text = |it: &Option<pins::Definition>| {
            let text = it.as_ref().and_then(|it| it.text.as_deref());
            text.and_then(|text| serde_json::from_str::<Value>(text).ok())
        };
        let mut entry = self.entry(item.what, &item.key, pinned);
        entry["accepted"] = text(&pinned.accepted).unwrap_or_default();
        entry["shown"] = text(&pinned.shown).unwrap_or_default();
        entry
    }

    fn pinned(&self, item: &Item) -> Option<&'a Pinned> {
        self.pins?.get(item.what, &item.key)
    }

    /// A paragraph.
    pub(super) fn to_text(&self) -> String {
        let (name, mode) = (self.settings.name(), self.settings.trust());
        if let Some(trouble) = self.trouble {
            return format!("{name}: nothing is offered: {trouble}; --reset forgets it");
        }
        let Some(pins) = self.pins else {
            let why = match mode {
                Trust::Trust => "everything is offered as it comes (trust)",
                Trust::Pin => "not connected to yet; what it has then is accepted (pin)",
                Trust::Review => "not connected to yet; what it has then is held back (review)",
            };
            return format!("{name}: {why}");
        };
        let accepted = pins.all().filter(|(.., it)| it.accepted.is_some()).count();
        let held = self.held().count();
        let mode = if mode == Trust::Review { "review" } else { "pin" };
        let mut lines = vec![format!("{name}: {held} held back, {accepted} accepted ({mode})")];
        for (what, key, pinned) in self.held() {
            let Some(why) = pinned.held(self.settings.trust()) else { continue };
            lines.push(format!("  {what} {}: {}", visible(key), why_in_short(&why)));
            lines.extend(self.risk_lines(what, key, pinned));
        }
        for (what, key, pinned) in pins.all().filter(|(.., it)| it.shown.is_none()) {
            let found = self.found(what, key, pinned);
            let found = found.iter().filter(|it| it.severity > Severity::Low).take(FINDINGS_LISTED_MAX);
            let found: Vec<String> = found.map(|it| format!("    {}: {it}", it.severity)).collect();
            if !found.is_empty() {
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
        let why = pinned.held(self.settings.trust());
        let state = why.as_ref().map_or_else(|| "it is accepted".to_owned(), why_in_short);
        let gone = if pinned.gone_ms.is_some() { ", and the server does not have it any more" } else { "" };
        let mut lines = vec![format!("{what} {} of {name}: {state}{gone}", visible(key))];
        match &pinned.shown {
            Some(shown) if shown.text.is_none() => {
                lines.push(
                    "  its definition is too long to be kept, so what has changed cannot be shown".to_owned(),
                );
            }
            Some(_) => lines.extend(changes.iter().flat_map(Change::lines).map(|line| format!("  {line}"))),
            None => {
                let accepted = pinned.accepted.as_ref().and_then(|accepted| accepted.text.as_deref());
                let whole = difference(None, accepted);
                lines.extend(whole.iter().flat_map(Change::lines).map(|line| format!("  {line}")));
            }
        }
        match (why.is_some(), risks.as_slice()) {
            (false, _) => {
                let found = self.found(*what, key, pinned);
                lines.extend(found.iter().map(|it| format!("  {}: {it}", it.severity)));
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

/// Why, without what was found: that stands below it.
fn why_in_short(why: &pins::Why) -> String {
    use pins::Why;
    match why {
        Why::Suspicious(_) => "it looks suspicious".to_owned(),
        Why::New | Why::Changed | Why::Unreviewed | Why::Rejected | Why::Unknown(_) => why.to_string(),
    }
}
