//! The `[artifacts]` section: how long artifacts are kept, how much of them, and where.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use units::{Size, Span};

use crate::bucket::Bucket;
use crate::upload;

/// A day: whoever reads on does so within minutes, and a person the next morning.
const KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest that can be set. The index is read whole, and what is old is somebody else's affair.
const KEEP_MAX: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The least: shorter is gone before it can be read on.
const KEEP_MIN: Duration = Duration::from_secs(60);

/// What one caller may have: two of the largest build logs.
const CALLER_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// What all have together.
const TOTAL_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// Where buckets are that say nothing else. Stores of other makers mostly take any.
const REGION: &str = "us-east-1";

/// Results that are too large for an answer: how long they are kept, how much of them, and where. Keys are `V`, which may be
/// references.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config<V> {
    /// How long an artifact is kept, between a minute and 90 days.
    pub keep: Span,
    /// The most that one caller's artifacts have in all, and so the largest of them. The caller's oldest make room.
    pub caller: Size,
    /// The most that all callers' artifacts have in all. Nobody's make room for another's.
    pub total: Size,
    /// An S3-compatible store in which they are kept instead of the state folder: `"s3://BUCKET/PREFIX"`. What is below the
    /// prefix belongs to this state folder alone.
    pub store: Option<String>,
    /// The address of the store, such as `"https://s3.example:9000"`, if it is not Amazon's own in `region`. It is asked for
    /// `ENDPOINT/BUCKET/…`. With `http://` on this machine only.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: String,
    /// The id of the key by which the store is asked, best as a reference: `{ store = "S3_ID" }`. It needs to put, get and
    /// delete objects below the prefix.
    pub access_key: Option<V>,
    /// The secret of that key, best as a reference: `{ store = "S3_SECRET" }`.
    pub secret_key: Option<V>,
}

impl<V> Default for Config<V> {
    fn default() -> Config<V> {
        Config {
            keep: Span(KEEP),
            caller: Size(CALLER_BYTES),
            total: Size(TOTAL_BYTES),
            store: None,
            endpoint: None,
            region: REGION.to_owned(),
            access_key: None,
            secret_key: None,
        }
    }
}

/// What may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For how long, in milliseconds.
    pub keep_ms: i64,
    /// How many bytes of one caller.
    pub caller_bytes: u64,
    /// How many bytes in all.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Config::<()>::default().limits()
    }
}

impl<V> Config<V> {
    /// Every key whose value is out of its range, with why.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        if !(KEEP_MIN..=KEEP_MAX).contains(&self.keep.0) {
            wrong.push(("keep", format!("must be between {} and {}", Span(KEEP_MIN), Span(KEEP_MAX))));
        }
        if self.caller > self.total {
            wrong.push(("caller", "must not be more than `artifacts.total`".to_owned()));
        }
        if self.store.is_some() && self.caller.0 > upload::BYTES_MAX {
            wrong.push(("caller", format!("must be at most {} with a store", Size(upload::BYTES_MAX))));
        }
        wrong.extend(self.bucket().err());
        wrong.extend(self.keys());
        wrong
    }

    /// The bucket, asked by nobody yet; nothing where contents are kept in the state folder.
    ///
    /// # Errors
    /// The key that is wrong, with why.
    pub fn bucket(&self) -> Result<Option<Bucket>, (&'static str, String)> {
        let Some(store) = &self.store else { return Ok(None) };
        Bucket::parse(store, self.endpoint.as_deref(), &self.region).map(Some)
    }

    /// What is said of a store that none has, or not said of one.
    fn keys(&self) -> Option<(&'static str, String)> {
        let needs = |key, of: &str| Some((key, of.to_owned()));
        match (&self.store, &self.access_key, &self.secret_key) {
            (Some(_), None, _) | (Some(_), Some(_), None) => {
                needs("store", "needs `artifacts.access_key` and `artifacts.secret_key`")
            }
            (None, Some(_), _) => needs("access_key", "is of a store: set `artifacts.store`"),
            (None, None, Some(_)) => needs("secret_key", "is of a store: set `artifacts.store`"),
            (None, None, None) if self.endpoint.is_some() => {
                needs("endpoint", "is of a store: set `artifacts.store`")
            }
            (Some(_), Some(_), Some(_)) | (None, None, None) => None,
        }
    }

    /// What may be kept.
    pub fn limits(&self) -> Limits {
        Limits {
            keep_ms: i64::try_from(self.keep.0.as_millis()).unwrap_or(i64::MAX),
            caller_bytes: self.caller.0,
            total_bytes: self.total.0,
        }
    }
}
