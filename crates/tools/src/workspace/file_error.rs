//! What the file system refused, as the tools say it: one list of codes for all of them.

use serde_json::json;
use tool_api::{FileError, ToolError};

/// Gives a refusal of the file system its code. The sentence is the sandbox's own: it names no path of the
/// host, and it is the same for everything outside, whatever lies there.
pub(crate) fn refused(error: FileError) -> ToolError {
    let code = match &error {
        FileError::NotFound { .. } => "not_found",
        FileError::Gone | FileError::Exchanged => ToolError::WORKSPACE_GONE,
        FileError::Outside => "outside_workspace",
        FileError::NotAFile { .. } => "not_a_file",
        FileError::NotAFolder { .. } => "not_a_folder",
        FileError::Protected { .. } | FileError::OfServer { .. } | FileError::Secret { .. } => "protected",
        FileError::Obeyed { .. } => "approval_required",
        FileError::ReadOnly => "read_only",
        FileError::Changed(_) | FileError::ChangedSince { .. } => "changed",
        FileError::Kept => "kept",
        FileError::Nul => "invalid_path",
        FileError::Itself => "is_workspace",
        FileError::Exists(_) => "exists",
        FileError::IntoItself(_) => "into_itself",
        FileError::NotEmpty(_) => "not_empty",
        FileError::Held(_) => "rule",
        FileError::OtherFileSystem => "other_file_system",
        FileError::NoTrash => "no_trash",
        FileError::TooLarge { .. } => "too_large",
        FileError::Io(_) => "io",
    };
    let refusal = ToolError::new(code, error.to_string());
    let refusal = match &error {
        FileError::Changed(found) => refusal.with_details(json!({ "present_sha256": found })),
        FileError::ChangedSince { found, .. } => refusal.with_details(json!({ "present_sha256": found })),
        _ => refusal,
    };
    refusal.with_source(error)
}
