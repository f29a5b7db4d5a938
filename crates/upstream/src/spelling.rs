//! One spelling for all the URIs that a server may read as the same one.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// `uri` as a server may read it (RFC 3986, section 6.2): scheme and host in small letters, percent-encodings decoded, `.`
/// and `..` followed, without a fragment. For comparing alone; a server may still tell two of them apart.
pub(crate) fn plain(uri: &str) -> String {
    let uri = uri.split('#').next().unwrap_or_default();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let Some((scheme, rest)) = uri.split_once(':') else { return decoded(uri) };
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let (host, path) = match path.strip_prefix("//") {
        Some(behind) => behind.split_at(behind.find('/').unwrap_or(behind.len())),
        None => ("", path),
    };
    let host = decoded(host).to_lowercase();
    // A host that is `.`, as in `m://./r`, may be read as a part of the path.
    let whole = format!("{host}{}", decoded(path));
    let mut parts: Vec<Cow<'_, str>> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.into()),
        }
    }
    let query = query
        .filter(|query| !query.is_empty())
        .map_or_else(String::new, |query| format!("?{}", decoded(query)));
    format!("{}:{}{query}", decoded(scheme).to_lowercase(), parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_read_the_same() {
        for (one, others) in [
            (
                "m://r",
                &["M://r", "m://r#x", "m://./r", "m://%72", "m://R", "m:r", "m:///r", "m://r?", "m://x/../r"]
                    [..],
            ),
            ("file:///a/b c", &["FILE:///a/./b%20c", "file:///a/x/../b c", "file:/a/b c", "file:///a//b c/"]),
            ("https://H.org/a?q=1", &["https://h.org/a?q=1#f", "https://h.org/%61?q=%31"]),
            ("no scheme", &["no%20scheme", "no scheme#x"]),
        ] {
            others.iter().for_each(|other| assert_eq!(plain(other), plain(one), "{other}"));
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        let all = ["m://r", "m://s", "n://r", "m://r/a", "m://r/A", "m://r?a", "m://r?A", "m://r%2572", ""];
        for (nth, one) in all.iter().enumerate() {
            all[..nth].iter().for_each(|other| assert_ne!(plain(one), plain(other), "{one} {other}"));
        }
    }

    #[test]
    fn hostile_ones_do_no_harm() {
        for uri in [":", "%", "%zz:%", "a:../../..", "a://%2e%2e/%2f", "a:\u{0}", "a:%ff", "//", "?#"] {
            plain(uri);
        }
    }
}
