//! What a tool writes down piece by piece, such as the log of a build: every byte is kept, and memory stays as it was.

#![expect(clippy::disallowed_methods, reason = "the test reads what was kept, and how much memory it took")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "samples/gate.rs"]
mod gates;

use std::sync::Arc;
use std::time::Duration;

use artifacts::{Artifacts, Limits};
use bytes::Bytes;
use gate::{Block, Call, Caller, Catalog, Payload, RateConfig, Via};
use schemars::JsonSchema;
use serde::Deserialize;
use store::SqliteStore;
use tool_api::{About, ArgumentRoles, Context, Document, Effect, Need, TEXT, Tool, ToolError, builtin};

/// More than may be held in memory.
const LOG_BYTES: usize = 40 * 1024 * 1024;

/// How much more memory the process may take meanwhile.
const MEMORY_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// As a pipe hands them over.
const PIECE_BYTES: usize = 16 * 1024;

struct Build;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A piece of the log. Each is another one.
fn piece(nth: usize) -> Bytes {
    let line = format!("{nth:08} cc -O2 -c some/file/of/the/project.c -o out/some/file.o\n");
    line.repeat(PIECE_BYTES / line.len()).into()
}

impl Tool for Build {
    const ABOUT: About = About {
        name: "build",
        title: "Build",
        summary: "a sample",
        effect: Effect::Reads,
        arguments: ArgumentRoles::NONE,
        scopes: &["read_workspace"],
        needs: &[Need::Artifacts],
        idempotent: true,
        open_world: false,
        timeout: Duration::from_secs(600),
        examples: &[],
    };
    type Input = Nothing;
    type Output = Document;

    async fn run(&self, _: Nothing, cx: &Context) -> Result<Document, ToolError> {
        let mut writer = cx.artifacts()?.create("stdout", TEXT).await?;
        for nth in 0..LOG_BYTES / PIECE_BYTES {
            writer.write(piece(nth)).await?;
        }
        Ok(Document(vec![Block::Text(writer.finish().await?.id)]))
    }
}

const PLANTED: &str = "planted-7f3a9c51e2-value";

/// As much as is gathered before it is written, several times over.
const LEAKY_PIECES: usize = 100;

/// Writes a secret in each of its pieces, and others across their borders.
struct Leaky;

impl Tool for Leaky {
    const ABOUT: About = About { name: "leaky", title: "Leaky", ..Build::ABOUT };
    type Input = Nothing;
    type Output = Document;

    async fn run(&self, _: Nothing, cx: &Context) -> Result<Document, ToolError> {
        let mut writer = cx.artifacts()?.create("stdout", TEXT).await?;
        let (first, second) = PLANTED.split_at(PLANTED.len() / 2);
        let fill = "plain words\n".repeat(PIECE_BYTES / 12);
        for _ in 0..LEAKY_PIECES {
            writer.write(format!("{second}\n{fill}key is {PLANTED} here\n{first}").into()).await?;
        }
        Ok(Document(vec![Block::Text(writer.finish().await?.id)]))
    }
}

#[tokio::test]
async fn secrets_are_struck_out_of_all_that_is_written_however_long_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let gate =
        gates::gate(&folder, Catalog::new(vec![builtin(Leaky)]), RateConfig { per_second: 0, burst: 1 });
    gate.redactor().know("test", vec![redact::Known { name: "KEY".into(), value: PLANTED.into() }]);
    let store = Arc::new(SqliteStore::at(folder.path()));
    let artifacts = Arc::new(Artifacts::new(folder.path(), store, Limits::default(), || 1_800_000_000_000));
    let gate = gate.with_artifacts(artifacts.clone());
    let outcome = gate.call(&Caller::local_user(Via::Stdio), Call::tool("leaky", None)).await.unwrap();
    let Payload::Ours { blocks, .. } = outcome.payload else { panic!("it is ours") };
    let [Block::Text(id)] = &blocks[..] else { panic!("it is an id") };
    let reader = artifacts.open_any(id).unwrap().unwrap();
    let mut kept = vec![0; usize::try_from(reader.entry.bytes).unwrap()];
    assert_eq!(reader.read_at(0, &mut kept).unwrap(), kept.len());
    let kept = String::from_utf8(kept).unwrap();
    assert!(!kept.contains(PLANTED));
    assert_eq!(kept.matches("[REDACTED:KEY]").count(), 2 * LEAKY_PIECES - 1);
}

/// What the process has in memory at this moment, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "current_thread")]
async fn a_long_log_is_kept_whole_and_not_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let gate =
        gates::gate(&folder, Catalog::new(vec![builtin(Build)]), RateConfig { per_second: 0, burst: 1 });
    let store = Arc::new(SqliteStore::at(folder.path()));
    let limits = Limits { caller_bytes: 1 << 40, total_bytes: 1 << 40, ..Limits::default() };
    let artifacts = Arc::new(Artifacts::new(folder.path(), store, limits, || 1_800_000_000_000));
    let gate = gate.with_artifacts(artifacts.clone());
    let before = memory();
    let outcome = gate.call(&Caller::local_user(Via::Stdio), Call::tool("build", None)).await.unwrap();
    let grown = memory() - before;
    let Payload::Ours { blocks, .. } = outcome.payload else { panic!("it is ours") };
    let [Block::Text(id)] = &blocks[..] else { panic!("it is an id") };
    let reader = artifacts.open_any(id).unwrap().unwrap();
    let (mut offset, mut kept) = (0, vec![0; PIECE_BYTES]);
    for nth in 0..LOG_BYTES / PIECE_BYTES {
        let piece = piece(nth);
        assert_eq!(reader.read_at(offset, &mut kept[..piece.len()]).unwrap(), piece.len());
        assert!(kept[..piece.len()] == piece, "piece {nth}");
        offset += piece.len() as u64;
    }
    assert_eq!(reader.entry.bytes, offset);
    println!("{} MiB more for {} MiB", grown >> 20, offset >> 20);
    assert!(grown < MEMORY_BYTES_MAX, "{} MiB more", grown >> 20);
}
