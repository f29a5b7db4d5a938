//! The log of a build: a real program prints more than may be held in memory, every byte is kept, and memory stays as it was.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use artifacts::{Artifacts, Reader};
use gate::{Block, Cancel, Payload, ProgramSettings};
use sandbox::confine::Limits;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::SqliteStore;

use super::{call, owner, sample};

/// How much is printed, in MiB; `cargo xtask long logs` says more.
const LOG_MIB: u64 = 96;

/// How much more memory the process may take meanwhile.
const MEMORY_BYTES_MAX: u64 = 32 << 20;

/// Each line is another one, so that no two parts can change places.
const LINE: &str =
    " cc -O2 -c some/file/of/the/project.c -o out/some/file.o # and what else a line of a log says of it";

/// Its number, in digits.
const NUMBER_BYTES: u64 = 10;

/// Lines that are made at once, to be compared.
const LINES_AT_ONCE: u64 = 4096;

#[expect(clippy::disallowed_methods, reason = "how much is printed is said by whoever runs the test")]
fn lines() -> u64 {
    let said = std::env::var("TOOLCRIB_TEST_LOG_MIB");
    let mib = said.map_or(LOG_MIB, |mib| mib.parse().expect("a number"));
    (mib << 20).div_ceil(NUMBER_BYTES + LINE.len() as u64 + 1)
}

/// The most that the process ever had in memory, in bytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line of it");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") * 1024
}

/// The hash of what the program prints, made without it.
fn expected(lines: u64) -> Sha256 {
    let (mut hash, mut text) = (Sha256::new(), String::new());
    for first in (1..=lines).step_by(LINES_AT_ONCE as usize) {
        text.clear();
        for number in first..=lines.min(first + LINES_AT_ONCE - 1) {
            writeln!(text, "{number:010}{LINE}").expect("a text takes all");
        }
        hash.update(&text);
    }
    hash
}

/// The hash of what was kept, as a reader reads it.
fn kept(reader: &Reader) -> Sha256 {
    let (mut hash, mut offset, mut piece) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let count = reader.read_at(offset, &mut piece).expect("readable");
        if count == 0 {
            return hash;
        }
        hash.update(&piece[..count]);
        offset += count as u64;
    }
}

#[tokio::test]
async fn a_long_log_of_a_program_is_kept_whole_and_not_in_memory() {
    let lines = lines();
    let bytes = lines * (NUMBER_BYTES + LINE.len() as u64 + 1);
    let limits = Limits { output_bytes: bytes, ..Limits::default() };
    let state = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::at(state.path()));
    let artifacts = Arc::new(Artifacts::new(state.path(), store, artifacts::Limits::default(), || 1 << 40));
    let settings = ProgramSettings { limits, ..ProgramSettings::default() };
    let sample = sample(settings).keeping(artifacts.clone());
    let script = format!("seq -f '%0{NUMBER_BYTES}.0f{LINE}' {lines}");

    let before = memory();
    let outcome =
        call(&sample, &owner(), "sh_log", &json!({ "script": script }), (Cancel::new(), None)).await;
    let grown = memory() - before;

    let Payload::Ours { blocks, .. } = outcome.expect("it is kept").payload else { panic!("it is ours") };
    let [Block::Text(id)] = &blocks[..] else { panic!("it is an id") };
    let reader = artifacts.open_any(id).expect("readable").expect("it is there");
    println!("{} MiB more for {} MiB", grown >> 20, reader.entry.bytes >> 20);
    assert_eq!((reader.entry.bytes, reader.entry.lines), (bytes, lines));
    assert_eq!(kept(&reader).finalize(), expected(lines).finalize());
    assert!(grown < MEMORY_BYTES_MAX, "{} MiB more", grown >> 20);
}
