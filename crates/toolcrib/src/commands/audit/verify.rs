//! `audit verify`: whether a book is as it was written, ours or one from elsewhere.

use std::path::Path;

use audit::{AnchorError, Loss, PublicKey, Trust, Verified, VerifyError};
use serde_json::json;
use store::SqliteStore;

use super::unreadable;
use crate::cli::Cli;
use crate::ending::{Ending, Trouble};
use crate::print;

pub(super) fn run(cli: &Cli, state: &Path, book: Option<&Path>, keys: &[String]) -> Result<Ending, Trouble> {
    let mut trust = Trust { heads: Vec::new(), keys: named(keys)?, loss: None };
    if book.is_none() {
        trust.keys.extend(PublicKey::of_folder(state).map_err(unreadable)?);
        let store = SqliteStore::at(state);
        // A copy on a medium that cannot be written has no store that opens.
        let failed = |error: AnchorError| {
            let folder = state.display();
            Trouble::Failed(format!(
                "{error}; `--book {folder}` checks the book without what the store knows of it"
            ))
        };
        trust.heads.extend(audit::anchored(&store).map_err(failed)?);
        trust.loss = audit::marked_loss(&store).map_err(failed)?;
    }
    // A folder may come with the head that was noted in it; a single segment ends where it was closed.
    trust.heads.extend(audit::noted_head(book.unwrap_or(state), &trust.keys).ok().flatten());
    if let Some(missing) = book.filter(|book| !book.exists()) {
        return Err(unreadable(format!("there is no {}", missing.display())));
    }
    let (ending, facts, words) = match audit::verify(book.unwrap_or(state), &trust) {
        // Of a mistyped path it would be said for ever that all is well.
        Ok(found) if book.is_some() && found.records == 0 => {
            let path = book.unwrap_or(state).display();
            return Err(Trouble::Failed(format!("{path} holds no record of a book")));
        }
        Ok(book) => (Ending::Good, facts(&book), words(&book, trust.keys.is_empty())),
        Err(VerifyError::Unreadable(error)) => return Err(unreadable(error)),
        Err(error) => {
            let VerifyError::Broken { segment, line, seq, .. } = &error else {
                return Err(unreadable(error));
            };
            let why = error.to_string();
            let facts = json!({ "good": false, "segment": segment, "line": line, "seq": seq, "why": why });
            (Ending::Failed, facts, why)
        }
    };
    if cli.json {
        print::json(&facts)?
    } else {
        print::foreign(&words)?
    }
    Ok(ending)
}

fn named(keys: &[String]) -> Result<Vec<PublicKey>, Trouble> {
    let parse = |key: &String| {
        let wrong = || Trouble::Misused(format!("--key: `{key}` is no key: 64 digits of 0-9 and a-f"));
        PublicKey::parse(key).ok_or_else(wrong)
    };
    keys.iter().map(parse).collect()
}

fn facts(book: &Verified) -> serde_json::Value {
    json!({
        "good": true,
        "records": book.records,
        "first": book.first,
        "segments": book.segments,
        "torn_lines": book.torn_lines,
        "signed": book.signed,
        "head": book.head.hash,
        "losses": book.losses.iter().map(loss).collect::<Vec<_>>(),
    })
}

fn loss(loss: &Loss) -> serde_json::Value {
    json!({
        "record": loss.seq,
        "kept": loss.kept,
        "acknowledged": loss.acknowledged,
        "because": loss.because,
    })
}

fn words(book: &Verified, has_no_key: bool) -> String {
    let mut words =
        format!("{} records, none changed, moved or taken out; head {}", book.records, book.head.hash);
    if book.first > 1 && book.records > 0 {
        words += &format!("\nit begins with record {}: older ones are not part of it", book.first);
    }
    if book.torn_lines > 0 {
        words += &format!("\n{} lines were cut short by a crash; they held no record", book.torn_lines);
    }
    for loss in &book.losses {
        words += &format!("\nrecord {} says: {loss}", loss.seq);
        words += &loss.acknowledged.map_or_else(String::new, |seq| format!("; acknowledged in record {seq}"));
        words += &loss.because.as_ref().map_or_else(String::new, |because| format!(": {because}"));
    }
    words += &match book.signed {
        Some(signed) if signed == book.head.seq => "\nsigned to its end".to_owned(),
        Some(signed) => format!("\nsigned up to record {signed}; {} after it are not yet", book.head.seq - signed),
        None if has_no_key => {
            "\nno signature was checked; name the key with --key (`toolcrib audit key` prints it where the book was \
             written)"
                .to_owned()
        }
        None => "\nnot signed yet".to_owned(),
    };
    words
}
