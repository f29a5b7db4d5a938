//! What is on offer, kept up to date.
//!
//! Listing and calling use the same function, so what is listed is what can be called. Sources (our own
//! tools, each upstream) report whole sets; a report builds a new offer and swaps one pointer, so that a
//! running call keeps the one it began with.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, watch};
use tool_api::{AnyTool, Event, Features, Listing};

use crate::offer::{self, Collision, Offer, Report, Shown, Source, Versions};

/// How long a list waits for sources that have not reported. Later ones come as a change of the list.
pub(crate) const REPORT_WAIT_MAX: Duration = Duration::from_secs(8);

/// Events that may wait for a slow listener; it is told that it missed some. The room for them is taken at the start.
const EVENTS_WAITING_MAX: usize = 256;

struct Expected {
    name: Arc<str>,
    /// Nothing until the first report.
    report: Option<Report>,
}

/// Keeps the offer. Shared by the gate, the doors, and whoever reports.
pub struct Catalog {
    sources: Mutex<Vec<Expected>>,
    offer: ArcSwap<Offer>,
    versions: watch::Sender<Versions>,
    unreported: watch::Sender<usize>,
    wanted: watch::Sender<bool>,
    events: broadcast::Sender<Event>,
}

/// The name under which our own tools are kept.
pub const BUILT_IN: &str = "built-in";

impl Catalog {
    /// A catalogue of our own tools. Earlier sources win a name; ours come first.
    pub fn new(built_in: Vec<Arc<dyn AnyTool>>) -> Arc<Catalog> {
        let source = Source::new(BUILT_IN.into(), Features::default());
        let sources =
            vec![Expected { name: BUILT_IN.into(), report: Some(Report { tools: built_in, source }) }];
        let versions = Versions { all: 1, tools: 1, prompts: 1, resources: 1 };
        Arc::new(Catalog {
            offer: ArcSwap::from_pointee(build(&sources, versions)),
            sources: Mutex::new(sources),
            versions: watch::Sender::new(versions),
            unreported: watch::Sender::new(0),
            wanted: watch::Sender::new(false),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
        })
    }

    /// Announces a source that will report. The order of announcements settles who wins a name.
    pub fn expect(&self, source: &str) {
        let mut sources = self.lock();
        if !sources.iter().any(|known| &*known.name == source) {
            sources.push(Expected { name: source.into(), report: None });
            let offer = build(&sources, self.offer.load().versions);
            self.offer.store(Arc::new(offer));
            self.unreported.send_modify(|count| *count += 1);
        }
    }

    /// Takes a source's whole offer and returns what is newly not offered since its name was taken, whoever wanted
    /// to offer it.
    pub fn replace(&self, source: &str, tools: Vec<Arc<dyn AnyTool>>, features: Features) -> Vec<Collision> {
        self.expect(source);
        let mut sources = self.lock();
        let Some(entry) = sources.iter_mut().find(|known| &*known.name == source) else { return Vec::new() };
        let report = Report { tools, source: Source::new(entry.name.clone(), features) };
        let mut versions = self.offer.load().versions;
        count_changes(&mut versions, entry.report.as_ref(), &report);
        let is_first = entry.report.replace(report).is_none();
        let offer = build(&sources, versions);
        let before = self.offer.load_full();
        let is_new = |one: &&Collision| !before.collisions().contains(one);
        let collisions = offer.collisions().iter().filter(is_new).cloned().collect();
        self.offer.store(Arc::new(offer));
        drop(sources);
        if is_first {
            self.unreported.send_modify(|count| *count -= 1);
        }
        self.versions.send_replace(versions);
        collisions
    }

    /// Forgets a source and all it offers. Nothing happens if there is none of this name.
    pub fn remove(&self, source: &str) {
        let mut sources = self.lock();
        let Some(at) = sources.iter().position(|known| &*known.name == source && source != BUILT_IN) else {
            return;
        };
        let gone = sources.remove(at);
        let mut versions = self.offer.load().versions;
        if let Some(report) = &gone.report {
            let empty =
                Report { tools: Vec::new(), source: Source::new(gone.name.clone(), Features::default()) };
            count_changes(&mut versions, Some(report), &empty);
        }
        self.offer.store(Arc::new(build(&sources, versions)));
        drop(sources);
        if gone.report.is_none() {
            self.unreported.send_modify(|count| *count -= 1);
        }
        self.versions.send_replace(versions);
    }

