//! `ReadImage`: a picture of the workspace, shown to a model. A worker decodes it, which is confined and has nothing but the
//! file's bytes; what it answers is left to `answer`.

mod answer;

use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tool_api::{
    About, ArgumentRoles, Command, Context, Document, Effect, Example, FilePart, Inside, Need, Root, Tool,
    ToolError, Worker,
};

use super::file_error::refused;
use super::media_type;
use super::near_paths::or_nearest;
use crate::plain_schema::plain;
use answer::Answer;

/// The most that a file may have: 12 megapixels that are not compressed are 36 MiB.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What says of a file what it is.
const HEAD_BYTES: usize = 4 * 1024;

/// What a worker may answer: a picture and a line.
const ANSWER_BYTES_MAX: usize = 6 * 1024 * 1024;

/// Workers at once: each may take a gigabyte.
const AT_ONCE_MAX: usize = 2;

/// The types that are decoded.
const DECODED: [&str; 6] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"];

/// Pictures that are known and not decoded, and what people call them.
const NOT_DECODED: [(&str, &str); 2] = [(media_type::HEIC, "HEIC"), (media_type::AVIF, "AVIF")];

/// How an SVG may begin, beside with white space. A page that has one in it begins otherwise.
const SVG_BEGINS: [&str; 4] = ["<svg", "<?xml", "<!--", "<!DOCTYPE svg"];

/// Shows a picture.
#[derive(Debug)]
pub(crate) struct ReadImage {
    /// The longest edge, in pixels.
    edge: u16,
    turns: Semaphore,
}

/// The arguments of `ReadImage`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// The picture: a path in the workspace.
    file_path: String,
}

impl ReadImage {
    pub(crate) fn new(edge: u16) -> ReadImage {
        ReadImage { edge, turns: Semaphore::new(AT_ONCE_MAX) }
    }
}

impl Tool for ReadImage {
    const ABOUT: About = About {
        name: "ReadImage",
        title: "Look at a picture",
        summary: "Look at a picture: PNG, JPEG, GIF (its first frame), WebP, BMP or TIFF. Large ones are shown smaller, and \
                  their size is said.",
        effect: Effect::Reads,
        arguments: ArgumentRoles { paths: &["file_path"], ..ArgumentRoles::NONE },
        scopes: &["read_workspace"],
        needs: &[Need::Worker],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example { title: "A picture", arguments: r#"{"file_path": "docs/screen.png"}"# }],
    };
    type Input = Input;
    // No structure beside it: clients that prefer structure hide the picture then.
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let path = cx.files.locate(&input.file_path).map_err(refused)?;
        let _turn = self.turns.acquire().await.map_err(|_| ToolError::cancelled())?;
        let (files, at) = (cx.files.clone(), path.clone());
        let picture = cx.blocking(move || Picture::read(&files, &at)).await;
        let Picture { mime, bytes } = or_nearest(picture, &path, cx).await?;
        let command = Command {
            worker: Some(Worker::Image),
            args: vec![mime.into(), self.edge.to_string().into()],
            input: bytes,
            ..Command::default()
        };
        let printed = cx.process()?.start(command).await?.printed(ANSWER_BYTES_MAX).await;
        Answer::of(&path, mime, printed)?.shown(&path)
    }
}

/// What is sent to the worker.
struct Picture {
    mime: &'static str,
    bytes: Bytes,
}

impl Picture {
    /// Reads a file if its first bytes are those of a picture. Blocks.
    fn read(files: &Root, path: &Inside) -> Result<Picture, ToolError> {
        let head = files.read(path, 0, HEAD_BYTES).map_err(refused)?;
        let mime = kind(path, &head)?;
        if head.total_bytes > FILE_BYTES_MAX {
            let has = head.total_bytes;
            let why = format!(
                "{path} has {has} bytes; pictures are shown up to {FILE_BYTES_MAX} bytes, so make a smaller one of it first"
            );
            return Err(ToolError::new("too_large", why));
        }
        let most = usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX);
        Ok(Picture { mime, bytes: files.read(path, 0, most).map_err(refused)?.bytes.into() })
    }
}

/// The media type of a picture that can be decoded; its name says nothing.
fn kind(path: &Inside, head: &FilePart) -> Result<&'static str, ToolError> {
    let found = media_type::of("", &head.bytes).name;
    if let Some(mime) = DECODED.into_iter().find(|mime| *mime == found) {
        return Ok(mime);
    }
    let (code, why) = if head.bytes.is_empty() {
        ("not_an_image", format!("{path} is empty"))
    } else if is_svg(&head.bytes) {
        let how = "read it as text with workspace_read, or convert it to PNG first to see it";
        ("svg", format!("{path} is an SVG, which is a text that describes a picture: {how}"))
    } else if let Some((_, name)) = NOT_DECODED.into_iter().find(|(mime, _)| *mime == found) {
        let how =
            "Convert it to PNG or JPEG first, with what the machine has for that, or ask your user for one";
        (
            "unsupported_image",
            format!("{path} is a picture in a format that is not read: {name} ({found}). {how}"),
        )
    } else {
        let what = if found == media_type::UNKNOWN { String::new() } else { format!(" ({found})") };
        let how = "PNG, JPEG, GIF, WebP, BMP and TIFF are shown, whatever their names; workspace_read reads other files";
        ("not_an_image", format!("{path} is no picture by its content{what}: {how}"))
    };
    Err(ToolError::new(code, why))
}

fn is_svg(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let begun = text.trim_start_matches('\u{feff}').trim_start();
    SVG_BEGINS.iter().any(|begins| begun.starts_with(begins)) && begun.contains("<svg")
}

#[cfg(test)]
mod tests;
