//! What several services find, as one list: the same page once, and first what many of them have high up. Everything that they
//! say is cleaned here: it is others' text.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use tool_api::PlainText;

use super::service::Hit;

/// How many are shown.
const SHOWN_MAX: usize = 20;

/// What a rank is added to (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", 2009): the first of one service does not
/// outdo the second of two.
const RANK_CONSTANT: f64 = 60.0;

const TITLE_CHARS_MAX: usize = 150;
const SNIPPET_CHARS_MAX: usize = 300;
/// How much of a text is cleaned at all: many times what is shown.
const CLEANED_BYTES_MAX: usize = 4 * 1024;
/// Longer addresses are mostly tracking.
const URL_BYTES_MAX: usize = 2_000;
/// Snippets of one page. What a fourth service says of it adds little.
const SNIPPETS_MAX: usize = 3;

/// Members of a query that say where a reader came from, and not which page it is.
const TRACKING: [&str; 9] =
    ["gclid", "dclid", "fbclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "ref_src"];

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) url: String,
    /// What the services show of it.
    pub(super) snippets: Vec<String>,
    /// Who found it.
    pub(super) services: Vec<String>,
}

/// Merges the lists of services, each the best first.
pub(super) fn merged<'h>(lists: impl IntoIterator<Item = (&'h str, &'h [Hit])>) -> Vec<Page> {
    let (mut pages, mut known): (Vec<(f64, Page)>, HashMap<String, usize>) = (Vec::new(), HashMap::new());
    for (service, hits) in lists {
        for (nth, hit) in hits.iter().enumerate() {
            let Some(key) = key(&hit.url) else { continue };
            let at = *known.entry(key).or_insert(pages.len());
            if at == pages.len() {
                let page = Page {
                    title: cut(&hit.title, TITLE_CHARS_MAX),
                    url: hit.url.clone(),
                    snippets: Vec::new(),
                    services: Vec::new(),
                };
                pages.push((0.0, page));
            }
            let (score, page) = &mut pages[at];
            // What a service lists twice counts once.
            if page.services.iter().any(|known| known == service) {
                continue;
            }
            *score += 1.0 / (RANK_CONSTANT + 1.0 + nth as f64);
            page.services.push(service.to_owned());
            let snippet = cut(&hit.snippet, SNIPPET_CHARS_MAX);
            if !snippet.is_empty() && page.snippets.len() < SNIPPETS_MAX && !page.snippets.contains(&snippet)
            {
                page.snippets.push(snippet);
            }
        }
    }
    // Equal ones stay in the order of the services.
    pages.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    pages.into_iter().map(|(_, page)| page).take(SHOWN_MAX).collect()
}

/// What tells pages apart; nothing for what is no address of one.
fn key(url: &str) -> Option<String> {
    let is_plain = url.len() <= URL_BYTES_MAX && !url.chars().any(|c| c.is_control() || c.is_whitespace());
    let (scheme, rest) = url.split_once("://").filter(|_| is_plain)?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let page = rest.split('#').next().filter(|_| is_web)?;
    let (place, query) = page.split_once('?').unwrap_or((page, ""));
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let host = host.to_lowercase();
    let host = host.strip_suffix(":443").or(host.strip_suffix(":80")).unwrap_or(&host);
    let host = host.strip_prefix("www.").unwrap_or(host);
    // A name in front of the host makes people take it for another one.
    if host.is_empty() || host.contains('@') {
        return None;
    }
    let says_which = |member: &&str| {
        let name = member.split('=').next().unwrap_or_default();
        !member.is_empty() && !name.starts_with("utm_") && !TRACKING.contains(&name)
    };
    let members: Vec<&str> = query.split('&').filter(says_which).collect();
    Some(format!("{host}/{}?{}", path.trim_end_matches('/'), members.join("&")))
}

/// On one line, without what drives a terminal, and no longer than this.
fn cut(text: &str, chars_max: usize) -> String {
    let text = &text[..text.floor_char_boundary(CLEANED_BYTES_MAX)];
    let line = PlainText::of(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(url: &str) -> Hit {
        Hit { title: url.to_owned(), url: url.to_owned(), snippet: String::new() }
    }

    #[test]
    fn one_page_has_one_key() {
        let page = "https://example.com/a/b?x=1&y=2";
        for same in [
            "http://www.example.com/a/b/?x=1&y=2",
            "HTTPS://Example.COM:443/a/b?utm_source=z&x=1&y=2&gclid=5#part",
            "http://example.com:80/a/b?x=1&&y=2",
        ] {
            assert_eq!(key(same), key(page), "{same}");
        }
        for other in [
            "https://example.com/A/b?x=1&y=2",
            "https://example.com/a/b",
            "https://m.example.com/a/b?x=1&y=2",
        ] {
            assert_ne!(key(other), key(page), "{other}");
        }
        let long = format!("https://a.test/{}", "x".repeat(URL_BYTES_MAX));
        for none in [
            "",
            "javascript:alert(1)",
            "ftp://a.test/",
            "https://",
            "//a.test/x",
            "https://a.test@b.test/",
            "https://a b/",
            &long,
        ] {
            assert_eq!(key(none), None, "{none}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(cut(" a\n b ", 3), "a b");
        assert_eq!(cut("abcd", 3), "abc…");
        assert_eq!(cut(&format!("a{}b", " ".repeat(CLEANED_BYTES_MAX)), 3), "a");
        assert_eq!(cut(&format!("{}ä", " ".repeat(CLEANED_BYTES_MAX - 1)), 3), "");
    }

    #[test]
    fn what_many_have_high_up_is_first() {
        let lists = [
            ("one", vec![hit("https://a.test/1"), hit("https://a.test/2"), hit("https://a.test/2/")]),
            ("two", vec![hit("https://b.test/1"), hit("http://www.a.test/2")]),
        ];
        let merged = merged(lists.iter().map(|(name, hits)| (*name, &hits[..])));
        let seen: Vec<_> = merged.iter().map(|page| (&*page.url, page.services.join(" "))).collect();
        let expected =
            [("https://a.test/2", "one two"), ("https://a.test/1", "one"), ("https://b.test/1", "two")];
        assert_eq!(seen, expected.map(|(url, names)| (url, names.to_owned())));
    }

    #[test]
    fn twenty_are_shown_each_in_bounds() {
        let many: Vec<_> = (0..50).map(|nth| hit(&format!("https://a.test/{nth}"))).collect();
        assert_eq!(merged([("one", &many[..])]).len(), SHOWN_MAX);
        let said = |snippet: &str| Hit {
            snippet: snippet.to_owned(),
            title: "\u{1b}[31mt\nu".into(),
            ..hit("https://a.test/")
        };
        let lists: Vec<_> = ["x".repeat(1_000), "b".into(), "b".into(), "c".into(), "d".into()]
            .iter()
            .map(|text| vec![said(text)])
            .collect();
        let names = ["1", "2", "3", "4", "5"];
        let merged = merged(names.into_iter().zip(lists.iter().map(|hits| &hits[..])));
        let expected = [format!("{}…", "x".repeat(SNIPPET_CHARS_MAX)), "b".to_owned(), "c".to_owned()];
        assert_eq!((&*merged[0].title, &merged[0].snippets[..]), ("t u", &expected[..]));
    }
}