    /// Settles anew who wins a name: our own tools, then these sources in this order, then all others as before.
    pub fn arrange(&self, order: &[&str]) {
        let mut sources = self.lock();
        let place = |source: &Expected| match &*source.name {
            BUILT_IN => 0,
            name => 1 + order.iter().position(|listed| *listed == name).unwrap_or(order.len()),
        };
        if sources.is_sorted_by_key(place) {
            return;
        }
        sources.sort_by_key(place);
        let before = self.offer.load_full();
        let mut offer = build(&sources, before.versions);
        let lists_alike =
            |a: &[Shown], b: &[Shown]| a.iter().map(Shown::identity).eq(b.iter().map(Shown::identity));
        let tools = before.collisions() != offer.collisions();
        let prompts = !lists_alike(before.prompts(), offer.prompts());
        let resources = !lists_alike(before.resources(), offer.resources())
            || !lists_alike(before.templates(), offer.templates());
        offer.versions.all += u64::from(tools || prompts || resources);
        offer.versions.tools += u64::from(tools);
        offer.versions.prompts += u64::from(prompts);
        offer.versions.resources += u64::from(resources);
        let versions = offer.versions;
        self.offer.store(Arc::new(offer));
        drop(sources);
        self.versions.send_replace(versions);
    }

    /// Counts a change of every list: who may see what is another question now.
    pub(crate) fn revise(&self) {
        let sources = self.lock();
        let mut versions = self.offer.load().versions;
        versions.all += 1;
        versions.tools += 1;
        versions.prompts += 1;
        versions.resources += 1;
        self.offer.store(Arc::new(build(&sources, versions)));
        drop(sources);
        self.versions.send_replace(versions);
    }

    /// The offer as it is.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.load_full()
    }

    /// The offer once every source has reported, or after a bounded wait without those that have not.
    pub async fn settled(&self) -> Arc<Offer> {
        if *self.unreported.borrow() > 0 {
            self.want();
            let mut unreported = self.unreported.subscribe();
            // Whoever is late comes as a change of the list.
            let _ = tokio::time::timeout(REPORT_WAIT_MAX, unreported.wait_for(|count| *count == 0)).await;
        }
        self.offer()
    }

    /// Says that somebody needs what unreported sources have: clients hear of it when it has come.
    pub fn want(&self) {
        self.wanted.send_replace(true);
    }

    /// Resolves once somebody needs what unreported sources have.
    pub async fn wanted(&self) {
        // The sender lives as long as the catalogue, so the wait cannot fail.
        let _ = self.wanted.subscribe().wait_for(|wanted| *wanted).await;
    }

    /// Tells the versions of the lists with every change.
    pub fn changes(&self) -> watch::Receiver<Versions> {
        self.versions.subscribe()
    }

    /// Passes on what a source tells unasked.
    pub fn announce(&self, event: Event) {
        // Nobody may be listening.
        let _ = self.events.send(event);
    }

    /// Hears what sources tell unasked, from now on.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Expected>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build(sources: &[Expected], versions: Versions) -> Offer {
    let is_settled = sources.iter().all(|source| source.report.is_some());
    offer::build(sources.iter().filter_map(|source| source.report.as_ref()), versions, is_settled)
}

/// Counts each list that reads differently from before. A list that was re-read and is the same is no news.
fn count_changes(versions: &mut Versions, before: Option<&Report>, after: &Report) {
    versions.all += 1;
    let empty = Report { tools: Vec::new(), source: Source::new("".into(), Features::default()) };
    let before = before.unwrap_or(&empty);
    let (old, new) = (&before.source.features, &after.source.features);
    versions.tools += u64::from(!reads_alike(&before.tools, &after.tools));
    versions.prompts += u64::from(old.prompts != new.prompts);
    versions.resources += u64::from(old.resources != new.resources || old.templates != new.templates);
}

fn reads_alike(before: &[Arc<dyn AnyTool>], after: &[Arc<dyn AnyTool>]) -> bool {
    let alike = |(a, b): (&Arc<dyn AnyTool>, &Arc<dyn AnyTool>)| match (
        &a.definition().listing,
        &b.definition().listing,
    ) {
        (Listing::Relayed(a), Listing::Relayed(b)) => a == b,
        (Listing::Ours(a), Listing::Ours(b)) => a.name == b.name,
        (Listing::Relayed(_), Listing::Ours(_)) | (Listing::Ours(_), Listing::Relayed(_)) => false,
    };
    before.len() == after.len() && before.iter().zip(after).all(alike)
}
