//! One state of the catalogue: every tool, prompt and resource there is, merged from the sources.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use audit::Hash;
use bytes::Bytes;
use futures_util::future::join_all;
use telemetry::{Meter, Metrics};
use tool_api::{Abilities, Action, AnyTool, Definition, Features, Freshness, Item, Listing, Validate};

use crate::schema::Schema;

/// The name under which the tools are kept that read artifacts. They are on offer where others' results can be too large.
pub const ARTIFACTS: &str = "artifacts";

/// The name under which skills are kept, with the tool that loads them.
pub const SKILLS: &str = "agent-skills";

/// The names under which the tasks, and the callbacks, of each caller are offered as resources.
pub const TASKS: &str = "agent-tasks";
/// See [`TASKS`].
pub const CALLBACKS: &str = "agent-callbacks";

/// Those of ours that read nothing but what they list or claim.
const OF_OURS: [&str; 4] = [ARTIFACTS, SKILLS, TASKS, CALLBACKS];

/// A tool on offer, with its schemas compiled when first needed.
pub struct Offered {
    tool: Arc<dyn AnyTool>,
    input: OnceLock<Result<Schema, String>>,
    output: OnceLock<Option<Result<Schema, String>>>,
    hash: OnceLock<Hash>,
    meter: OnceLock<Arc<Meter>>,
}

impl Offered {
    pub(crate) fn new(tool: Arc<dyn AnyTool>) -> Arc<Offered> {
        let (input, output, hash, meter) =
            (OnceLock::new(), OnceLock::new(), OnceLock::new(), OnceLock::new());
        Arc::new(Offered { tool, input, output, hash, meter })
    }

    /// One whose name is a caller's word, and so no label: its calls count as those of tools that nobody offers.
    pub(crate) fn uncounted(tool: Arc<dyn AnyTool>, metrics: &telemetry::Metrics) -> Arc<Offered> {
        let offered = Offered::new(tool);
        offered.meter.get_or_init(|| metrics.nobody().clone());
        offered
    }

    /// What is known of the tool.
    pub fn definition(&self) -> &Definition {
        self.tool.definition()
    }

    pub(crate) fn tool(&self) -> &dyn AnyTool {
        &*self.tool
    }

    /// The hash of all that the tool is known by: what it is shown as, what it takes and gives, and what we hold it for.
    pub(crate) fn hash(&self) -> Hash {
        *self.hash.get_or_init(|| hash_of(self.definition()))
    }

    /// What counts its calls.
    pub(crate) fn meter(&self, metrics: &Metrics) -> &Arc<Meter> {
        self.meter.get_or_init(|| metrics.meter(&self.definition().name.shared()))
    }

    pub(crate) fn input_schema(&self) -> Result<&Schema, &str> {
        let Definition { name, input_schema, validate, .. } = self.definition();
        let compile = || {
            let compiled = Schema::compile(input_schema);
            if let (Err(why), Validate::Lenient) = (&compiled, validate) {
                tracing::warn!(tool = %name, %why, "its arguments are not checked: its schema cannot be used");
            }
            compiled
        };
        self.input.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    pub(crate) fn output_schema(&self) -> Option<Result<&Schema, &str>> {
        let compile = || self.definition().output_schema.as_deref().map(|text| Schema::compile(text));
        self.output.get_or_init(compile).as_ref().map(|compiled| compiled.as_ref().map_err(String::as_str))
    }

    /// What clients are shown of it.
    pub(crate) fn listed(&self) -> &[u8] {
        match &self.definition().listing {
            Listing::Ours(about) => about.name.as_bytes(),
            Listing::Declared(described) => described.text.as_bytes(),
            Listing::Relayed(listing) => listing,
        }
    }

    /// Compiles both schemas now.
    ///
    /// # Errors
    /// Why one of them cannot be used.
    pub fn check_schemas(&self) -> Result<(), String> {
        self.input_schema().map_err(|why| format!("input schema: {why}"))?;
        let output = self.output_schema().transpose();
        output.map(drop).map_err(|why| format!("output schema: {why}"))
    }

    /// Why the arguments of a tool cannot be held against its schema, where they are to be.
    pub fn unchecked(definition: &Definition) -> Option<String> {
        let is_checked = definition.validate != Validate::Off;
        is_checked.then(|| Schema::compile(&definition.input_schema).err()).flatten()
    }
}

fn hash_of(definition: &Definition) -> Hash {
    let (title, summary, listing): (&str, &str, &[u8]) = match &definition.listing {
        Listing::Ours(about) => (about.title, about.summary, b""),
        Listing::Declared(described) => (&described.title, "", described.text.as_bytes()),
        Listing::Relayed(listing) => ("", "", listing),
    };
    let flags = [definition.effect as u8, definition.marked_destructive.into(), definition.open_world.into()];
    let parts = [
        definition.name.as_str().as_bytes(),
        definition.upstream().unwrap_or_default().as_bytes(),
        definition.description.as_bytes(),
        title.as_bytes(),
        summary.as_bytes(),
        listing,
        &definition.input_schema,
        definition.output_schema.as_deref().map_or(b"", |text| text),
        &flags,
    ];
    Hash::of_parts(parts)
}

/// How often each list has changed. Grows, never shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Versions {
    /// Any of them.
    pub all: u64,
    /// The tools.
    pub tools: u64,
    /// The prompts.
    pub prompts: u64,
    /// The resources and the templates.
    pub resources: u64,
}

