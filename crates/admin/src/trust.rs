//! What is held back of servers' definitions, what has changed about it and what to think of that, and what a person
//! decides. Nothing is connected to: what is told is what the servers showed last.

mod examined;
mod item;
mod known_pins;

use std::sync::Arc;

use gate::Approvals;
use pins::{Decision, Hash, PinStore, Pins, Risk, Trust, What, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::wait;
use upstream::Settings;

use crate::by::By;
use crate::fault::Fault;
use crate::folders::HeldBack;
use crate::operation::Operation;
use crate::running::{Running, Told};
use crate::servers::named;
use examined::Examined;
pub use examined::{Examination, Found, ServerTrust, Shown};
pub use item::DIGITS_SHOWN;
use item::Item;
use known_pins::KnownPins;

/// What operations on definitions work on.
pub struct TrustPart {
    /// The servers.
    pub servers: Vec<Settings>,
    /// What a folder declares and nobody has agreed to.
    pub held: Vec<HeldBack>,
    /// What is known of their definitions.
    pub store: PinStore,
    /// Our own tools, with whose they are, beside which definitions are searched.
    pub own: Vec<(String, String)>,
    /// The calls that wait for a person beside them.
    pub approvals: Arc<Approvals>,
    /// Those who go by what is decided.
    pub running: Arc<dyn Running>,
    /// The time in milliseconds since 1970.
    pub now_ms: fn() -> i64,
}

/// What is held back.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Of which server; of all if none is named.
    pub server: Option<String>,
}

/// What is held back of servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrustList {
    /// In the order of their names.
    pub servers: Vec<ServerTrust>,
}

/// A definition that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingDefinition {
    /// Whose.
    pub server: String,
    /// What it is of.
    pub kind: What,
    /// Its own name or URI.
    pub name: String,
    /// Why, in a word: `new`, `changed`, `suspicious` or `unreviewed`.
    pub why: String,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Whose.
    pub server: String,
    /// `NAME` or `KIND:NAME`.
    pub item: String,
}

/// A person's decisions. To accept is a person's to say.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// About which server's definitions.
    pub server: String,
    /// `NAME` or `KIND:NAME`, perhaps with `@` and the first digits of the hash of what was looked at: offered from now on.
    #[serde(default)]
    pub accept: Vec<String>,
    /// Everything that waits for a decision is offered from now on.
    #[serde(default)]
    pub accept_all: bool,
    /// The same as in `accept`: not offered, and not mentioned again.
    #[serde(default)]
    pub reject: Vec<String>,
}

/// Forgets what was accepted and rejected: what the server has next counts as seen for the first time. A person's to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Of which server.
    pub server: String,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// About which server's definitions.
    pub name: String,
    /// What is offered from now on.
    pub accepted: Vec<DecidedItem>,
    /// What is not.
    pub rejected: Vec<DecidedItem>,
    /// What running Toolcribs that have the server made of it.
    pub running: Vec<Told>,
}

/// A definition that was decided about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedItem {
    /// What it is of.
    pub kind: What,
    /// Its own name or URI.
    pub name: String,
    /// Of what the decision is about.
    pub hash: Hash,
    /// What there was to see about it.
    pub risks: Vec<Risk>,
}

impl TrustPart {
    /// The server of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(&self, name: &str) -> Result<&Settings, Fault> {
        named(&self.servers, &self.held, name)
    }

    fn known(&self) -> Result<KnownPins<'_>, Fault> {
        KnownPins::read(&self.store, &self.servers, &self.own)
    }

    /// Everything that waits for a person. What cannot be read is told where its server is looked at.
    pub(crate) fn waiting(&self) -> Result<Vec<WaitingDefinition>, Fault> {
        let known = self.known()?;
        let mut waiting = Vec::new();
        for settings in self.servers.iter().filter(|settings| settings.trust != Trust::Trust) {
            let pins = known.of(settings.name()).and_then(Result::ok);
            let all = pins.into_iter().flat_map(Pins::all);
            waiting.extend(all.filter_map(|(kind, name, pinned)| {
                let why = pinned.held(settings.trust).filter(Why::awaits)?.word().to_owned();
                let (server, name) = (settings.name().to_owned(), name.to_owned());
                Some(WaitingDefinition { server, kind, name, why })
            }));
        }
        Ok(waiting)
    }

    /// Has the running Toolcribs go by what was decided.
    fn decided(&self, name: String, items: Vec<(Decision, DecidedItem)>) -> Result<Decided, Fault> {
        let running = self.running.take_up_decisions(&name).map_err(Fault::because)?;
        let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
        for (decision, item) in items {
            match decision {
                Decision::Accept => accepted.push(item),
                Decision::Reject => rejected.push(item),
            }
        }
        Ok(Decided { name, accepted, rejected, running })
    }
}

