//! The named characters of HTML that stand for ASCII and Latin-1; escapers write no others for what a secret has.

/// Longest name, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 7;

/// Names in their order. Case counts but for those of HTML 2, which stand here in both.
const NAMED: &[(&str, char)] = &[
    ("AMP", '&'),
    ("GT", '>'),
    ("Hat", '^'),
    ("LT", '<'),
    ("NewLine", '\n'),
    ("QUOT", '"'),
    ("Tab", '\t'),
    ("Vert", '|'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dollar", '$'),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lt", '<'),
    ("midast", '*'),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("sol", '/'),
    ("verbar", '|'),
    ("vert", '|'),
];

/// The names of U+00A0 to U+00FF, in their order.
const LATIN: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo",
    "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot",
    "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",
    "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute",
    "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash",
    "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave", "aacute", "acirc", "atilde",
    "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc",
    "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave",
    "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// The character that is written as `&name;`.
pub(super) fn named(name: &[u8]) -> Option<char> {
    if let Ok(place) = NAMED.binary_search_by(|(known, _)| known.as_bytes().cmp(name)) {
        return Some(NAMED[place].1);
    }
    let place = LATIN.iter().position(|known| known.as_bytes() == name)?;
    char::from_u32(0xa0 + u32::try_from(place).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_none_is_longer() {
        assert!(NAMED.is_sorted_by_key(|(name, _)| *name));
        let all = NAMED.iter().map(|(name, _)| *name).chain(LATIN);
        assert_eq!(all.map(str::len).max(), Some(NAME_BYTES_MAX));
        for (name, expected) in
            [("nbsp", '\u{a0}'), ("eacute", 'é'), ("yuml", 'ÿ'), ("szlig", 'ß'), ("times", '×'), ("AMP", '&')]
        {
            assert_eq!(named(name.as_bytes()), Some(expected), "{name}");
        }
        assert_eq!(named(b"none"), None);
    }
}