/// One prompt, resource or template, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The source.
    pub source: Arc<str>,
    /// What it offers.
    pub item: Item,
}

/// One state of the catalogue.
#[derive(Default)]
pub struct Offer {
    /// Grow with every change.
    pub versions: Versions,
    /// All tools: by source, and within it in the source's own order.
    pub tools: Vec<Arc<Offered>>,
    /// Everyone who has reported, in the order of announcement.
    pub sources: Vec<Arc<Source>>,
    /// All prompts, in the same order.
    pub prompts: Vec<Shown>,
    /// All resources, in the same order.
    pub resources: Vec<Shown>,
    /// All resource templates, in the same order.
    pub templates: Vec<Shown>,
    /// What is not offered because its name was taken.
    pub collisions: Vec<Collision>,
    /// False while a source has not reported yet.
    pub is_settled: bool,
    by_name: HashMap<Arc<str>, Arc<Offered>>,
    prompt_owner: HashMap<Arc<str>, Arc<Source>>,
    resource_owner: HashMap<Arc<str>, Arc<Source>>,
    /// Why, by the names under which nothing is offered before a person accepts it.
    held: HashMap<Arc<str>, (Arc<Offered>, Arc<str>)>,
}

impl Offer {
    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Offered>> {
        self.by_name.get(name)
    }

    /// The tool of this name that is not offered before a person accepts it, and what to tell who wants to call it.
    pub(crate) fn held(&self, name: &str) -> Option<(&Arc<Offered>, &Arc<str>)> {
        self.held.get(name).map(|(tool, why)| (tool, why))
    }

    /// The source of this name.
    pub fn source(&self, name: &str) -> Option<&Arc<Source>> {
        self.sources.iter().find(|source| &*source.name == name)
    }

    /// How long the lists of those sources stay good that say it.
    pub fn good_for(&self) -> Option<Duration> {
        self.freshness().filter_map(|source| source.good_for()).min()
    }

    /// Has lists read again that are not good any more.
    pub(crate) async fn renewed(&self) {
        let is_over = |source: &Arc<dyn Freshness>| source.good_for() == Some(Duration::ZERO);
        let over: Vec<_> = self.freshness().filter(is_over).collect();
        join_all(over.iter().map(|source| source.renewed())).await;
    }

    fn freshness(&self) -> impl Iterator<Item = Arc<dyn Freshness>> {
        self.sources.iter().filter_map(|source| source.features.freshness.as_ref()?.upgrade())
    }

    /// What all sources together can do.
    pub fn abilities(&self) -> Abilities {
        let mut all = Abilities::default();
        for abilities in self.sources.iter().map(|source| &source.features.abilities) {
            all.logging |= abilities.logging;
            all.completions |= abilities.completions;
            all.prompts |= abilities.prompts;
            all.resources |= abilities.resources;
            all.subscribe |= abilities.subscribe;
            add_new(&mut all.extensions, &abilities.extensions);
            add_new(&mut all.experimental, &abilities.experimental);
        }
        all
    }

    /// Who offers the prompt of this name.
    pub(crate) fn owner_of_prompt(&self, name: &str) -> Option<&Arc<Source>> {
        self.prompt_owner.get(name)
    }