impl Operation for List {
    const NAME: &'static str = "trust.list";
    type Part = TrustPart;
    type Output = TrustList;

    fn perform(self, part: &TrustPart, _: &By) -> Result<TrustList, Fault> {
        let known = part.known()?;
        let wanted = match &self.server {
            Some(name) => vec![part.named(name)?],
            None => part.servers.iter().collect(),
        };
        let servers = wanted.into_iter().map(|settings| Examined::of(settings, &known).report());
        Ok(TrustList { servers: servers.collect() })
    }
}

impl Operation for Show {
    const NAME: &'static str = "trust.show";
    type Part = TrustPart;
    type Output = Shown;

    fn perform(self, part: &TrustPart, _: &By) -> Result<Shown, Fault> {
        let settings = part.named(&self.server)?;
        let known = part.known()?;
        let pins = known.pins_of(settings)?;
        let Item { what, key, .. } = Item::find(pins, settings.name(), &self.item)?;
        let pinned = pins.get(what, &key).expect("it was just found there");
        Ok(Examined::of(settings, &known).shown(what, &key, pinned))
    }
}

impl Operation for Decide {
    const NAME: &'static str = "trust.decide";
    type Part = TrustPart;
    type Output = Decided;

    fn perform(self, part: &TrustPart, by: &By) -> Result<Decided, Fault> {
        let settings = part.named(&self.server)?;
        // To reject only tightens.
        if self.accept_all || !self.accept.is_empty() {
            by.in_person()?;
        }
        let known = part.known()?;
        let pins = known.pins_of(settings)?;
        let decided = self.decisions(settings, pins)?;
        let now_ms = (part.now_ms)();
        let change = |pins: &mut Pins| -> Result<(), Fault> {
            for (Item { what, key, .. }, hash, decision) in &decided {
                if !pins.decide(*what, key, hash, *decision, now_ms) {
                    let message = format!("{what} `{key}` has changed again just now; look at it once more");
                    return Err(Fault::failed(message));
                }
            }
            Ok(())
        };
        known_pins::change(&part.store, settings, change)?;
        let examined = Examined::of(settings, &known);
        let item = |(Item { what: kind, key: name, .. }, hash, decision): (Item, Hash, Decision)| {
            let pinned = pins.get(kind, &name).filter(|_| decision == Decision::Accept);
            let risks = pinned.map(|pinned| examined.changes(kind, &name, pinned).1).unwrap_or_default();
            (decision, DecidedItem { kind, name, hash, risks })
        };
        part.decided(self.server, decided.into_iter().map(item).collect())
    }
}

impl Decide {
    /// What is decided, with the hashes of what it is about.
    fn decisions(&self, settings: &Settings, pins: &Pins) -> Result<Vec<(Item, Hash, Decision)>, Fault> {
        let mut decided: Vec<(Item, Hash, Decision)> = Vec::new();
        for (items, decision) in [(&self.accept, Decision::Accept), (&self.reject, Decision::Reject)] {
            for item in items {
                let item = Item::find(pins, settings.name(), item)?;
                let hash = item.to_decide(pins, settings, decision)?;
                if decided.iter().any(|(other, _, before)| other.is_same(&item) && *before != decision) {
                    let Item { what, key, .. } = item;
                    let message = format!("{what} `{key}` cannot be accepted and rejected at once");
                    return Err(Fault::misused(message));
                }
                decided.push((item, hash, decision));
            }
        }
        if self.accept_all {
            decided.extend(pins.all().filter_map(|(what, key, pinned)| {
                let why = pinned.held(settings.trust)?;
                let hash = pinned.shown.as_ref()?.hash.clone();
                why.awaits().then(|| (Item::of(what, key), hash, Decision::Accept))
            }));
        }
        Ok(decided)
    }
}

impl Operation for Reset {
    const NAME: &'static str = "trust.reset";
    type Part = TrustPart;
    type Output = Decided;

    fn perform(self, part: &TrustPart, by: &By) -> Result<Decided, Fault> {
        let key = part.named(&self.server)?.trust_key();
        by.in_person()?;
        wait(part.store.remove(&key)).map_err(Fault::because)?;
        part.decided(self.server, Vec::new())
    }
}
