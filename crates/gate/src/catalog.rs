//! What is on offer, kept up to date.
//!
//! Listing and calling use the same function, so what is listed is what can be called. Sources (our own
//! tools, each upstream) report whole sets; a report builds a new offer and swaps one pointer, so that a
//! running call keeps the one it began with.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tool_api::{AnyTool, Event, Features, Need};

use crate::offer::{
    self, ARTIFACTS, CALLBACKS, Collision, Offer, Offered, Report, SKILLS, Source, TASKS, Versions,
};

/// How long lists wait for a source that has not reported, from when somebody first wanted what it has: once for all, so
/// that one that hangs costs no later list anything. Claude Code gives up on a list after 5 s, and shows no tool at all
/// then. A source that is later comes as a change of the list.
const LIST_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long a hello waits until what is remembered of a source has been read, from when that was announced.
const REMEMBERED_WAIT_MAX: Duration = Duration::from_millis(100);

/// How long a call of what nobody offers yet waits for sources that have not reported.
const REPORT_WAIT_MAX: Duration = Duration::from_secs(8);

/// Events that may wait for a slow listener; it is told that it missed some. The room for them is taken at the start.
const EVENTS_WAITING_MAX: usize = 256;

struct Expected {
    name: Arc<str>,
    /// When it was announced.
    since: Instant,
    /// Nothing until the first report.
    report: Option<Report>,
}

impl Expected {
    fn of(name: Arc<str>, report: Option<Report>) -> Expected {
        Expected { name, since: Instant::now(), report }
    }
}

/// Whether the tool of this name is there at all.
type Shows = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Keeps the offer. Shared by the gate, the doors, and whoever reports.
pub struct Catalog {
    sources: Mutex<Vec<Expected>>,
    /// What a workspace shows of its sources.
    shows: ArcSwap<Shows>,
    offer: ArcSwap<Offer>,
    versions: watch::Sender<Versions>,
    /// Since when somebody needs what unreported sources have.
    wanted: watch::Sender<Option<Instant>>,
    events: broadcast::Sender<Event>,
}

/// The name under which our own tools are kept.
pub const BUILT_IN: &str = "built-in";

/// The name under which the tools are kept that people describe in files. No server has any of these names.
pub const DECLARED: &str = "declared";

impl Catalog {
    /// A catalogue of our own tools. Earlier sources win a name; ours come first.
    pub fn new(built_in: Vec<Arc<dyn AnyTool>>) -> Arc<Catalog> {
        let source = Source::new(BUILT_IN.into(), Features::default());
        let sources = vec![Expected::of(BUILT_IN.into(), Some(Report { tools: built_in, source }))];
        let versions = Versions { all: 1, tools: 1, prompts: 1, resources: 1 };
        let shows: Shows = Box::new(|_| true);
        let mut offer = build(&sources, &shows);
        offer.versions = versions;
        Arc::new(Catalog {
            offer: ArcSwap::from_pointee(offer),
            sources: Mutex::new(sources),
            shows: ArcSwap::from_pointee(shows),
            versions: watch::Sender::new(versions),
            wanted: watch::Sender::new(None),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
        })
    }

    /// Announces a source that will report. The order of announcements settles who wins a name.
    pub fn expect(&self, source: &str) {
        self.publish(|sources, _| {
            let is_new = !sources.iter().any(|known| &*known.name == source);
            if is_new {
                sources.push(Expected::of(source.into(), None));
            }
            is_new
        });
    }

    /// Takes a source's whole offer and returns what is newly not offered since its name was taken, whoever wanted
    /// to offer it.
    pub fn replace(&self, source: &str, tools: Vec<Arc<dyn AnyTool>>, features: Features) -> Vec<Collision> {
        let published = self.publish(|sources, versions| {
            versions.all += 1;
            let report = Some(Report { tools, source: Source::new(source.into(), features) });
            match sources.iter_mut().find(|known| &*known.name == source) {
                Some(known) => known.report = report,
                None => sources.push(Expected::of(source.into(), report)),
            }
            true
        });
        let Some((before, now)) = published else { return Vec::new() };
        now.collisions.iter().filter(|one| !before.collisions.contains(one)).cloned().collect()
    }

    /// Forgets a source and all it offers. Nothing happens if there is none of this name.
    pub fn remove(&self, source: &str) {
        self.publish(|sources, versions| {
            let named = |known: &Expected| &*known.name == source && source != BUILT_IN;
            let Some(at) = sources.iter().position(named) else { return false };
            versions.all += u64::from(sources.remove(at).report.is_some());
            true
        });
    }

    /// Settles anew who wins a name: our own tools, then these sources in this order, then all others as before.
    pub fn arrange(&self, order: &[&str]) {
        let rank = |source: &Expected| match &*source.name {
            BUILT_IN | ARTIFACTS | TASKS | CALLBACKS => 0,
            name => 1 + order.iter().position(|listed| *listed == name).unwrap_or(order.len()),
        };
        self.publish(|sources, _| {
            let is_other = !sources.is_sorted_by_key(rank);
            sources.sort_by_key(rank);
            is_other
        });
    }

    /// From now on only tools for whose name `shows` says so are there: the others are not listed, and a call of one is a
    /// call of an unknown tool. By default all are.
    pub fn show_only(&self, shows: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.publish(|_, _| {
            self.shows.store(Arc::new(Box::new(shows)));
            true
        });
    }

    /// Counts a change of every list: who may see what is another question now.
    pub(crate) fn revise(&self) {
        self.publish(|_, Versions { all, tools, prompts, resources }| {
            [all, tools, prompts, resources].into_iter().for_each(|version| *version += 1);
            true
        });
    }

