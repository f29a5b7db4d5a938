//! `mcp trust`: what is held back of servers' definitions, what has changed about it and what to think of that, and what
//! a person decides. Nothing is connected to: what is shown is what the servers showed last.

mod item;
mod shown;
mod stored;

use pins::{Decision, Hash, PinStore, Pins, Scanner, What};
use serde_json::{Value, json};
use upstream::{Settings, Trust};

use super::running::{self, Told};
use super::servers::{NO_SERVERS, named};
use crate::cli::{Cli, Trust as Asked};
use crate::commands::start::start_nobody;
use crate::config::Loaded;
use crate::ending::{Ending, Trouble};
use crate::times::now_ms;
use crate::{person, print, runtime};
use item::Item;
use shown::Examined;
use stored::StoredPins;

/// What a person decided about a definition.
type Decided = (What, String, Hash, Decision);

/// What programs are told of an item that is not there.
const UNKNOWN_ITEM: &str = "unknown_item";

pub(super) fn run(cli: &Cli, asked: &Asked) -> Result<Ending, Trouble> {
    let loaded = start_nobody(cli)?;
    let stored =
        StoredPins::new(PinStore::new(loaded.settings.kept.store().clone(), &loaded.settings.redactor));
    runtime::run(async {
        let Some(name) = &asked.name else { return list(cli, &loaded, &stored, None).await };
        let settings = named(&loaded, name)?;
        if let Some(item) = &asked.show {
            return show(cli, &loaded, &stored, settings, item).await;
        }
        // To reject only tightens; the others are for a person to say.
        if asked.reset || asked.accept_all || !asked.accept.is_empty() {
            person::present(&loaded.settings.state, &[])?;
        }
        if asked.reset {
            stored.forget(settings).await?;
            return told(
                cli,
                &loaded,
                settings,
                &[],
                vec![format!("{name}: what was accepted and rejected is forgotten")],
            )
            .await;
        }
        if asked.accept.is_empty() && !asked.accept_all && asked.reject.is_empty() {
            return list(cli, &loaded, &stored, Some(settings)).await;
        }
        decide(cli, &loaded, &stored, settings, asked).await
    })?
}

/// What there is of all servers, or of one.
async fn list(
    cli: &Cli,
    loaded: &Loaded,
    stored: &StoredPins,
    one: Option<&Settings>,
) -> Result<Ending, Trouble> {
    let all = stored.read_all(&loaded.settings.upstreams).await?;
    let wanted = loaded.settings.upstreams.iter().filter(|it| one.is_none_or(|one| one.name() == it.name()));
    let scanner = Scanner::new(Vec::new());
    let sections: Vec<Examined> = wanted.map(|settings| Examined::of(settings, &all, &scanner)).collect();
    if cli.json {
        let servers: Vec<Value> = sections.iter().map(Examined::to_json).collect();
        print::json(&json!({ "servers": servers }))?;
    } else if sections.is_empty() {
        print::line(NO_SERVERS)?;
    } else {
        print::foreign(&sections.iter().map(Examined::to_text).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Ending::Good)
}

/// What is known of one definition.
async fn show(
    cli: &Cli,
    loaded: &Loaded,
    stored: &StoredPins,
    settings: &Settings,
    item: &str,
) -> Result<Ending, Trouble> {
    let all = stored.read_all(&loaded.settings.upstreams).await?;
    let pins = known(&all, settings)?;
    let item = Item::find(pins, settings.name(), item)?;
    let section = Examined::of(settings, &all, &Scanner::new(Vec::new()));
    if cli.json {
        print::json(&section.item_to_json(&item))?;
    } else {
        print::foreign(&section.item_to_text(&item))?;
    }
    Ok(Ending::Good)
}

/// The pins of a server that there is one of.
fn known<'l>(all: &'l stored::All, settings: &Settings) -> Result<&'l Pins, Trouble> {
    all.of(settings.name()).ok_or_else(|| {
        let name = settings.name();
        let why = match settings.trust() {
            Trust::Trust => "its table says `trust = \"trust\"`, so everything is offered as it comes",
            Trust::Pin | Trust::Review => "it has not been connected to yet",
        };
        Trouble::Unknown { code: UNKNOWN_ITEM, said: format!("nothing is held back of `{name}`: {why}") }
    })
}

