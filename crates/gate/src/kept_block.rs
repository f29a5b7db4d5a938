//! A piece of content, as it is kept beyond its call.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tool_api::Block;

/// The same as a [`Block`], as JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeptBlock {
    Text(String),
    Image { mime: String, base64: String },
    Audio { mime: String, base64: String },
    Blob { uri: String, mime: String, base64: String },
}

impl KeptBlock {
    pub(crate) fn of(block: &Block) -> KeptBlock {
        match block {
            Block::Text(text) => KeptBlock::Text(text.clone()),
            Block::Image { mime, bytes } => {
                KeptBlock::Image { mime: mime.to_string(), base64: STANDARD.encode(bytes) }
            }
            Block::Audio { mime, bytes } => {
                KeptBlock::Audio { mime: mime.to_string(), base64: STANDARD.encode(bytes) }
            }
            Block::Blob { uri, mime, bytes } => {
                KeptBlock::Blob { uri: uri.clone(), mime: mime.to_string(), base64: STANDARD.encode(bytes) }
            }
        }
    }

    /// Nothing of one whose bytes cannot be read.
    pub(crate) fn opened(self) -> Option<Block> {
        let bytes = |base64: &str| STANDARD.decode(base64).ok();
        Some(match self {
            KeptBlock::Text(text) => Block::Text(text),
            KeptBlock::Image { mime, base64 } => {
                Block::Image { mime: Cow::Owned(mime), bytes: bytes(&base64)? }
            }
            KeptBlock::Audio { mime, base64 } => {
                Block::Audio { mime: Cow::Owned(mime), bytes: bytes(&base64)? }
            }
            KeptBlock::Blob { uri, mime, base64 } => {
                Block::Blob { uri, mime: Cow::Owned(mime), bytes: bytes(&base64)? }
            }
        })
    }
}
