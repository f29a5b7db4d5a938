//! Services that answer in pages for people: how they are configured, and who reads what they say.

use super::*;

#[test]
fn selectors_are_configured_and_refused_with_their_place() {
    for (service, why) in [
        (
            r#""mdn": {"kind": "css"}"#,
            "services.mdn.kind: is for services of your own, and this one is known",
        ),
        (
            r#""own": {"url": "https://a.test/{query}", "items": "", "link_attribute": "href"}"#,
            "services.own.link_attribute: is for services whose `kind` is \"css\"",
        ),
        (r#""own": {"url": "https://a.test/{query}", "kind": "css"}"#, "services.own.items: is missing"),
        (
            r#""own": {"url": "https://a.test/{query}", "kind": "css", "items": "li:first-child"}"#,
            "services.own.items: is no selector: at character 3: `:` is not known here; a selector is made of names, *, #id, .class, \
             [attribute], [attribute=value] (also ^=, $=, *=), of blanks and > between these, and of commas",
        ),
        (
            r#""own": {"url": "https://a.test/{query}", "kind": "css", "items": "li", "snippet": "."}"#,
            "services.own.snippet: is no selector: at character 2: a name is missing, which begins with a letter",
        ),
        (
            r#""own": {"url": "https://a.test/{query}", "kind": "css", "items": "li", "link_attribute": "href]"}"#,
            "services.own.link_attribute: is no name of an attribute, such as href",
        ),
    ] {
        let said = settings(&format!(r#"{{"services": {{{service}}}}}"#)).map(|_| ());
        assert_eq!(said, Err(why.to_owned()), "{service}");
    }
    // One that is not asked may be anything.
    let off = r#"{"services": {"own": {"enabled": false, "kind": "css", "items": ":"}}}"#;
    settings(off).map(|_| ()).expect("it is not asked");
}

/// Services a, b and c of one's own, of which b says more.
fn three_of_pages() -> Asked {
    let one = |name: &str, more: &str| {
        format!(
            r#""{name}": {{"url": "https://{name}.test/?q={{query}}", "kind": "css", "items": "li.hit"{more}}}"#
        )
    };
    let off = services::known()
        .iter()
        .map(|known| format!(r#""{}": {{"enabled": false}}"#, known.name()))
        .collect::<Vec<_>>();
    let more = r#", "title": "h2", "link": "a.to", "link_attribute": "Data-To", "snippet": "div, p""#;
    let section = format!(
        r#"{{"services": {{{}, {}, {}, {}}}}}"#,
        one("a", ""),
        one("b", more),
        one("c", ""),
        off.join(", ")
    );
    Asked::new(settings(&section).expect("sound"))
}

#[tokio::test(start_paused = true)]
async fn a_page_for_people_is_read_by_a_worker() {
    let asked = three_of_pages();
    let answers = BTreeMap::from([
        ("a.test", (0, Ok((200, b"<p>\xe4".to_vec())))),
        ("b.test", (0, Ok((200, Vec::new())))),
        ("c.test", (0, Ok((200, b"broken".to_vec())))),
    ]);
    let found = asked.search("q r", &Hosts { answers, ..Hosts::default() }).await.expect("two answer");
    let expected = "1. T — https://x.test/1\n   li.hit|a[href]|a[href]|href|p|<p>ä https://a.test/?q=q%20r\n   \
                    li.hit|h2|a.to|data-to|div, p| https://b.test/?q=q%20r\n   [a, b]\n\
                    Found: a (1), b (1); failed: c (answered, but that was not read: no worker).";
    assert_eq!(found.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn what_fails_once_a_service_has_answered_does_not_count_against_it() {
    let asked = three_of_pages();
    let page = |ms: u64, text: &str| (ms, Ok((200, text.as_bytes().to_vec())));
    let answers = BTreeMap::from([
        ("a.test", page(3_000, "late")),
        ("b.test", page(0, "broken")),
        ("c.test", page(0, "late")),
    ]);
    // The time of a worker, and the wait for one, is none of the service's 4 s, but of the 6 s of all.
    let expected = "Found: c (1); failed: a (answered, but that was not read in time), b (answered, but that was not read: no \
                    worker).";
    for nth in 0..4 {
        let begun = Instant::now();
        let hosts = Hosts { answers: answers.clone(), ..Hosts::default() };
        let found = asked.search(&format!("q{nth}"), &hosts).await.expect("one answers").to_string();
        assert_eq!(found.lines().last(), Some(expected), "search {nth}");
        assert_eq!(begun.elapsed().as_secs(), 6);
    }
}
