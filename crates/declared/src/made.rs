//! `Made`: the artifacts of one run of a program: those that it tells of on its descriptor 3, and its output, once that is too long
//! to be remembered otherwise. They stay if it fails: the log of what failed is what somebody looks for.

use std::io::Read;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tool_api::{ARTIFACT_READ, Artifact, ArtifactWriter, Context, Root, TEXT, ToolError};

/// Most artifacts of one run. One call keeps 64, and a program may be run four times.
const ARTIFACTS_MAX: usize = 12;

/// The longest name and media type.
const NAME_CHARS_MAX: usize = 100;

/// The largest file that becomes one.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How much of a file is read in one go.
const PIECE_BYTES: usize = 256 * 1024;

/// Output up to this is only told to whoever listens; what is longer becomes an artifact from its beginning.
const OUTPUT_BYTES: usize = 64 * 1024;

/// What that is called.
const OUTPUT: &str = "output.txt";

/// What is called so that was printed and is no result.
const PRINTED: &str = "stdout.txt";

/// What is in a file of which nothing is said.
const BYTES: &str = "application/octet-stream";

/// What a line says of an artifact.
#[derive(Deserialize)]
pub(crate) struct Told {
    name: String,
    media_type: Option<String>,
    /// A piece of it; pieces of one name make one artifact.
    text: Option<String>,
    /// Or a file of the workspace that is all of it, as it is at this moment.
    file: Option<String>,
}

/// What one run makes.
pub(crate) struct Made<'c> {
    cx: &'c Context,
    /// Whether what the program sees of the workspace is what lies there.
    sees_workspace: bool,
    open: Vec<(String, Box<dyn ArtifactWriter>)>,
    /// What it has put out while that is little.
    output: Vec<u8>,
    log: Option<Box<dyn ArtifactWriter>>,
    kept: Vec<Artifact>,
    /// What was not kept, and why.
    lost: Vec<(String, String)>,
}

