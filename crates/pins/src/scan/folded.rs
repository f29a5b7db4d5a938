//! A text as somebody reads it who does not look closely: without what is hidden, with compatible characters as one, with
//! letters that only look Latin as Latin ones, without accents. Patterns are looked for in it, so that no spelling of an
//! instruction is another one.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::looks::looks;
use crate::shown::is_hidden;

/// A text in the two forms that are searched.
pub(super) struct Folded {
    /// Without hidden characters, in the form NFKC: for words in other scripts.
    pub(super) plain: String,
    /// With everything folded to ASCII that looks so, if that is anything.
    pub(super) latin: Option<String>,
}

impl Folded {
    pub(super) fn of(text: &str) -> Folded {
        let shown = text.chars().filter(|&character| !is_hidden(character));
        // Nearly every text is ASCII.
        if text.is_ascii() {
            return Folded { plain: shown.collect(), latin: None };
        }
        let plain: String = shown.nfkc().collect();
        let latin = Some(latin(&plain)).filter(|latin| *latin != plain);
        Folded { plain, latin }
    }
}

fn latin(plain: &str) -> String {
    let mut latin = String::with_capacity(plain.len());
    for character in plain.nfkd().filter(|&character| !is_combining_mark(character)) {
        match character.is_ascii() {
            true => latin.push(character),
            false => fold(character, &mut latin),
        }
    }
    latin
}

/// Adds what a character looks like. The table has one letter for `I`, `l` and `1`; of a capital it is the first.
fn fold(character: char, latin: &mut String) {
    let mut buffer = [0; 4];
    let looks = looks(character.encode_utf8(&mut buffer));
    match looks.as_str() {
        "l" if character.is_uppercase() => latin.push('I'),
        // The table takes an `m` apart.
        "rn" => latin.push('m'),
        looks if looks.is_ascii() => latin.push_str(looks),
        _ => match bracket(character) {
            Some(bracket) => latin.push(bracket),
            None => latin.push(character),
        },
    }
}

/// Brackets of other scripts, which set apart what stands in them as well.
fn bracket(character: char) -> Option<char> {
    Some(match character {
        '【' | '「' | '『' | '〖' | '〔' | '⟦' => '[',
        '】' | '」' | '』' | '〗' | '〕' | '⟧' => ']',
        '〈' | '《' | '⟨' | '⟪' | '«' | '‹' | '❮' | '⧼' => '<',
        '〉' | '》' | '⟩' | '⟫' | '»' | '›' | '❯' | '⧽' => '>',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_reads_the_same() {
        for (text, expected) in [
            ("plain", "plain"),
            ("ig\u{200b}nore\u{e0041}", "ignore"),
            ("ｉｇｎｏｒｅ ＜ＩＭＰＯＲＴＡＮＴ＞", "ignore <IMPORTANT>"),
            ("іgnоrе аll рrеvіоus", "ignore all previous"),
            ("Іgnore ΑLL", "Ignore ALL"),
            ("𝐢𝐠𝐧𝐨𝐫𝐞 𝓪𝓵𝓵 ⓟⓡⓔⓥ ᵢ", "ignore all prev i"),
            ("ïgnörë précédentes", "ignore precedentes"),
            ("【important】 «system» don’t", "[important] <system> don't"),
            ("ignoʀe ɡit", "ignoʀe git"),
            ("日本語 Привет", "日本語 Привет"),
        ] {
            let folded = Folded::of(text);
            let latin = folded.latin.unwrap_or(folded.plain);
            // Of other scripts only some letters look Latin; what is left of their words is searched as it stands.
            if !text.contains('日') {
                assert_eq!(latin, expected, "{text}");
            }
        }
        assert_eq!(Folded::of("日本語 Привет").plain, "日本語 Привет");
    }
}
