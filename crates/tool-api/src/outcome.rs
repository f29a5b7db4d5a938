//! What a tool gives back.

use std::borrow::Cow;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

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
}

impl Payload {
    /// How many bytes of content this is, before any encoding.
    pub fn bytes(&self) -> usize {
        match self {
            Payload::Ours { blocks, structured } => {
                blocks.iter().map(Block::bytes).sum::<usize>() + structured.as_ref().map_or(0, Bytes::len)
            }
            Payload::Relayed { result, .. } => result.len(),
        }
    }
}

/// What a typed tool returns: it knows its schema, if it has structure, and how it is shown.
pub trait Output: Send {
    /// The schema of the structured form.
    fn schema() -> Option<schemars::Schema>;

    /// The outcome for the gate.
    fn into_outcome(self) -> Outcome;
}

/// Content that is a document in itself: text, pictures, bytes. It has no second, structured form, since
/// clients that prefer structure would hide the document from the model.
#[derive(Debug)]
pub struct Document(pub Vec<Block>);

impl Output for Document {
    fn schema() -> Option<schemars::Schema> {
        None
    }

    fn into_outcome(self) -> Outcome {
        Outcome { payload: Payload::Ours { blocks: self.0, structured: None }, is_error: false }
    }
}

/// Facts with two forms: text by `Display`, and structure by `Serialize`.
#[derive(Debug)]
pub struct Structured<T>(pub T);

impl<T: Serialize + JsonSchema + std::fmt::Display + Send> Output for Structured<T> {
    fn schema() -> Option<schemars::Schema> {
        Some(schemars::schema_for!(T))
    }

    fn into_outcome(self) -> Outcome {
        let structured = serde_json::to_vec(&self.0).expect("outputs have string keys and no failing parts");
        let blocks = vec![Block::Text(self.0.to_string())];
        let payload = Payload::Ours { blocks, structured: Some(structured.into()) };
        Outcome { payload, is_error: false }
    }
}
