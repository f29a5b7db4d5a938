//! What a text looks like: the skeleton of Unicode's UTS 39, by the table that `build.rs` makes of a library's.

use unicode_normalization::UnicodeNormalization;

/// A character, where its text begins and how long it is: 4, 2 and 2 bytes, the lowest first; by character.
static RECORDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/looks.records"));

/// What the characters look like, one after the other.
static TEXTS: &str = include_str!(concat!(env!("OUT_DIR"), "/looks.texts"));

/// Two texts that look alike look the same in this form. The table takes `1`, `l` and `I` for one letter, and `0` for `O`.
pub(super) fn looks(text: &str) -> String {
    let mut looks = String::with_capacity(text.len());
    for character in text.nfd() {
        match other(character) {
            Some(other) => looks.push_str(other),
            None => looks.push(character),
        }
    }
    looks.nfd().collect()
}

/// What a character looks like, if not like itself; nothing at all if nobody sees it.
fn other(character: char) -> Option<&'static str> {
    let (records, _) = RECORDS.as_chunks::<8>();
    let number = |record: &[u8; 8]| u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
    let found = records.binary_search_by_key(&u32::from(character), number).ok()?;
    let [.., start_low, start_high, length_low, length_high] = records[found];
    let start = usize::from(u16::from_le_bytes([start_low, start_high]));
    TEXTS.get(start..start + usize::from(u16::from_le_bytes([length_low, length_high])))
}

#[cfg(test)]
mod tests {
    use unicode_security::skeleton;

    use super::*;

    #[test]
    fn every_character_looks_as_in_the_library() {
        for character in char::MIN..=char::MAX {
            let text = character.to_string();
            assert_eq!(looks(&text), skeleton(&text).collect::<String>(), "{character:?}");
        }
        for text in ["раураl_1", "ﬁle", "e\u{301}\u{323}", "a\u{200b}b", "Ǆ\u{302}", ""] {
            assert_eq!(looks(text), skeleton(text).collect::<String>(), "{text:?}");
        }
    }
}
