//! How fast striking out is, and what it strikes out of files in which nothing is secret.
//!
//! `cargo run --release -p redact --example measure -- FOLDER…` reads the text files below the folders, measures over
//! them, and prints what was struck out by kind; with `--show`, also each line with it.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool for developers that reads files and prints"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use redact::{Config, Known, Redactor};

/// Secrets that are known while it is measured.
const SECRETS: usize = 200;

/// Text that is measured over, in bytes.
const MEASURED_BYTES: usize = 64 * 1024 * 1024;

fn main() {
    let patterns = Redactor::new(&Config::default());
    let begun = Instant::now();
    let _ = patterns.text("a first text with nothing in it");
    println!("first text: {:?}", begun.elapsed());
    let mut files = Vec::new();
    let (flags, folders): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    folders.iter().for_each(|folder| collect(Path::new(folder), &mut files));
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    println!("{} files, {bytes} bytes", files.len());
    count(&files, flags.iter().any(|flag| flag == "--show"));
    let mut text = String::new();
    while text.len() < MEASURED_BYTES && bytes > 0 {
        files.iter().for_each(|(_, more)| text.push_str(more));
    }
    let without = Config { patterns: false, ..Config::default() };
    let secrets = || {
        let secret = |nth: usize| Known {
            name: format!("SECRET_{nth}").into(),
            value: made_up(nth, 20 + nth % 30).into(),
        };
        (0..SECRETS).map(secret).collect()
    };
    let nothing = Redactor::new(&without);
    let known = Redactor::new(&without);
    let begun = Instant::now();
    known.know("measure", secrets());
    println!("learning {SECRETS} secrets: {:?}", begun.elapsed());
    let both = Redactor::new(&Config::default());
    both.know("measure", secrets());
    let json = serde_json::to_string(&serde_json::json!({ "content": [{ "type": "text", "text": text }] }));
    let json = json.expect("a text is JSON");
    for (name, redactor) in
        [("nothing", &nothing), ("known", &known), ("patterns", &patterns), ("both", &both)]
    {
        for round in 0..2 {
            let begun = Instant::now();
            let struck = redactor.strike(&text).map_or(0, |(_, count)| count);
            let text_rate = rate(text.len(), begun);
            let begun = Instant::now();
            let in_json = redactor.json(json.as_bytes()).map_or(0, |struck| struck.count);
            println!(
                "{name} {round}: text {text_rate:.0} MB/s ({struck}), JSON {:.0} MB/s ({in_json})",
                rate(json.len(), begun)
            );
        }
        for short in ["hello, world; this is a reply", "{\"ok\":true,\"items\":[1,2,3]}"] {
            let begun = Instant::now();
            (0..100_000).for_each(|_| assert!(redactor.json(short.as_bytes()).is_none()));
            println!("{name}: {} bytes in {:?}", short.len(), begun.elapsed() / 100_000);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn rate(bytes: usize, begun: Instant) -> f64 {
    bytes as f64 / 1e6 / begun.elapsed().as_secs_f64()
}

fn made_up(nth: usize, length: usize) -> String {
    const SIGNS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+ \"!%";
    let mut state = nth as u64 * 7919 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(SIGNS[(state >> 33) as usize % SIGNS.len()])
    };
    (0..length).map(|_| next()).collect()
}

fn count(files: &[(String, String)], show: bool) {
    let redactor = Redactor::new(&Config::default());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files {
        let Some((struck, _)) = redactor.strike(text) else { continue };
        for (at, _) in struck.match_indices("[REDACTED:") {
            let kind: String = struck[at + 10..].chars().take_while(|character| *character != ']').collect();
            if show {
                let before: String = struck[..at].chars().rev().take_while(|c| *c != '\n').take(60).collect();
                let before: String = before.chars().rev().collect();
                println!("{kind} | {before} | {path}");
            }
            *kinds.entry(kind).or_default() += 1;
        }
    }
    println!("struck out: {} in {kinds:#?}", kinds.values().sum::<usize>());
}

fn collect(path: &Path, files: &mut Vec<(String, String)>) {
    if path.is_dir() {
        let Ok(entries) = path.read_dir() else { return };
        let mut paths: Vec<Arc<Path>> = entries.flatten().map(|entry| entry.path().into()).collect();
        paths.sort();
        paths.iter().for_each(|path| collect(path, files));
    } else if let Ok(text) = std::fs::read_to_string(path) {
        files.push((path.display().to_string(), text));
    }
}