impl<'c> Made<'c> {
    pub(crate) fn by(cx: &'c Context, sees_workspace: bool) -> Made<'c> {
        let (open, output, log) = (Vec::new(), Vec::new(), None);
        Made { cx, sees_workspace, open, output, log, kept: Vec::new(), lost: Vec::new() }
    }

    /// Takes a piece of what the program puts out for people.
    pub(crate) async fn output(&mut self, piece: &[u8]) {
        self.output.extend_from_slice(piece);
        if self.output.len() < OUTPUT_BYTES || self.is_lost(OUTPUT) {
            // Where nothing is kept, nothing is remembered.
            self.output.truncate(OUTPUT_BYTES);
            return;
        }
        let piece = std::mem::take(&mut self.output).into();
        if let Err(error) = self.log(piece).await {
            self.lose(OUTPUT, &error);
        }
    }

    async fn log(&mut self, piece: Bytes) -> Result<(), ToolError> {
        let mut writer = match self.log.take() {
            Some(writer) => writer,
            None => self.cx.artifacts()?.create(OUTPUT, TEXT).await?,
        };
        writer.write(piece).await?;
        self.log = Some(writer);
        Ok(())
    }

    /// Keeps what was printed and is no result, where anything is kept.
    pub(crate) async fn keep_whole(&mut self, printed: Vec<u8>) {
        let Ok(artifacts) = self.cx.artifacts() else { return };
        if printed.is_empty() {
            return;
        }
        match artifacts.create(PRINTED, TEXT).await {
            Ok(mut writer) => {
                let written = writer.write(printed.into()).await;
                self.finish(PRINTED, writer, written).await;
            }
            Err(error) => self.lose(PRINTED, &error),
        }
    }

    /// Takes what a line says.
    pub(crate) async fn tell(&mut self, told: Told) {
        let name = told.name.clone();
        if self.is_lost(&name) {
            return;
        }
        if let Err(error) = self.take(told).await {
            self.open.retain(|(open, _)| *open != name);
            self.lose(&name, &error);
        }
    }

    async fn take(&mut self, told: Told) -> Result<(), ToolError> {
        let Told { name, media_type, text, file } = told;
        let at = self.open.iter().position(|(open, _)| *open == name);
        if at.is_none() {
            self.check(&name, media_type.as_deref())?;
        }
        match (text, file, at) {
            (Some(text), None, Some(at)) => self.open[at].1.write(text.into()).await,
            (Some(text), None, None) => {
                let media_type = media_type.unwrap_or_else(|| TEXT.to_owned());
                let mut writer = self.cx.artifacts()?.create(&name, &media_type).await?;
                writer.write(text.into()).await?;
                self.open.push((name, writer));
                Ok(())
            }
            (None, Some(file), None) => {
                let media_type = media_type.unwrap_or_else(|| BYTES.to_owned());
                let artifact = self.copy(&name, &media_type, &file).await?;
                self.kept.push(artifact);
                Ok(())
            }
            _ => Err(refused("it has `text` or `file`, and one `file` is all of it")),
        }
    }

    fn check(&self, name: &str, media_type: Option<&str>) -> Result<(), ToolError> {
        let is_short = |text: &str| !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX;
        if !is_short(name) || name.chars().any(|c| c.is_control() || c == '/' || c == '"') {
            let why = format!("its name must be 1 to {NAME_CHARS_MAX} characters, without `/` and `\"`");
            return Err(refused(why));
        }
        let is_type = |text: &str| is_short(text) && text.contains('/') && text.bytes().all(is_of_media_type);
        if media_type.is_some_and(|text| !is_type(text)) {
            return Err(refused("its media type is none, such as `text/html`"));
        }
        match self.kept.len() + self.open.len() < ARTIFACTS_MAX {
            true => Ok(()),
            false => Err(refused(format!("one run makes at most {ARTIFACTS_MAX}"))),
        }
    }

    /// Keeps a file of the workspace.
    async fn copy(&mut self, name: &str, media_type: &str, file: &str) -> Result<Artifact, ToolError> {
        if !self.sees_workspace || self.cx.dry_run.is_some() {
            return Err(refused("a file can only be one of a workspace that the program itself sees"));
        }
        let (files, path) = (self.cx.files.clone(), file.to_owned());
        let (mut file, bytes) = self.cx.blocking(move || opened(&files, &path)).await?;
        let mut writer = self.cx.artifacts()?.create(name, media_type).await?;
        // One that grows meanwhile is kept as long as it was.
        let mut left = bytes;
        while left > 0 {
            let piece;
            (file, piece) = self.cx.blocking(move || read_on(file, left)).await?;
            if piece.is_empty() {
                break;
            }
            left -= piece.len() as u64;
            writer.write(piece).await?;
        }
        writer.finish().await
    }

    fn is_lost(&self, name: &str) -> bool {
        self.lost.iter().any(|(lost, _)| lost == name)
    }

    fn lose(&mut self, name: &str, error: &ToolError) {
        if self.lost.len() < ARTIFACTS_MAX {
            let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
            self.lost.push((name, error.to_string()));
        }
    }

    /// The program has ended, and so have they.
    pub(crate) async fn end(&mut self) {
        let rest = Bytes::from(std::mem::take(&mut self.output));
        if let Some(mut log) = self.log.take() {
            let written = log.write(rest).await;
            self.finish(OUTPUT, log, written).await;
        }
        for (name, writer) in std::mem::take(&mut self.open) {
            self.finish(&name, writer, Ok(())).await;
        }
    }

    async fn finish(&mut self, name: &str, writer: Box<dyn ArtifactWriter>, written: Result<(), ToolError>) {
        let finished = match written {
            Ok(()) => writer.finish().await,
            Err(error) => Err(error),
        };
        match finished {
            Ok(artifact) => self.kept.push(artifact),
            Err(error) => self.lose(name, &error),
        }
    }

    /// What is said of them beside a result, one in a line; nothing if there are none.
    pub(crate) fn handles(&self) -> Option<String> {
        let kept = self.kept.iter().map(|Artifact { id, name, media_type, bytes, .. }| {
            format!(
                "[artifact \"{name}\": {media_type}, {bytes} bytes. Read it with {ARTIFACT_READ} (id: \"{id}\").]"
            )
        });
        let lost = self.lost.iter().map(|(name, why)| format!("[artifact \"{name}\" was not kept: {why}.]"));
        let lines: Vec<String> = kept.chain(lost).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// A failure, with what there is of them.
    pub(crate) fn beside(&self, failure: ToolError) -> ToolError {
        let Some(handles) = self.handles() else { return failure };
        let mut details = failure.details().cloned().unwrap_or_else(|| json!({}));
        details["artifacts"] = self.kept.iter().map(Artifact::facts).collect::<Value>();
        ToolError::new(failure.code().clone(), format!("{failure}\n{handles}")).with_details(details)
    }
}

fn refused(why: impl Into<String>) -> ToolError {
    ToolError::new("artifact_refused", why)
}

/// The characters of RFC 6838, 4.2, and what joins them to one type.
fn is_of_media_type(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&-^_.+/; =".contains(&byte)
}

/// A file of the workspace, as any tool would read it.
fn opened(files: &Root, path: &str) -> Result<(Box<dyn Read + Send>, u64), ToolError> {
    let opened = files.locate(path).and_then(|path| files.open_read(&path));
    let (file, meta) = opened.map_err(|error| refused(error.to_string()))?;
    match meta.bytes <= FILE_BYTES_MAX {
        true => Ok((Box::new(file), meta.bytes)),
        false => Err(refused(format!("a file can have at most {FILE_BYTES_MAX} bytes"))),
    }
}

fn read_on<F: Read>(mut file: F, left: u64) -> Result<(F, Bytes), ToolError> {
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let most = left.min(PIECE_BYTES as u64);
    let read = (&mut file).take(most).read_to_end(&mut piece);
    read.map_err(|error| refused(error.to_string()))?;
    Ok((file, piece.into()))
}
