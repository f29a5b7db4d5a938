//! The known word that a mistyped one was probably meant to be.

use crate::fault::Fault;

/// Below this likeness (1 is the same) a guess would puzzle more than it helps.
const LIKENESS_MIN: f64 = 0.7;

/// The known word that is most like this one, if any is like enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |candidate: &str| strsim::damerau_levenshtein(word, candidate) as f64;
    let score = |candidate: &str| 1.0 - likeness(candidate) / word.len().max(candidate.len()).max(1) as f64;
    let scored = known.into_iter().map(|candidate| (score(candidate), candidate));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // A short word with one slip of the finger is less like than a long one with two.
    let slip = likeness(best.1) <= 1.0 && word.len() > 1;
    (best.0 >= LIKENESS_MIN || slip).then_some(best.1)
}

/// There is no tool, prompt or resource (`what`) of this name: which one may have been meant, and on which servers nobody
/// could look (`troubles`).
pub fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    troubles: impl IntoIterator<Item = String>,
) -> Fault {
    let message = match nearest(name, known) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None => format!("there is no {what} `{name}`; `toolcrib {what}s list` names those that are listed"),
    };
    let lines: Vec<String> = std::iter::once(message).chain(troubles).collect();
    Fault::unknown(&format!("unknown_{what}"), lines.join("\n"))
}
