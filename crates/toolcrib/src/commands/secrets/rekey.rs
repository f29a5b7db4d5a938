//! `secrets rekey`: seals what is kept with another key.

use std::path::PathBuf;

use serde_json::json;
use store::KeySource;

use super::tell::tell;
use crate::cli::Cli;
use crate::commands::load::surroundings;
use crate::ending::{Ending, Trouble};
use crate::secrets::Kept;
use crate::{print, runtime};

/// What becomes of a process that does not hear of the new key.
const NOT_TAKEN: &str =
    "has not taken the new key, and neither reads nor keeps sign-ins and secrets before it is started again";

pub(super) fn run(cli: &Cli, kept: &Kept, from: Option<PathBuf>) -> Result<Ending, Trouble> {
    let old = match from {
        Some(path) => KeySource::File { path: surroundings(cli)?.absolute(&path), is_credential: false },
        None if matches!(kept.source(), KeySource::State) => {
            let how = "everything is sealed with `secret.key` in the state folder; to have another one there, move it away \
                       and name it: `toolcrib secrets rekey --from OLD_FILE`; or name another `key` in [secrets] first";
            return Err(Trouble::Misused(how.to_owned()));
        }
        None => KeySource::State,
    };
    let resealed = kept.sealed().reseal(&old).map_err(Trouble::because)?;
    let (told, untold) = runtime::run(tell(kept, NOT_TAKEN))?;
    let facts = json!({ "resealed": resealed, "told": told, "untold": untold });
    print::found(cli.json, &facts, &said(resealed, told))?;
    untold.iter().for_each(|untold| print::remark(untold));
    Ok(if untold.is_empty() { Ending::Good } else { Ending::Failed })
}

fn said(resealed: usize, told: usize) -> String {
    let done = match resealed {
        0 => "everything was sealed with the new key before".to_owned(),
        1 => "1 record is sealed with the new key; remove the old one".to_owned(),
        many => format!("{many} records are sealed with the new key; remove the old one"),
    };
    match told {
        0 => done,
        1 => format!("{done}\nthe running Toolcrib has taken the new key"),
        many => format!("{done}\nthe {many} running Toolcribs have taken the new key"),
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn what_was_done_is_counted() {
        assert_eq!(said(0, 0), "everything was sealed with the new key before");
        assert_eq!(
            said(1, 1),
            "1 record is sealed with the new key; remove the old one\nthe running Toolcrib has taken the new key"
        );
        assert_eq!(
            said(2, 3),
            "2 records are sealed with the new key; remove the old one\nthe 3 running Toolcribs have taken the new key"
        );
    }
}
