//! Telling running Toolcribs that what is kept has changed.

use crate::control::{self, Asked};
use crate::secrets::Kept;

/// What becomes of a secret in a process that does not hear of it.
pub(super) const NOT_STRUCK_OUT: &str = "does not strike it out before it is started again";

/// Has the running Toolcribs read what is kept: how many have, and a sentence for each that has not, with what comes of it.
pub(super) async fn tell(kept: &Kept, otherwise: &str) -> (usize, Vec<String>) {
    let asked = control::learn(kept.state()).await;
    let told = asked.iter().filter(|one| one.answer.is_ok()).count();
    let sentence = |Asked { pid, answer }: &Asked<()>| {
        let why = answer.as_ref().err()?;
        Some(format!("the running Toolcrib (process {pid}) {otherwise}: {why}"))
    };
    (told, asked.iter().filter_map(sentence).collect())
}
