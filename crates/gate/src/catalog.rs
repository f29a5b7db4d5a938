//! The tools on offer: which there are, and which of them a caller may see.
//!
//! Listing and calling use the same function, so what is listed is what can be called. Sources (our own
//! tools, each upstream) report whole sets; a report builds a new offer and swaps one pointer, so that a
//! running call keeps the one it began with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tool_api::{AnyTool, Definition};

use crate::schema::Schema;

/// How long a list waits for sources that have not reported. Later ones come as a change of the list.
const REPORT_WAIT_MAX: Duration = Duration::from_secs(8);

/// A tool on offer, with its schemas compiled when first needed.
pub struct Offered {
    tool: Arc<dyn AnyTool>,
    input: OnceLock<Result<Schema, String>>,
    output: OnceLock<Option<Result<Schema, String>>>,
}

impl Offered {
    fn new(tool: Arc<dyn AnyTool>) -> Arc<Offered> {
        Arc::new(Offered { tool, input: OnceLock::new(), output: OnceLock::new() })
    }

    /// What is known of the tool.
    pub fn definition(&self) -> &Definition {
        self.tool.definition()
    }

    pub(crate) fn tool(&self) -> &dyn AnyTool {
        &*self.tool
    }

    pub(crate) fn input_schema(&self) -> Result<&Schema, &str> {
        let compiled = self.input.get_or_init(|| Schema::compile(&self.definition().input_schema));
        compiled.as_ref().map_err(String::as_str)
    }

    pub(crate) fn output_schema(&self) -> Option<Result<&Schema, &str>> {
        let compile = || self.definition().output_schema.as_deref().map(Schema::compile);
        self.output.get_or_init(compile).as_ref().map(|compiled| compiled.as_ref().map_err(String::as_str))
    }

    /// Compiles both schemas now.
    ///
    /// # Errors
    /// Why one of them cannot be used.
    pub fn check_schemas(&self) -> Result<(), String> {
        self.input_schema().map_err(|why| format!("input schema: {why}"))?;
        match self.output_schema() {
            Some(Err(why)) => Err(format!("output schema: {why}")),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

/// One state of the catalogue.
pub struct Offer {
    /// Grows with every change.
    pub version: u64,
    by_name: HashMap<Arc<str>, Arc<Offered>>,
    in_order: Vec<Arc<Offered>>,
    collisions: Vec<Collision>,
}

impl Offer {
    /// All tools, by name.
    pub fn tools(&self) -> &[Arc<Offered>] {
        &self.in_order
    }

    /// The tool of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Offered>> {
        self.by_name.get(name)
    }

    /// Tools that are not offered because their name was taken.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }
}

/// A tool that is not offered because an earlier source offers one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The name.
    pub name: Arc<str>,
    /// Who wanted to offer it.
    pub source: Arc<str>,
}

struct Source {
    name: Arc<str>,
    /// Nothing until the first report.
    tools: Option<Vec<Arc<dyn AnyTool>>>,
}

/// Keeps the offer. Shared by the gate, the doors, and whoever reports.
pub struct Catalog {
    sources: Mutex<Vec<Source>>,
    offer: ArcSwap<Offer>,
    version: watch::Sender<u64>,
    unreported: watch::Sender<usize>,
    wanted: watch::Sender<bool>,
}

/// The name under which our own tools are kept.
pub const BUILT_IN: &str = "built-in";

impl Catalog {
    /// A catalogue of our own tools. Earlier sources win a name; ours come first.
    pub fn new(built_in: Vec<Arc<dyn AnyTool>>) -> Arc<Catalog> {
        let sources = vec![Source { name: BUILT_IN.into(), tools: Some(built_in) }];
        Arc::new(Catalog {
            offer: ArcSwap::from_pointee(build(&sources, 1)),
            sources: Mutex::new(sources),
            version: watch::Sender::new(1),
            unreported: watch::Sender::new(0),
            wanted: watch::Sender::new(false),
        })
    }

    /// Announces a source that will report. The order of announcements settles who wins a name.
    pub fn expect(&self, source: &str) {
        let mut sources = self.lock();
        if !sources.iter().any(|known| &*known.name == source) {
            sources.push(Source { name: source.into(), tools: None });
            self.unreported.send_modify(|count| *count += 1);
        }
    }

    /// Takes a source's whole set of tools and returns those whose name was taken.
    pub fn replace(&self, source: &str, tools: Vec<Arc<dyn AnyTool>>) -> Vec<Collision> {
        self.expect(source);
        let mut sources = self.lock();
        let entry = sources.iter_mut().find(|known| &*known.name == source);
        let first = entry.is_some_and(|entry| entry.tools.replace(tools).is_none());
        let version = self.offer.load().version + 1;
        let offer = build(&sources, version);
        let collisions = offer.collisions.iter().filter(|one| &*one.source == source).cloned().collect();
        self.offer.store(Arc::new(offer));
        drop(sources);
        if first {
            self.unreported.send_modify(|count| *count -= 1);
        }
        self.version.send_replace(version);
        collisions
    }

    /// The offer as it is.
    pub fn offer(&self) -> Arc<Offer> {
        self.offer.load_full()
    }

    /// The offer once every source has reported, or after a bounded wait without those that have not.
    pub async fn settled(&self) -> Arc<Offer> {
        if *self.unreported.borrow() > 0 {
            self.wanted.send_replace(true);
            let mut unreported = self.unreported.subscribe();
            // Whoever is late comes as a change of the list.
            let _ = tokio::time::timeout(REPORT_WAIT_MAX, unreported.wait_for(|count| *count == 0)).await;
        }
        self.offer()
    }

    /// Resolves once somebody needs what unreported sources have.
    pub async fn wanted(&self) {
        // The sender lives as long as the catalogue, so the wait cannot fail.
        let _ = self.wanted.subscribe().wait_for(|wanted| *wanted).await;
    }

    /// Tells the version of the offer with every change.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build(sources: &[Source], version: u64) -> Offer {
    let mut offer = Offer { version, by_name: HashMap::new(), in_order: Vec::new(), collisions: Vec::new() };
    for source in sources {
        for tool in source.tools.iter().flatten() {
            let name = tool.definition().name.shared();
            if offer.by_name.contains_key(&name) {
                offer.collisions.push(Collision { name, source: source.name.clone() });
                continue;
            }
            let offered = Offered::new(tool.clone());
            offer.in_order.push(offered.clone());
            offer.by_name.insert(name, offered);
        }
    }
    offer.in_order.sort_by(|a, b| a.definition().name.cmp(&b.definition().name));
    offer
}
