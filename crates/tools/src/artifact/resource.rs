//! Artifacts as resources: `artifact://ID`, read by its owner as far as one answer holds it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::json;
use tool_api::{
    ARTIFACT_READ, ARTIFACT_SCHEME, Abilities, Action, AnyTool, Arguments, Block, Context, Definition,
    Features, Item, Outcome, Payload, ToolError, builtin,
};

use super::blocks::Blocks;
use super::opened::opened;
use super::read::Read;

/// The largest that is read as a whole: a frame holds it in any encoding. A larger one is read in parts.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What clients are shown of artifacts as resources. They are not listed one by one: lists are the same for all callers.
pub fn features() -> Features {
    let template = format!("{ARTIFACT_SCHEME}{{id}}");
    let listing = json!({
        "uriTemplate": template,
        "name": "artifact",
        "title": "Artifact",
        "description": "A result that was too large for one answer, by the id that the answer names.",
    });
    let action: Arc<dyn AnyTool> = Arc::new(ReadResource::new());
    Features {
        templates: vec![Item { key: template.into(), listing: listing.to_string().into() }],
        claims: Some(Arc::new(|uri: &str| uri.starts_with(ARTIFACT_SCHEME))),
        actions: vec![(Action::ReadResource, action)],
        abilities: Abilities { resources: true, ..Abilities::default() },
        ..Features::default()
    }
}

/// Reads an artifact as a resource. Policy and records know it as `artifact_read`, with what is done.
struct ReadResource(Definition);

impl ReadResource {
    fn new() -> ReadResource {
        let read = builtin(Read { text_bytes_max: 0 });
        // Its arguments are the parameters of the request.
        let input_schema = Bytes::from_static(b"{}").into();
        ReadResource(Definition { input_schema, ..read.definition().clone() })
    }
}

impl AnyTool for ReadResource {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let uri =
                arguments.value().get("uri").and_then(|uri| uri.as_str()).unwrap_or_default().to_owned();
            let reader = opened(uri.strip_prefix(ARTIFACT_SCHEME).unwrap_or_default(), cx).await?;
            let artifact = reader.artifact();
            if artifact.bytes > BYTES_MAX {
                let message = format!(
                    "the artifact has {} bytes, and a resource is read up to {BYTES_MAX}: read it in parts with {ARTIFACT_READ}",
                    artifact.bytes
                );
                return Err(ToolError::new("artifact_too_large", message));
            }
            let (mime, cancel) = (artifact.media_type.clone().into(), cx.cancel.clone());
            let bytes =
                cx.blocking(move || Blocks::of(&*reader, &cancel).range(0, BYTES_MAX as usize)).await?;
            let blocks = vec![Block::Blob { uri, mime, bytes }];
            Ok(Outcome::of(Payload::Ours { blocks, structured: None }))
        })
    }
}