    /// Changes what is known of the sources, and puts the offer that follows in place of the one before; these two, unless
    /// `change` says that nothing is other. Each list that reads differently from before is counted: one that was re-read
    /// and is the same is no news.
    fn publish(
        &self,
        change: impl FnOnce(&mut Vec<Expected>, &mut Versions) -> bool,
    ) -> Option<(Arc<Offer>, Arc<Offer>)> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.offer.load_full();
        let mut versions = before.versions;
        if !change(&mut sources, &mut versions) {
            return None;
        }
        let mut now = build(&sources, &self.shows.load());
        let tools = before.collisions != now.collisions || !read_alike(&before.tools, &now.tools);
        let prompts = before.prompts != now.prompts;
        let resources = before.resources != now.resources || before.templates != now.templates;
        versions.all += u64::from(tools || prompts || resources);
        versions.tools += u64::from(tools);
        versions.prompts += u64::from(prompts);
        versions.resources += u64::from(resources);
        now.versions = versions;
        let now = Arc::new(now);
        self.offer.store(now.clone());
        self.versions.send_replace(versions);
        Some((before, now))
    }

    /// The offer as it is.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.load_full()
    }

    /// The offer once every source has reported, or after a bounded wait without those that have not.
    pub async fn settled(&self) -> Arc<Offer> {
        if !self.offer.load().is_settled {
            self.want();
            // Whoever is late comes as a change of the list.
            let _ = timeout(REPORT_WAIT_MAX, self.reported()).await;
        }
        self.offer()
    }

    /// The offer for a list: sources have been asked again where it is not good any more.
    pub async fn listed(&self) -> Arc<Offer> {
        self.offer().renewed().await;
        self.soon().await
    }

    /// The offer for whoever waits for less long, and not again for a source that others have waited for in vain.
    pub async fn soon(&self) -> Arc<Offer> {
        if let Some(since) = self.waited_for_since() {
            let _ = timeout_at(since + LIST_WAIT_MAX, self.reported()).await;
        }
        self.offer()
    }

    /// The offer for a hello, once what is remembered has been read. Nothing is started for it: some clients start a process
    /// only to ask it for its revision.
    pub async fn remembered(&self) -> Arc<Offer> {
        if let Some(since) = self.announced_last() {
            let _ = timeout_at(since + REMEMBERED_WAIT_MAX, self.reported()).await;
        }
        self.offer()
    }

    /// Since when the last of the sources is waited for that have not reported; nothing if all have.
    fn waited_for_since(&self) -> Option<Instant> {
        Some(self.announced_last()?.max(self.want()))
    }

    /// When the last of the sources was announced that have not reported; nothing if all have.
    fn announced_last(&self) -> Option<Instant> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.iter().filter(|source| source.report.is_none()).map(|source| source.since).max()
    }

    /// Resolves once every source has reported.
    async fn reported(&self) {
        // The sender lives as long as the catalogue, so the wait cannot fail.
        let _ = self.changes().wait_for(|_| self.offer.load().is_settled).await;
    }

    /// Says that somebody needs what unreported sources have, and since when: clients hear of it when it has come.
    pub fn want(&self) -> Instant {
        self.wanted.send_if_modified(|wanted| {
            let is_new = wanted.is_none();
            wanted.get_or_insert_with(Instant::now);
            is_new
        });
        self.wanted.borrow().unwrap_or_else(Instant::now)
    }

    /// Resolves once somebody needs what unreported sources have.
    pub async fn wanted(&self) {
        let _ = self.wanted.subscribe().wait_for(Option::is_some).await;
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
}

fn build(sources: &[Expected], shows: &Shows) -> Offer {
    // Most of our own tools page by themselves.
    let keeps = |tool: &Arc<dyn AnyTool>| tool.definition().listing.needs().contains(&Need::Artifacts);
    let is_kept =
        |source: &Expected| source.report.as_ref().is_some_and(|report| report.tools.iter().any(keeps));
    let may_keep = |source: &Expected| match &*source.name {
        ARTIFACTS | SKILLS | TASKS | CALLBACKS => false,
        BUILT_IN => is_kept(source),
        _ => true,
    };
    let has_others = sources.iter().any(may_keep);
    let loads_skills = sources.iter().filter_map(features).any(|features| features.skills.is_some());
    let has_skills =
        |source: &Expected| features(source).is_some_and(|features| !features.resources.is_empty());
    let sources_shown = sources.iter().filter(|source| match &*source.name {
        ARTIFACTS => has_others,
        // The tool of skills, where there are some: ours, or those of servers.
        SKILLS => loads_skills || has_skills(source),
        _ => true,
    });
    let mut offer = offer::build(sources_shown.filter_map(|source| source.report.as_ref()), shows);
    offer.is_settled = sources.iter().all(|source| source.report.is_some());
    offer
}

/// What a source has reported beside its tools.
fn features(source: &Expected) -> Option<&Features> {
    source.report.as_ref().map(|report| &report.source.features)
}

/// Some servers list the same tools in another order each time, which is no news to anybody.
fn read_alike(before: &[Arc<Offered>], now: &[Arc<Offered>]) -> bool {
    let sorted = |tools: &'_ [Arc<Offered>]| {
        let mut tools = tools.to_vec();
        tools.sort_by(|a, b| a.definition().name.cmp(&b.definition().name));
        tools
    };
    // A tool of ours may describe what there is just now.
    fn shown(tool: &Arc<Offered>) -> (&[u8], &str) {
        (tool.listed(), &tool.definition().description)
    }
    // At a start each source brings more, which needs no sorting to be seen.
    before.len() == now.len() && sorted(before).iter().map(shown).eq(sorted(now).iter().map(shown))
}
