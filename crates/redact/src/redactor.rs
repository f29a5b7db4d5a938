//! The handle that everything which leaves the program passes through.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use bytes::Bytes;

use crate::config::{Config, Filter};
use crate::hits::{self, Hit, merge};
use crate::json;
use crate::known::Values;
use crate::patterns;

/// One secret: its name, which is shown, and its value, which is not.
#[derive(Clone)]
pub struct Known {
    /// What stands in its place: `[REDACTED:NAME]`, or `***` if it is empty.
    pub name: Arc<str>,
    /// The value.
    pub value: Arc<str>,
}

/// What is left of a text after secrets were struck out of it.
pub struct Struck {
    /// The text.
    pub bytes: Bytes,
    /// How many places were struck out.
    pub count: u32,
}

/// Strikes out. A clone knows what the original learns later.
#[derive(Clone)]
pub struct Redactor(Arc<Shared>);

struct Shared {
    state: ArcSwap<State>,
    /// What each source told.
    sources: Mutex<Sources>,
    version: AtomicU64,
}

#[derive(Default)]
struct Sources(BTreeMap<String, Vec<Known>>);

/// What a search goes by.
struct State {
    /// Nothing if patterns are not looked for.
    filter: Option<Arc<Filter>>,
    known: Option<Arc<Values>>,
}

/// One search.
pub(crate) struct Search<'s> {
    pub(crate) known: Option<&'s Values>,
    filter: Option<&'s Filter>,
}

impl Redactor {
    /// Knows no secret yet. What is wrong with the section is for [`Config::check`] to say.
    pub fn new(config: &Config) -> Redactor {
        let state = State { filter: filter(config), known: None };
        Redactor(Arc::new(Shared {
            state: ArcSwap::from_pointee(state),
            sources: Mutex::default(),
            version: AtomicU64::new(0),
        }))
    }

    /// Goes by another section from now on.
    pub fn configure(&self, config: &Config) {
        let _sources = self.0.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.0.state.load().known.clone();
        self.put(State { filter: filter(config), known });
    }

    /// Learns the secrets of one source (`store`, `config`, `mcp.NAME`) in place of those it told before. Values of
    /// less than four characters are not looked for, and of one of more than 64 KiB only its beginning. Takes some
    /// milliseconds for hundreds of them, during which others go on with what was known before.
    pub fn know(&self, source: &str, secrets: Vec<Known>) {
        let mut sources = self.0.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.is_empty() {
            if sources.0.remove(source).is_none() {
                return;
            }
        } else {
            sources.0.insert(source.to_owned(), secrets);
        }
        let known = Values::of(sources.0.values().flatten()).map(Arc::new);
        let filter = self.0.state.load().filter.clone();
        self.put(State { filter, known });
    }

    fn put(&self, state: State) {
        self.0.state.store(Arc::new(state));
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The text without secrets; borrowed if there are none in it.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.strike(text) {
            None => Cow::Borrowed(text),
            Some((struck, _)) => Cow::Owned(struck),
        }
    }

    /// The text without secrets, and how many places that were; nothing if there are none in it.
    pub fn strike(&self, text: &str) -> Option<(String, u32)> {
        let state = self.0.state.load();
        let search = state.search();
        let mut hits = Vec::new();
        search.known(text.as_bytes(), &mut hits);
        search.patterns(text.as_bytes(), &mut hits);
        hits.retain(|hit| !search.is_struck(text.as_bytes(), hit));
        for hit in &mut hits {
            // Whole characters, or what is left would be no text.
            hit.start = text.floor_char_boundary(hit.start);
            hit.end = text.ceil_char_boundary(hit.end);
        }
        let (struck, count) = replaced(text.as_bytes(), hits)?;
        Some((String::from_utf8(struck).expect("whole characters were taken out of a text"), count))
    }

    /// Bytes of a file without the values of known secrets, and how many places that were; nothing if there are none.
    /// What only looks like a secret stays: in a picture it is chance.
    pub fn bytes(&self, bytes: &[u8]) -> Option<(Vec<u8>, u32)> {
        let state = self.0.state.load();
        let search = state.search();
        let mut hits = Vec::new();
        search.known(bytes, &mut hits);
        hits.retain(|hit| !search.is_struck(bytes, hit));
        replaced(bytes, hits)
    }

    /// A JSON text without secrets in its strings, keys and numbers; nothing if there are none in it. What comes out is
    /// JSON again, and everything else in it stays byte for byte.
    pub fn json(&self, json: &[u8]) -> Option<Struck> {
        let state = self.0.state.load();
        let (bytes, count) = json::strike(json, &state.search())?;
        Some(Struck { bytes: bytes.into(), count })
    }

    /// How long the longest spelling of a known value is, in bytes: where a text was cut, what is left of a secret is
    /// shorter than that.
    pub fn spelling_bytes_max(&self) -> usize {
        self.0.state.load().known.as_ref().map_or(0, |known| known.bytes_max())
    }

    /// Another number whenever something was learnt or forgotten, for whoever keeps what has been redacted.
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

fn filter(config: &Config) -> Option<Arc<Filter>> {
    config.patterns.then(|| Arc::new(Filter::of(config)))
}

/// The text with marks in place of `hits`, and how many places that were; nothing if there are none.
pub(crate) fn replaced(text: &[u8], mut hits: Vec<Hit>) -> Option<(Vec<u8>, u32)> {
    if hits.is_empty() {
        return None;
    }
    merge(&mut hits);
    let (mut out, mut kept) = (Vec::with_capacity(text.len()), 0);
    for hit in &hits {
        out.extend_from_slice(&text[kept..hit.start]);
        hit.name.write(&mut out);
        kept = hit.end;
    }
    out.extend_from_slice(&text[kept..]);
    Some((out, u32::try_from(hits.len()).unwrap_or(u32::MAX)))
}

impl State {
    fn search(&self) -> Search<'_> {
        Search { known: self.known.as_deref(), filter: self.filter.as_deref() }
    }
}

impl Search<'_> {
    /// Adds the places of known values.
    fn known(&self, text: &[u8], hits: &mut Vec<Hit>) {
        if let Some(known) = self.known {
            known.find(text, 0, hits);
        }
    }

    /// True if no secret is known and patterns are not looked for.
    pub(crate) fn is_for_nothing(&self) -> bool {
        self.known.is_none() && self.filter.is_none()
    }

    /// Adds the places of what looks like a secret.
    pub(crate) fn patterns(&self, text: &[u8], hits: &mut Vec<Hit>) {
        if let Some(filter) = self.filter {
            patterns::find(text, filter, hits);
        }
    }

    /// True for a place that was struck out before: a name may hold a value.
    pub(crate) fn is_struck(&self, text: &[u8], hit: &Hit) -> bool {
        let ours = |name: &str| {
            self.known.is_some_and(|known| known.has(name)) || patterns::ids().any(|id| id == name)
        };
        hits::is_struck(text, hit, &ours)
    }
}
