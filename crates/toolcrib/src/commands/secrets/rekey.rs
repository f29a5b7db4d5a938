//! `secrets rekey`: seals what is kept with another key.

use std::path::PathBuf;

use serde_json::json;
use store::KeySource;

use crate::cli::Cli;
use crate::commands::surroundings;
use crate::ending::{Ending, Trouble};
use crate::print;
use crate::secrets::Kept;

pub(super) fn run(cli: &Cli, kept: &Kept, from: Option<PathBuf>) -> Result<Ending, Trouble> {
    let old = match from {
        Some(path) => KeySource::File { path: surroundings()?.absolute(&path), is_credential: false },
        None if matches!(kept.source(), KeySource::State) => {
            let how = "everything is sealed with `secret.key` in the state folder; to have another one there, move it away \
                       and name it: `toolcrib secrets rekey --from OLD_FILE`; or name another `key` in [secrets] first";
            return Err(Trouble::Misused(how.to_owned()));
        }
        None => KeySource::State,
    };
    let resealed = kept.sealed().reseal(&old).map_err(Trouble::because)?;
    match cli.json {
        true => print::json(&json!({ "resealed": resealed }))?,
        false => print::line(&said(resealed))?,
    }
    Ok(Ending::Good)
}

fn said(resealed: usize) -> String {
    match resealed {
        0 => "everything was sealed with the new key before".to_owned(),
        1 => "1 record is sealed with the new key; remove the old one, and restart every Toolcrib that runs"
            .to_owned(),
        many => format!(
            "{many} records are sealed with the new key; remove the old one, and restart every Toolcrib that runs"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn what_was_done_is_counted() {
        assert_eq!(said(0), "everything was sealed with the new key before");
        assert!(said(2).starts_with("2 records are sealed with the new key; remove the old one"));
    }
}
