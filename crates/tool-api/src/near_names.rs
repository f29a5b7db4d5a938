//! Which of the names that there are somebody may have meant.

/// Most names that are told.
const NEAREST_MAX: usize = 5;

/// The longest name that is compared, in characters: whoever sends a longer one has meant none.
const NAME_CHARS_MAX: usize = 128;

/// Shortest name that is looked for within others, in characters.
const PART_CHARS_MIN: usize = 3;

/// The known names that are much like this one, the nearest first: a third of their letters differ at most, or one stands in
/// the other. A name that is like none of them has none.
pub fn near_names<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let count = name.chars().count();
    if count > NAME_CHARS_MAX {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let distance = |other: &str| {
        let (length, other) = (count.max(other.chars().count()), other.to_lowercase());
        let is_part =
            |part: &str, whole: &str| part.chars().count() >= PART_CHARS_MIN && whole.contains(part);
        let away = strsim::damerau_levenshtein(&name, &other);
        (away * 3 <= length || is_part(&name, &other) || is_part(&other, &name)).then_some(away)
    };
    let mut near: Vec<_> = known.into_iter().filter_map(|other| Some((distance(other)?, other))).collect();
    near.sort();
    near.truncate(NEAREST_MAX);
    near.into_iter().map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_like_a_name_is_near() {
        let known = ["Bash", "BackgroundBash", "workspace_read", "workspace_write", "ReadDocs"];
        for (name, expected) in [
            ("Bsh", &["Bash"][..]),
            ("bash", &["Bash", "BackgroundBash"]),
            ("workspace_raed", &["workspace_read", "workspace_write"]),
            ("read", &["ReadDocs", "workspace_read"]),
            ("zzz", &[]),
            ("", &[]),
            ("sh", &[]),
        ] {
            assert_eq!(near_names(name, known), expected, "{name}");
        }
        assert!(near_names(&"Bash".repeat(33), known).is_empty());
    }
}