/// Takes a person's decisions.
async fn decide(
    cli: &Cli,
    loaded: &Loaded,
    stored: &StoredPins,
    settings: &Settings,
    asked: &Asked,
) -> Result<Ending, Trouble> {
    let all = stored.read_all(&loaded.settings.upstreams).await?;
    let pins = known(&all, settings)?;
    let mut decisions: Vec<Decided> = Vec::new();
    for (items, decision) in [(&asked.accept, Decision::Accept), (&asked.reject, Decision::Reject)] {
        for item in items {
            let item = Item::find(pins, settings.name(), item)?;
            let hash = item.to_decide(pins, settings, decision)?;
            let is_both = |(what, key, _, other): &Decided| {
                (*what, key, *other != decision) == (item.what, &item.key, true)
            };
            if decisions.iter().any(is_both) {
                let said = format!("{} `{}` cannot be accepted and rejected at once", item.what, item.key);
                return Err(Trouble::Misused(said));
            }
            decisions.push((item.what, item.key, hash, decision));
        }
    }
    if asked.accept_all {
        let held = pins.all().filter_map(|(what, key, pinned)| {
            let why = pinned.held(settings.trust())?;
            let hash = pinned.shown.as_ref()?.hash.clone();
            why.awaits().then(|| (what, key.to_owned(), hash, Decision::Accept))
        });
        decisions.extend(held);
    }
    let now_ms = now_ms();
    let change = |pins: &mut Pins| -> Result<(), Trouble> {
        for (what, key, hash, decision) in &decisions {
            if !pins.decide(*what, key, hash, *decision, now_ms) {
                let said = format!("{what} `{key}` has changed again just now; look at it once more");
                return Err(Trouble::Failed(said));
            }
        }
        Ok(())
    };
    stored.change(settings, change).await?;
    let name = settings.name();
    let section = Examined::of(settings, &all, &Scanner::new(Vec::new()));
    let said = |(what, key, _, decision): &Decided| match decision {
        // Whoever accepts without a look is told what there was to see.
        Decision::Accept => {
            let mut lines = vec![format!("{name}: {what} {key} is accepted")];
            lines.extend(pins.get(*what, key).into_iter().flat_map(|it| section.risk_lines(*what, key, it)));
            lines
        }
        Decision::Reject => vec![format!("{name}: {what} {key} is rejected")],
    };
    let mut lines: Vec<String> = decisions.iter().flat_map(said).collect();
    if lines.is_empty() {
        lines.push(format!("{name}: nothing is held back"));
    }
    told(cli, loaded, settings, &decisions, lines).await
}

/// Has the running Toolcribs go by it, and says what was done.
async fn told(
    cli: &Cli,
    loaded: &Loaded,
    settings: &Settings,
    decisions: &[Decided],
    lines: Vec<String>,
) -> Result<Ending, Trouble> {
    let Told { lines: told, json: running } =
        running::take_up_decisions(&loaded.settings.state, settings.name()).await;
    if cli.json {
        let of = |wanted: Decision| -> Vec<Value> {
            let those = decisions.iter().filter(|(.., decision)| *decision == wanted);
            those.map(|(what, key, hash, _)| json!({ "kind": what, "name": key, "hash": hash })).collect()
        };
        print::json(&json!({
            "name": settings.name(),
            "accepted": of(Decision::Accept),
            "rejected": of(Decision::Reject),
            "running": running,
        }))?;
        return Ok(Ending::Good);
    }
    print::foreign(&[lines, told].concat().join("\n"))?;
    Ok(Ending::Good)
}
