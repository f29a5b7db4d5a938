//! The handle that everything which leaves the program passes through.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use bytes::Bytes;

use crate::config::Config;
use crate::hits::replaced;
use crate::json;
use crate::known::{Known, Values};
use crate::patterns::Filter;
use crate::search::Search;
use crate::vocabulary::Vocabulary;

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
    search: ArcSwap<Search>,
    /// The secrets of each source.
    sources: Mutex<BTreeMap<String, Vec<Known>>>,
    version: AtomicU64,
    vocabulary: Vocabulary,
}

impl Redactor {
    /// Knows no secret yet, and no word of the protocol, so it strikes those, too. What is wrong with the section is for
    /// [`Config::check`] to say.
    pub fn new(config: &Config) -> Redactor {
        Redactor::with_vocabulary(config, Vocabulary::default())
    }

    /// The same for JSON of a protocol whose words stay.
    pub fn with_vocabulary(config: &Config, vocabulary: Vocabulary) -> Redactor {
        let search = Search { filter: filter(config), known: None };
        Redactor(Arc::new(Shared {
            search: ArcSwap::from_pointee(search),
            sources: Mutex::default(),
            version: AtomicU64::new(0),
            vocabulary,
        }))
    }

    /// Goes by another section from now on.
    pub fn configure(&self, config: &Config) {
        let _sources = self.0.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.0.search.load().known.clone();
        self.put(Search { filter: filter(config), known });
    }

    /// Learns the secrets of one source (`store`, `config`, `mcp.NAME`) in place of those it had before. Values of
    /// less than four characters are not looked for, and of one of more than 64 KiB only its beginning. Takes some
    /// milliseconds for hundreds of them, during which others go on with what was known before.
    pub fn know(&self, source: &str, secrets: Vec<Known>) {
        let mut sources = self.0.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.is_empty() {
            if sources.remove(source).is_none() {
                return;
            }
        } else {
            sources.insert(source.to_owned(), secrets);
        }
        let known = Values::of(sources.values().flatten()).map(Arc::new);
        let filter = self.0.search.load().filter.clone();
        self.put(Search { filter, known });
    }

    fn put(&self, search: Search) {
        self.0.search.store(Arc::new(search));
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
        let search = self.0.search.load();
        let mut hits = search.values(text.as_bytes());
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
        let search = self.0.search.load();
        let mut hits = search.values(bytes);
        hits.retain(|hit| !search.is_struck(bytes, hit));
        replaced(bytes, hits)
    }

    /// A JSON text without secrets in its strings, keys and numbers; nothing if there are none in it. What comes out is
    /// JSON again, and everything else in it stays byte for byte.
    pub fn json(&self, json: &[u8]) -> Option<Struck> {
        let search = self.0.search.load();
        let (bytes, count) = json::strike(json, &search, &self.0.vocabulary)?;
        Some(Struck { bytes: bytes.into(), count })
    }

    /// What is looked for at this moment.
    pub(crate) fn search(&self) -> arc_swap::Guard<Arc<Search>> {
        self.0.search.load()
    }

    /// How long the longest encoding of a known value is, in bytes: where a text was cut, what is left of a secret is
    /// shorter than that.
    pub fn encoding_bytes_max(&self) -> usize {
        self.0.search.load().known.as_ref().map_or(0, |known| known.bytes_max())
    }

    /// Another number whenever the known secrets or the settings change, for whoever keeps what has been redacted.
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

fn filter(config: &Config) -> Option<Arc<Filter>> {
    config.patterns.then(|| Arc::new(Filter::new(&config.disable, &config.allow)))
}
