//! What somebody who misspelt a word may have meant.

/// Below this likeness (1 is the same) a guess would puzzle more than it helps.
const LIKENESS_MIN: f64 = 0.8;

/// The known word that is most like this one, if any is like enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(word, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}

/// A question for the known word that is most like this one; `otherwise` if none is like enough.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(word, known).map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}
