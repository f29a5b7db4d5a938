//! Opening the artifact of an id.

use tool_api::{ArtifactReader, Context, ToolError};

/// The artifact of an id.
///
/// # Errors
/// The same words for what is another caller's: nobody learns of it.
pub(super) async fn opened(id: &str, cx: &Context) -> Result<Box<dyn ArtifactReader>, ToolError> {
    let unknown = || {
        ToolError::new(
            "artifact_not_found",
            "no artifact of this id is kept for you in this workspace: it may be over; call the tool again that made it",
        )
    };
    cx.artifacts()?.open(id).await?.ok_or_else(unknown)
}