    /// Who would read this URI: the source that lists it, else one that claims it, else the only one that has
    /// resources under their own URIs. If several might, nobody is guessed.
    pub(crate) fn owner_of_resource(&self, uri: &str) -> Option<&Arc<Source>> {
        let listed = self.resource_owner.get(uri);
        let claimed = || self.sources.iter().find(|source| source.claims(uri));
        listed.or_else(claimed).or_else(|| {
            let reads = |source: &&Arc<Source>| {
                !OF_OURS.contains(&&*source.name) && source.action(Action::ReadResource).is_some()
            };
            let mut readers = self.sources.iter().filter(reads);
            readers.next().filter(|_| readers.next().is_none())
        })
    }
}

/// Adds what no earlier source declares.
fn add_new(all: &mut Vec<(Arc<str>, Bytes)>, declared: &[(Arc<str>, Bytes)]) {
    for one in declared {
        if !all.iter().any(|(known, _)| *known == one.0) {
            all.push(one.clone());
        }
    }
}

/// Something that is not offered because an earlier source offers one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The name or URI.
    pub name: Arc<str>,
    /// Who wanted to offer it.
    pub source: Arc<str>,
}

/// Who offers something, and its features.
pub struct Source {
    /// Its name.
    pub name: Arc<str>,
    /// What it offers besides tools.
    pub features: Features,
    actions: Vec<(Action, Arc<Offered>)>,
}

impl Source {
    pub(crate) fn new(name: Arc<str>, features: Features) -> Arc<Source> {
        let actions =
            features.actions.iter().map(|(action, tool)| (*action, Offered::new(tool.clone()))).collect();
        Arc::new(Source { name, features, actions })
    }

    /// The action, if the source has it.
    pub fn action(&self, action: Action) -> Option<&Arc<Offered>> {
        self.actions.iter().find(|(known, _)| *known == action).map(|(_, offered)| offered)
    }

    fn claims(&self, uri: &str) -> bool {
        self.features.claims.as_ref().is_some_and(|claims| claims(uri))
    }
}

/// What one source has reported.
pub(crate) struct Report {
    pub(crate) tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) source: Arc<Source>,
}

/// The offer that follows from these reports, with the tools that `shows` lets be there.
pub(crate) fn build<'r>(reports: impl Iterator<Item = &'r Report>, shows: impl Fn(&str) -> bool) -> Offer {
    let (mut offer, mut template_owner) = (Offer::default(), HashMap::new());
    for report in reports {
        let source = &report.source;
        // What a tool keeps is read where the tool is on offer.
        if [TASKS, CALLBACKS].contains(&&*source.name)
            && source.actions.iter().any(|(_, of_tool)| !shows(of_tool.definition().name.as_str()))
        {
            continue;
        }
        offer.sources.push(source.clone());
        for tool in report.tools.iter().filter(|tool| shows(tool.definition().name.as_str())) {
            let name = tool.definition().name.shared();
            if offer.by_name.contains_key(&name) {
                offer.collisions.push(Collision { name, source: source.name.clone() });
                continue;
            }
            let offered = Offered::new(tool.clone());
            offer.tools.push(offered.clone());
            offer.by_name.insert(name, offered);
        }
        let features = &source.features;
        for held in features.held.iter().filter(|held| shows(held.tool.definition().name.as_str())) {
            let entry = (Offered::new(held.tool.clone()), held.why.clone());
            offer.held.entry(held.tool.definition().name.shared()).or_insert(entry);
        }
        let collisions = &mut offer.collisions;
        merge(source, &features.prompts, (&mut offer.prompts, &mut offer.prompt_owner), collisions);
        merge(source, &features.resources, (&mut offer.resources, &mut offer.resource_owner), collisions);
        merge(source, &features.templates, (&mut offer.templates, &mut template_owner), collisions);
    }
    offer
}

/// Adds what has a name of its own to the list; the rest are collisions.
fn merge(
    source: &Arc<Source>,
    items: &[Item],
    (list, owners): (&mut Vec<Shown>, &mut HashMap<Arc<str>, Arc<Source>>),
    collisions: &mut Vec<Collision>,
) {
    for item in items {
        match owners.entry(item.key.clone()) {
            Entry::Vacant(free) => {
                free.insert(source.clone());
                list.push(Shown { source: source.name.clone(), item: item.clone() });
            }
            Entry::Occupied(_) => {
                collisions.push(Collision { name: item.key.clone(), source: source.name.clone() });
            }
        }
    }
}
