//! `Keeper`: keeps the artifacts of one call for its caller, without secrets, and finds those that the caller has. What is
//! too long for an answer is kept the same way (`cut`).

use std::io;
use std::sync::Arc;

use artifacts::{About, Artifacts, Draft, Entry, Owner, Reader};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use redact::{Redactor, Stream};
use telemetry::Telemetry;
use tokio::task::spawn_blocking;
use tool_api::{Artifact, ArtifactReader, ArtifactWriter, Listener, ToolError, is_text};

use super::notes::Notes;

/// Most artifacts of one call: its record names all of them.
const OF_CALL_MAX: usize = audit::ARTIFACTS_MAX;

/// So much is gathered before the disk is written to: a switch of threads costs as much as some of it.
const GATHERED_BYTES: usize = 256 * 1024;

/// The artifacts of one call.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) artifacts: Arc<Artifacts>,
    pub(crate) owner: Owner,
    pub(crate) tool: Arc<str>,
    pub(crate) redactor: Redactor,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) notes: Arc<Notes>,
    /// Who hears of them.
    pub(crate) listener: Option<Arc<dyn Listener>>,
}

impl Keeper {
    /// Keeps a whole that secrets have been struck out of. Blocks.
    pub(crate) fn keep(
        &self,
        id: String,
        (name, media_type): (&str, &str),
        bytes: &[u8],
    ) -> Result<Artifact, ToolError> {
        self.check_count()?;
        let kept = self.artifacts.draft().and_then(|mut draft| {
            draft.write(bytes)?;
            self.artifacts.keep(draft, id, self.owner.clone(), self.about(name, media_type))
        });
        self.noted(kept.map_err(refused)?)
    }

    fn about(&self, name: &str, media_type: &str) -> About {
        About {
            name: self.redactor.text(name).into_owned(),
            media_type: media_type.to_owned(),
            tool: self.tool.to_string(),
        }
    }

    fn check_count(&self) -> Result<(), ToolError> {
        let message = || format!("one call keeps at most {OF_CALL_MAX} artifacts");
        match self.notes.artifact_count() < OF_CALL_MAX {
            true => Ok(()),
            false => Err(ToolError::new("artifacts_full", message())),
        }
    }

    fn noted(&self, entry: Entry) -> Result<Artifact, ToolError> {
        self.telemetry.metrics.artifact(entry.bytes);
        let artifact = artifact(entry);
        self.notes.keeps(artifact.clone());
        if let Some(listener) = &self.listener {
            listener.artifact(&artifact);
        }
        Ok(artifact)
    }
}

impl tool_api::Artifacts for Keeper {
    fn create<'a>(
        &'a self,
        name: &'a str,
        media_type: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ToolError>> {
        Box::pin(async move {
            self.check_count()?;
            let artifacts = self.artifacts.clone();
            let draft = blocking(move || artifacts.draft().map_err(refused)).await?;
            let clean = Stream::new(self.redactor.clone(), is_text(media_type));
            let (keeper, about) = (self.clone(), self.about(name, media_type));
            let writing = Some(Writing { draft, clean });
            Ok(Box::new(Writer { keeper, about, writing, gathered: Vec::new() }) as Box<dyn ArtifactWriter>)
        })
    }

    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn ArtifactReader>>, ToolError>> {
        Box::pin(async move {
            let (artifacts, owner, id) = (self.artifacts.clone(), self.owner.clone(), id.to_owned());
            let found = blocking(move || artifacts.open(&owner, &id).map_err(refused)).await?;
            Ok(found.map(own))
        })
    }
}

/// What a thread that may wait for the disk works on.
struct Writing {
    draft: Draft,
    clean: Stream,
}

struct Writer {
    keeper: Keeper,
    about: About,
    /// Nothing while a thread has it, and once writing has failed.
    writing: Option<Writing>,
    gathered: Vec<u8>,
}

impl ArtifactWriter for Writer {
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.gathered.extend_from_slice(&piece);
            if self.gathered.len() < GATHERED_BYTES {
                return Ok(());
            }
            let (mut writing, gathered) = (self.taken()?, std::mem::take(&mut self.gathered));
            let write = move || {
                let clean = writing.clean.push(&gathered);
                writing.draft.write(&clean).map_err(refused)?;
                Ok(writing)
            };
            self.writing = Some(blocking(write).await?);
            Ok(())
        })
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Result<Artifact, ToolError>> {
        Box::pin(async move {
            let mut writing = self.taken()?;
            let Writer { keeper, about, gathered, .. } = *self;
            let finish = move || {
                let mut rest = writing.clean.push(&gathered);
                rest.extend(writing.clean.finish());
                writing.draft.write(&rest).map_err(refused)?;
                keeper.notes.struck(writing.clean.count());
                let id = Artifacts::new_id().map_err(refused)?;
                let entry = keeper.artifacts.keep(writing.draft, id, keeper.owner.clone(), about);
                keeper.noted(entry.map_err(refused)?)
            };
            blocking(finish).await
        })
    }
}

impl Writer {
    fn taken(&mut self) -> Result<Writing, ToolError> {
        let broken = || ToolError::new("artifacts_unavailable", "this artifact could not be written before");
        self.writing.take().ok_or_else(broken)
    }
}

/// One of the caller's.
struct Own {
    reader: Reader,
    artifact: Artifact,
}

/// One that was found for its owner.
pub(crate) fn own(reader: Reader) -> Box<dyn ArtifactReader> {
    Box::new(Own { artifact: artifact(reader.entry.clone()), reader })
}

impl ArtifactReader for Own {
    fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.reader.read_at(offset, into)
    }
}

fn artifact(entry: Entry) -> Artifact {
    let Entry { id, name, media_type, bytes, lines, sha256, .. } = entry;
    Artifact { id, name, media_type, bytes, lines, sha256 }
}

/// Why an artifact was not kept or read, as a tool tells it.
pub(crate) fn refused(error: artifacts::ArtifactError) -> ToolError {
    ToolError::new(error.code(), error.to_string()).with_source(error)
}

/// Does what waits for a disk where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    spawn_blocking(work).await.map_err(|_| ToolError::cancelled())?
}
