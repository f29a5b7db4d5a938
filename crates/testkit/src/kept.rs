//! Artifacts in memory, for tools that make and read them.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tool_api::{Artifact, ArtifactReader, ArtifactWriter, Artifacts, ToolError};

/// What a tool keeps and finds. A clone has the same ones.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<(Artifact, Bytes)>>>);

impl Kept {
    /// Puts one there under this id.
    ///
    /// # Panics
    /// Never: nothing panics while it holds the lock.
    pub fn put(&self, id: &str, name: &str, media_type: &str, bytes: impl Into<Bytes>) -> Artifact {
        let bytes = bytes.into();
        let artifact = Artifact {
            id: id.to_owned(),
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            bytes: bytes.len() as u64,
            lines: bytes.split_inclusive(|&byte| byte == b'\n').count() as u64,
            sha256: String::new(),
        };
        self.0.lock().expect("no panic").push((artifact.clone(), bytes));
        artifact
    }

    /// All of them, in the order in which they were finished.
    ///
    /// # Panics
    /// Never: nothing panics while it holds the lock.
    pub fn all(&self) -> Vec<(Artifact, Bytes)> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Artifacts for Kept {
    fn create<'a>(
        &'a self,
        name: &'a str,
        media_type: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn ArtifactWriter>, ToolError>> {
        let writer = Writer {
            kept: self.clone(),
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            bytes: Vec::new(),
        };
        Box::pin(async move { Ok(Box::new(writer) as Box<dyn ArtifactWriter>) })
    }

    fn open<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn ArtifactReader>>, ToolError>> {
        let found = self.all().into_iter().find(|(artifact, _)| artifact.id == id);
        Box::pin(async move { Ok(found.map(|found| Box::new(Reader(found)) as Box<dyn ArtifactReader>)) })
    }
}

struct Writer {
    kept: Kept,
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

impl ArtifactWriter for Writer {
    fn write(&mut self, piece: Bytes) -> BoxFuture<'_, Result<(), ToolError>> {
        self.bytes.extend_from_slice(&piece);
        Box::pin(async { Ok(()) })
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Artifact, ToolError>> {
        let Writer { kept, name, media_type, bytes } = *self;
        let id = format!("{:032x}", kept.all().len());
        Box::pin(async move { Ok(kept.put(&id, &name, &media_type, bytes)) })
    }
}

struct Reader((Artifact, Bytes));

impl ArtifactReader for Reader {
    fn artifact(&self) -> &Artifact {
        &self.0.0
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.1.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }
}
