//! Texts as addresses of files, in every way in which programs read them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// True for a `file:` address, also one that bears an upstream's prefix (`PREFIX+file:///…`).
pub(super) fn is_of_file(text: &str) -> bool {
    behind_scheme(text).is_some()
}

/// The same as browsers and `node` read it: see [`as_browsers_do`].
pub(super) fn is_of_file_to_browsers(text: &str) -> bool {
    as_browsers_do(text).is_some_and(|text| is_of_file(&text))
}

/// Every path that such an address may be. Some programs cut it at `?` and `#`, or take it that what stands before the
/// first slash is a machine, and some only take `file://` away.
pub(super) fn paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for text in [Some(Cow::Borrowed(text)), as_browsers_do(text).map(Cow::Owned)].into_iter().flatten() {
        let Some(rest) = behind_scheme(&text) else { continue };
        let plain = rest.strip_prefix("//").unwrap_or(rest);
        let behind_machine = match rest.len() == plain.len() {
            true => rest,
            false => &plain[plain.find('/').unwrap_or(plain.len())..],
        };
        for whole in [behind_machine, plain] {
            for path in [whole.split(['?', '#']).next().unwrap_or(whole), whole] {
                for path in [percent_decode_str(path).decode_utf8_lossy(), Cow::Borrowed(path)] {
                    if !paths.iter().any(|known| *known == *path) {
                        paths.push(path.into_owned());
                    }
                }
            }
        }
    }
    paths
}

fn behind_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let scheme = scheme.rsplit('+').next().unwrap_or(scheme);
    scheme.eq_ignore_ascii_case("file").then_some(rest)
}

/// An address by the URL standard of WHATWG: tabs and ends of lines are nowhere, blanks at the ends neither, and a
/// backslash is a slash. Nothing if that is not another one.
fn as_browsers_do(text: &str) -> Option<String> {
    let is_odd = |c: char| c <= ' ' || c == '\\';
    if !text.contains(':') || !text.contains(is_odd) {
        return None;
    }
    let is_blank = |c: char| c <= ' ';
    Some(text.trim_matches(is_blank).replace(['\t', '\n', '\r'], "").replace('\\', "/"))
}
