//! What serde says of a member of a body, in words for whoever has sent it: which one, what it must be, and of what kind it is.
//! Its value is left away, which may be a secret: a code for approvals is a member, too.

use gate::{near_names, pointer};
use serde_path_to_error::{Path, Segment};

/// Longest pointer that is told, in characters: a name may be as long as a body.
const POINTER_CHARS_MAX: usize = 128;

/// What serde calls a kind of values, where it is wanted and where it came, and what we do.
const KINDS: [(&str, &str); 15] = [
    ("a string", "a text"),
    ("string", "a text"),
    ("a boolean", "true or false"),
    ("boolean", "true or false"),
    ("a map", "an object"),
    ("map", "an object"),
    ("struct", "an object"),
    ("a sequence", "a list"),
    ("sequence", "a list"),
    ("u64", "a whole number that is not negative"),
    ("i64", "a whole number"),
    ("integer", "a number"),
    ("floating point", "a number"),
    ("null", "null"),
    ("unit", "null"),
];

/// What is wrong with the member at this path.
pub(super) fn told(path: &Path, error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&place).unwrap_or(&said);
    let at = pointer_of(path);
    // What is wanted comes last, behind a value or a name that may say anything.
    let (came, wanted) = said.rsplit_once(", expected ").unwrap_or((said, ""));
    if let Some(name) = came.strip_prefix("missing field ") {
        let whole = pointer::below(&at, name.trim_matches('`'));
        return format!("`{whole}` is missing");
    }
    let at = if at.is_empty() { "the body".to_owned() } else { format!("`{}`", shortened(&at)) };
    if came.starts_with("unknown field ") {
        let name = last_name(path);
        return format!("{at} is no member that there is ({})", meant(name, &names(wanted)));
    }
    if came.starts_with("unknown variant ") {
        let words = names(wanted).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        return format!("{at} must be one of {words}, and is another text");
    }
    match came.strip_prefix("invalid type: ").or_else(|| came.strip_prefix("invalid value: ")) {
        Some(came) => {
            let (wanted, came) = (kind(wanted), kind(came));
            match wanted.contains("number") && came.contains("number") {
                true => format!("{at} must be {wanted}, and is another number"),
                false => format!("{at} must be {wanted}, and is {came}"),
            }
        }
        None if said == "number out of range" => format!("{at} is a number beyond what programs reckon with"),
        None => format!("{at}: {said}"),
    }
}

fn kind(said: &str) -> &str {
    let found = KINDS.iter().find(|(theirs, _)| {
        said.strip_prefix(theirs).is_some_and(|value| value.is_empty() || value.starts_with(' '))
    });
    found.map_or(said, |(_, ours)| ours)
}

/// The names that serde quotes.
fn names(quoted: &str) -> impl Iterator<Item = &str> + Clone {
    quoted.split('`').skip(1).step_by(2)
}

fn meant<'k>(name: &str, known: &(impl Iterator<Item = &'k str> + Clone)) -> String {
    match near_names(name, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("they are {}", known.clone().collect::<Vec<_>>().join(", ")),
    }
}

fn last_name(path: &Path) -> &str {
    match path.iter().next_back() {
        Some(Segment::Map { key }) => key,
        Some(Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown) | None => "",
    }
}

fn pointer_of(path: &Path) -> String {
    path.iter().fold(String::new(), |at, segment| match segment {
        Segment::Map { key } => pointer::below(&at, key),
        Segment::Seq { index } => pointer::below(&at, &index.to_string()),
        Segment::Enum { .. } | Segment::Unknown => at,
    })
}

fn shortened(pointer: &str) -> String {
    match pointer.char_indices().nth(POINTER_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &pointer[..end]),
        None => pointer.to_owned(),
    }
}
