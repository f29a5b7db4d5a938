//! `mcp trust`: what is held back of servers' definitions, what has changed about it and what to think of that, and what
//! a person decides. Nothing is connected to: what is shown is what the servers showed last.

mod item;
mod shown;
mod stored;

use daemon::person;
use pins::{Decision, Hash, PinStore, Pins, What};
use serde_json::{Value, json};
use terminal::times::now_ms;
use terminal::{Ending, Trouble, print, runtime};
use upstream::{Settings, Trust};

use super::running;
use super::servers::{NO_SERVERS, named};
use crate::cli::{Cli, Trust as TrustArgs};
use crate::commands::start::start_nobody;
use item::{Item, UNKNOWN_ITEM};
use shown::Examined;
use stored::KnownPins;

/// What a person decided about a definition.
type ItemDecision = (What, String, Hash, Decision);

pub(super) fn run(cli: &Cli, args: &TrustArgs) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let (state, servers) = (&loaded.settings.state, &loaded.settings.upstreams);
    let store = PinStore::new(loaded.settings.kept.store().clone(), &loaded.settings.redactor);
    runtime::run(async {
        let known = KnownPins::read(&store, servers).await?;
        let Some(name) = &args.name else { return list(cli, servers.iter().collect(), &known) };
        let settings = named(&loaded, name)?;
        // To reject only tightens; the others are for a person to say.
        let loosens = args.reset || args.accept_all || !args.accept.is_empty();
        if loosens {
            person::present(state, &[])?;
        }
        let (decided, lines) = match &args.show {
            Some(item) => return show(cli, settings, &known, item),
            None if args.reset => {
                store.remove(&settings.trust_key()).await.map_err(Trouble::because)?;
                (Vec::new(), vec![format!("{name}: what was accepted and rejected is forgotten")])
            }
            None if loosens || !args.reject.is_empty() => decide(&store, settings, &known, args).await?,
            None => return list(cli, vec![settings], &known),
        };
        let of = |wanted: Decision| -> Vec<Value> {
            let those = decided.iter().filter(|(.., decision)| *decision == wanted);
            those.map(|(what, key, hash, _)| json!({ "kind": what, "name": key, "hash": hash })).collect()
        };
        let did = json!({ "name": name, "accepted": of(Decision::Accept), "rejected": of(Decision::Reject) });
        running::take_up_decisions(state, name).await.print(cli.json, did, lines)?;
        Ok(Ending::Good)
    })?
}

/// What there is of these servers.
fn list(cli: &Cli, servers: Vec<&Settings>, known: &KnownPins) -> Result<Ending, Trouble> {
    let examined: Vec<Examined> = servers.into_iter().map(|settings| Examined::of(settings, known)).collect();
    let servers: Vec<Value> = examined.iter().map(Examined::to_json).collect();
    let words = match examined.is_empty() {
        true => NO_SERVERS.to_owned(),
        false => examined.iter().map(Examined::to_text).collect::<Vec<_>>().join("\n"),
    };
    print::found(cli.json, &json!({ "servers": servers }), &words)
}

/// What is known of one definition.
fn show(cli: &Cli, settings: &Settings, known: &KnownPins, item: &str) -> Result<Ending, Trouble> {
    let item = Item::find(pins_of(settings, known)?, settings.name(), item)?;
    let examined = Examined::of(settings, known);
    print::found(cli.json, &examined.item_to_json(&item), &examined.item_to_text(&item))
}

/// The pins of a server that there is one of.
fn pins_of<'l>(settings: &Settings, known: &'l KnownPins) -> Result<&'l Pins, Trouble> {
    known.of(settings.name()).and_then(Result::ok).ok_or_else(|| {
        let name = settings.name();
        let why = match settings.trust {
            Trust::Trust => "its table says `trust = \"trust\"`, so everything is offered as it comes",
            Trust::Pin | Trust::Review => "it has not been connected to yet",
        };
        Trouble::Unknown { code: UNKNOWN_ITEM, said: format!("nothing is held back of `{name}`: {why}") }
    })
}

/// Takes a person's decisions: what they are, and what is said of them.
async fn decide(
    store: &PinStore,
    settings: &Settings,
    known: &KnownPins,
    args: &TrustArgs,
) -> Result<(Vec<ItemDecision>, Vec<String>), Trouble> {
    let pins = pins_of(settings, known)?;
    let decided = decisions(settings, pins, args)?;
    let now_ms = now_ms();
    let change = |pins: &mut Pins| -> Result<(), Trouble> {
        for (what, key, hash, decision) in &decided {
            if !pins.decide(*what, key, hash, *decision, now_ms) {
                let message = format!("{what} `{key}` has changed again just now; look at it once more");
                return Err(Trouble::Failed(message));
            }
        }
        Ok(())
    };
    stored::change(store, settings, change).await?;
    let (name, examined) = (settings.name(), Examined::of(settings, known));
    let mut lines = Vec::new();
    for (what, key, _, decision) in &decided {
        match decision {
            // Whoever accepts without a look is told what there was to see.
            Decision::Accept => {
                lines.push(format!("{name}: {what} {key} is accepted"));
                lines.extend(
                    pins.get(*what, key)
                        .into_iter()
                        .flat_map(|pinned| examined.risk_lines(*what, key, pinned)),
                );
            }
            Decision::Reject => lines.push(format!("{name}: {what} {key} is rejected")),
        }
    }
    if lines.is_empty() {
        lines.push(format!("{name}: nothing is held back"));
    }
    Ok((decided, lines))
}

/// What is args for, with the hashes of what it is about.
fn decisions(settings: &Settings, pins: &Pins, args: &TrustArgs) -> Result<Vec<ItemDecision>, Trouble> {
    let mut decided: Vec<ItemDecision> = Vec::new();
    for (items, decision) in [(&args.accept, Decision::Accept), (&args.reject, Decision::Reject)] {
        for item in items {
            let item = Item::find(pins, settings.name(), item)?;
            let hash = item.to_decide(pins, settings, decision)?;
            let Item { what, key, .. } = item;
            if decided.iter().any(|other| (other.0, &other.1) == (what, &key) && other.3 != decision) {
                let message = format!("{what} `{key}` cannot be accepted and rejected at once");
                return Err(Trouble::Misused(message));
            }
            decided.push((what, key, hash, decision));
        }
    }
    if args.accept_all {
        decided.extend(pins.all().filter_map(|(what, key, pinned)| {
            let why = pinned.held(settings.trust)?;
            let hash = pinned.shown.as_ref()?.hash.clone();
            why.awaits().then(|| (what, key.to_owned(), hash, Decision::Accept))
        }));
    }
    Ok(decided)
}
