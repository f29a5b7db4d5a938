//! What a tool gives back.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::artifact::Artifact;
use crate::dry_run::Planned;
use crate::hold::Hold;
use crate::sandboxed::Sandboxed;

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Plain text.
    Text(String),
    /// A picture.
    Image {
        /// Its media type.
        mime: Cow<'static, str>,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// Its media type.
        mime: Cow<'static, str>,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Any other bytes.
    Blob {
        /// Where they come from, such as `file:///workspace/a.bin`.
        uri: String,
        /// Their media type.
        mime: Cow<'static, str>,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Block {
    /// How many bytes of content this is, before any encoding.
    pub fn bytes(&self) -> usize {
        match self {
            Block::Text(text) => text.len(),
            Block::Image { bytes, .. } | Block::Audio { bytes, .. } | Block::Blob { bytes, .. } => {
                bytes.len()
            }
        }
    }
}

/// The result of a call that ran.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The content.
    pub payload: Payload,
    /// True if the tool itself says that it failed.
    pub is_error: bool,
    /// How the programs of the call ran, if some did. The gate says it.
    pub sandboxed: Option<Box<Sandboxed>>,
    /// What the call would have changed, if it was a dry run. The gate says it.
    pub planned: Option<Box<Planned>>,
    /// The artifacts that the call has made, and the whole of what was cut. The gate says them.
    pub artifacts: Vec<Artifact>,
}

impl Outcome {
    /// Of a tool that did its work.
    pub fn of(payload: Payload) -> Outcome {
        Outcome { payload, is_error: false, sandboxed: None, planned: None, artifacts: Vec::new() }
    }
}

/// Content, ours or somebody else's.
#[derive(Debug, Clone)]
pub enum Payload {
    /// Made here.
    Ours {
        /// What a reader sees.
        blocks: Vec<Block>,
        /// The same as JSON text, for programs; conforms to the tool's output schema.
        structured: Option<Bytes>,
    },
    /// Made elsewhere.
    Relayed {
        /// An upstream's whole result object as JSON text, to be passed on as it is.
        result: Bytes,
        /// Its structured content as JSON text, if it has one.
        structured: Option<Bytes>,
    },
    /// The tool needs something of the client first; the client then calls again with it.
    InputRequired {
        /// What is asked: an `inputRequests` object as JSON text, each entry `{method, params}` under a key of
        /// its own.
        requests: Option<Bytes>,
        /// What the tool wants to be given back with the answers. The caller gets it sealed.
        state: Option<Arc<str>>,
        /// Ends what the tool keeps for the next round, if it keeps something.
        hold: Option<Hold>,
    },
    /// The call goes on as a task of its source.
    Task {
        /// The source's whole result object as JSON text, under its own id for the task.
        result: Bytes,
        /// That id.
        id: Arc<str>,
    },
}

impl Payload {
    /// How many bytes of content this is, before any encoding.
    pub fn bytes(&self) -> usize {
        match self {
            Payload::Ours { blocks, structured } => {
                blocks.iter().map(Block::bytes).sum::<usize>() + structured.as_ref().map_or(0, Bytes::len)
            }
            Payload::Relayed { result, .. } | Payload::Task { result, .. } => result.len(),
            Payload::InputRequired { requests, state, .. } => {
                requests.as_ref().map_or(0, Bytes::len) + state.as_ref().map_or(0, |state| state.len())
            }
        }
    }
}

/// What a typed tool returns: it knows its schema, if it has structure, and how it is shown.
pub trait Output: Send {
    /// What makes the schema of the structured form, if there is one.
    const SCHEMA: Option<fn() -> schemars::Schema>;

    /// The outcome for the gate.
    fn into_outcome(self) -> Outcome;
}

/// Content that is a document in itself: text, pictures, bytes. It has no second, structured form, since
/// clients that prefer structure would hide the document from the model.
#[derive(Debug)]
pub struct Document(pub Vec<Block>);

impl Output for Document {
    const SCHEMA: Option<fn() -> schemars::Schema> = None;

    fn into_outcome(self) -> Outcome {
        Outcome::of(Payload::Ours { blocks: self.0, structured: None })
    }
}

/// Facts with two forms: text by `Display`, and structure by `Serialize`.
#[derive(Debug)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema + std::fmt::Display + Send> Output for Structured<T> {
    const SCHEMA: Option<fn() -> schemars::Schema> = Some(|| schemars::schema_for!(T));

    fn into_outcome(self) -> Outcome {
        let structured = serde_json::to_vec(&self.0).expect("outputs have string keys and no failing parts");
        let blocks = vec![Block::Text(self.0.to_string())];
        Outcome::of(Payload::Ours { blocks, structured: Some(structured.into()) })
    }
}
