//! Each service's request and its answer in the shape that its documentation describes (`answers/`); and how services do that
//! are slow, broken, huge or lead elsewhere.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::BoxFuture;
use http::{Request, StatusCode};
use tokio::time::{Instant, sleep};

use super::asking::{Answer, Asked, Sends};
use super::service::Endpoint;
use super::{Config, Settings, State, services, sound};

mod css;

/// The name of a service, its answer, the request for "a b" with the key `k`, and the hits.
struct Row {
    name: &'static str,
    answer: &'static [u8],
    request: &'static str,
    hits: &'static [(&'static str, &'static str, &'static str)],
}

macro_rules! answer {
    ($name:literal) => {
        include_bytes!(concat!("answers/", $name))
    };
}

const ROWS: [Row; 18] = [
    Row {
        name: "wikipedia",
        answer: answer!("wikipedia.json"),
        request: "GET https://en.wikipedia.org/w/api.php?action=query&list=search&srsearch=a%20b&srlimit=10&format=json&formatversion=2",
        hits: &[
            (
                "Nelson Mandela",
                "https://en.wikipedia.org/wiki/Nelson_Mandela",
                "Nelson Rolihlahla Mandela & others",
            ),
            ("Mandela effect", "https://en.wikipedia.org/wiki/Mandela_effect", ""),
        ],
    },
    Row {
        name: "wikidata",
        answer: answer!("wikidata.json"),
        request: "GET https://www.wikidata.org/w/api.php?action=wbsearchentities&search=a%20b&language=en&uselang=en&limit=10&format=json",
        hits: &[(
            "American Broadcasting Company",
            "https://www.wikidata.org/wiki/Q169889",
            "American broadcast television network",
        )],
    },
    Row {
        name: "stackexchange",
        answer: answer!("stackexchange.json"),
        request: "GET https://api.stackexchange.com/2.3/search/excerpts?site=stackoverflow&order=desc&sort=relevance&q=a%20b&pagesize=10&key=k",
        hits: &[
            ("What's a lifetime?", "https://stackoverflow.com/q/71", "How do I parse it?"),
            ("What's a lifetime?", "https://stackoverflow.com/a/72", "You parse it"),
        ],
    },
    Row {
        name: "github",
        answer: answer!("github.json"),
        request: "GET https://api.github.com/search/repositories?q=a%20b&per_page=10 x-github-api-version: 2022-11-28 authorization: Bearer k",
        hits: &[("dtrupenn/Tetris", "https://github.com/dtrupenn/Tetris", "A C implementation of Vec<T>")],
    },
    Row {
        name: "npm",
        answer: answer!("npm.json"),
        request: "GET http://localhost:8888/?text=a%20b&size=10",
        hits: &[
            (
                "yargs",
                "https://packages.example/package/yargs",
                "yargs the modern, pirate-themed, successor to optimist.",
            ),
            ("left", "https://left.example/", "Only a home."),
            ("right", "https://github.com/right/right", "A home that is no page."),
        ],
    },
    Row {
        name: "crates",
        answer: answer!("crates.json"),
        request: "GET https://crates.io/api/v1/crates?q=a%20b&per_page=10",
        hits: &[
            ("serde", "https://docs.rs/serde", "A generic serialization/deserialization framework"),
            ("one", "https://github.com/one/one", "About one"),
            ("two", "https://two.example", "About two"),
            ("bare", "https://crates.io/crates/bare", "About bare"),
        ],
    },
    Row {
        name: "hackernews",
        answer: answer!("hackernews.json"),
        request: "GET https://hn.algolia.com/api/v1/search?query=a%20b&tags=story&hitsPerPage=10",
        hits: &[
            ("Y Combinator", "http://ycombinator.com", ""),
            ("Ask HN: what?", "https://news.ycombinator.com/item?id=2", "A question"),
        ],
    },
    Row {
        name: "arxiv",
        answer: answer!("arxiv.xml"),
        request: "GET https://export.arxiv.org/api/query?search_query=all%3Aa%20AND%20all%3Ab&max_results=10",
        hits: &[(
            "Multi-Electron Production at High Transverse Momenta & more",
            "http://arxiv.org/abs/hep-ex/0307015v1",
            "Multi-electron production is studied at high electron transverse momentum.",
        )],
    },
    Row {
        name: "openalex",
        answer: answer!("openalex.json"),
        request: "GET https://api.openalex.org/works?search=a%20b&per-page=10&select=id%2Cdoi%2Cdisplay_name%2Cabstract_inverted_index&api_key=k",
        hits: &[
            ("The state of OA", "https://doi.org/10.7717/peerj.4375", "Despite growing interest in interest"),
            ("Without", "https://openalex.org/W1", ""),
        ],
    },
    Row {
        name: "mdn",
        answer: answer!("mdn.json"),
        request: "GET https://developer.mozilla.org/api/v1/search?q=a%20b&locale=en-US",
        hits: &[(
            "Fetch API",
            "https://developer.mozilla.org/en-US/docs/Web/API/Fetch_API",
            "The Fetch API provides an interface for fetching resources.",
        )],
    },
    Row {
        name: "searxng",
        answer: answer!("searxng.json"),
        request: "GET http://localhost:8888/search?q=a%20b&format=json",
        hits: &[("Example", "https://example.org/", "An example")],
    },
    Row {
        name: "brave",
        answer: answer!("brave.json"),
        request: "GET https://api.search.brave.com/res/v1/web/search?q=a%20b&count=10 x-subscription-token: k",
        hits: &[("Brave & more", "https://brave.com/", "The Brave browser")],
    },
    Row {
        name: "tavily",
        answer: answer!("tavily.json"),
        request: r#"POST https://api.tavily.com/search authorization: Bearer k {"max_results":10,"query":"a b"}"#,
        hits: &[("Messi", "https://example.com/messi", "A player")],
    },
    Row {
        name: "exa",
        answer: answer!("exa.json"),
        request: r#"POST https://api.exa.ai/search x-api-key: k {"contents":{"text":{"maxCharacters":500}},"numResults":10,"query":"a b"}"#,
        hits: &[("A paper", "https://arxiv.org/pdf/2307.06435.pdf", "Abstract")],
    },
    Row {
        name: "serper",
        answer: answer!("serper.json"),
        request: r#"POST https://google.serper.dev/search x-api-key: k {"num":10,"q":"a b"}"#,
        hits: &[("Apple", "https://www.apple.com/", "Discover")],
    },
    Row {
        name: "kagi",
        answer: answer!("kagi.json"),
        request: "GET https://kagi.com/api/v0/search?q=a%20b&limit=10 authorization: Bot k",
        hits: &[("Steve Jobs", "https://en.wikipedia.org/wiki/Steve_Jobs", "Steve Jobs")],
    },
    Row {
        name: "mojeek",
        answer: answer!("mojeek.json"),
        request: "GET https://api.mojeek.com/search?q=a%20b&fmt=json&t=10&api_key=k",
        hits: &[("Mojeek", "https://www.mojeek.com/", "An independent search engine")],
    },
    Row {
        name: "marginalia",
        answer: answer!("marginalia.json"),
        request: "GET https://api2.marginalia-search.com/search?query=a%20b&count=10 api-key: k",
        hits: &[("Marginalia", "https://www.marginalia.nu/", "Small web")],
    },
];

/// A request as text, without the headers that each has.
fn shown(request: &Request<Bytes>) -> String {
    let usual = ["user-agent", "accept", "accept-encoding", "content-type"];
    let headers = request.headers().iter().filter(|(name, _)| !usual.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| format!(" {name}: {}", value.to_str().expect("text")));
    let body = String::from_utf8_lossy(request.body()).into_owned();
    let line = format!("{} {}{} {body}", request.method(), request.uri(), headers.collect::<String>());
    line.trim_end().to_owned()
}

#[test]
fn each_service_is_asked_and_understood_as_it_is_described() {
    let known = services::known();
    assert_eq!(known.len(), ROWS.len());
    for row in &ROWS {
        let service = known.iter().find(|service| service.name() == row.name).expect("it is known");
        let url = service.url().unwrap_or("http://localhost:8888/").to_owned();
        let at = Endpoint { url, key: Some("k".to_owned()) };
        assert_eq!(shown(&service.ask(&at, "a b").request().expect("a request")), row.request);
        let hits = service.hits(&at, row.answer).expect(row.name);
        let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let hits: Vec<_> =
            hits.iter().map(|hit| (line(&hit.title), hit.url.clone(), line(&hit.snippet))).collect();
        let expected: Vec<_> = row
            .hits
            .iter()
            .map(|(title, url, snippet)| (title.to_string(), url.to_string(), snippet.to_string()))
            .collect();
        assert_eq!(hits, expected, "{}", row.name);
        for wrong in [&b""[..], b"{}", b"<html>", b"[[[", b"{\"error\":{\"code\":\"x\"}}"] {
            service.hits(&at, wrong).expect_err(row.name);
        }
    }
}

#[test]
fn a_feed_that_says_what_is_wrong_is_no_hit() {
    let known = services::known();
    let arxiv = known.iter().find(|service| service.name() == "arxiv").expect("it is known");
    let feed = br#"<feed><id>x</id><entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad query</summary></entry></feed>"#;
    let at = Endpoint { url: String::new(), key: None };
    assert_eq!(arxiv.hits(&at, feed), Err("says: bad query".to_owned()));
}

fn settings(section: &str) -> Result<Settings, String> {
    let config: Config<String> = serde_json::from_str(section).map_err(|error| error.to_string())?;
    let (settings, problems) = config.settings(|_, key| Some(key.clone()));
    let said: Vec<_> = problems.iter().map(|(keys, why)| format!("{}: {why}", keys.join("."))).collect();
    if said.is_empty() { Ok(settings) } else { Err(said.join("; ")) }
}

#[test]
fn services_are_configured() {
    let names = |section: &str| {
        settings(section).map(|settings| {
            settings.services.iter().map(|one| one.service.name().to_owned()).collect::<Vec<_>>().join(" ")
        })
    };
    let usual = "wikipedia wikidata stackexchange github crates hackernews arxiv openalex mdn";
    assert_eq!(names("{}").as_deref(), Ok(usual));
    let own =
        r#""own": {"url": "https://a.test/?q={query}", "items": "/list", "key": "k", "key_header": "x-key"}"#;
    let more = format!(
        r#"{{"services": {{"searxng": {{"url": "http://127.0.0.1:1"}}, "brave": {{"key": "k"}}, {own}}}}}"#
    );
    assert_eq!(names(&more), Ok(format!("searxng brave {usual} own")));
    let hosts = settings(&more).expect("sound").hosts().words().join(" ");
    assert!(
        hosts.starts_with("127.0.0.1:1 api.search.brave.com:443 en.wikipedia.org:443")
            && hosts.ends_with("a.test:443"),
        "{hosts}"
    );
    for (service, why) in [
        (r#""searxng": {}"#, "services.searxng.url: is missing"),
        (r#""brave": {}"#, "services.brave.key: is missing"),
        (r#""mdn": {"key": "k"}"#, "services.mdn.key: is not taken by this service"),
        (
            r#""mdn": {"items": "/x"}"#,
            "services.mdn.items: is for services of your own, and this one is known",
        ),
        (
            r#""mdn": {"url": "ftp://a.test"}"#,
            "services.mdn.url: is no address such as https://search.example/api",
        ),
        (
            r#""mdn": {"url": "https://u@a.test"}"#,
            "services.mdn.url: is no address such as https://search.example/api",
        ),
        (r#""mdn": {"timeout": "1h"}"#, "services.mdn.timeout: must be between 100ms and 30s"),
        (
            r#""brave": {"url": "http://a.test", "key": "k"}"#,
            "services.brave.url: a key is sent with https alone, or on this machine",
        ),
        (r#""own": {"items": ""}"#, "services.own.url: is missing"),
        (r#""own": {"url": "https://a.test"}"#, "services.own.items: is missing"),
        (
            r#""own": {"url": "https://a.test", "items": ""}"#,
            "services.own.url: needs `{query}` where the query stands",
        ),
        (
            r#""own": {"url": "https://{query}.test/", "items": ""}"#,
            "services.own.url: is no address such as https://search.example/api",
        ),
        (
            r#""own": {"url": "https://a.test/{query}", "items": "x"}"#,
            "services.own.items: is no JSON pointer, which begins with `/`",
        ),
        (
            r#""own": {"url": "https://a.test/{query}", "items": "", "key": "k"}"#,
            "services.own.key_header: and `key` belong together",
        ),
    ] {
        let said = settings(&format!(r#"{{"services": {{{service}}}}}"#)).map(|_| ());
        assert_eq!(said, Err(why.to_owned()), "{service}");
    }
    let said = settings(r#"{"timeout": "1ms"}"#).map(|_| ());
    assert_eq!(said, Err("timeout: must be between 100ms and 30s".to_owned()));
}

#[test]
fn a_query_is_words() {
    assert_eq!(sound(" a\n b ").expect("words"), "a b");
    sound(&"ä".repeat(256)).expect("it fits");
    for (query, why) in [
        ("", "the query is empty; say in a few words what to look for"),
        (" \n", "the query is empty; say in a few words what to look for"),
        ("a\0b", "the query has control characters in it; write words alone"),
        (&"x".repeat(10_000), "the query has 10000 characters, and 256 are the most; use a few words"),
    ] {
        assert_eq!(sound(query).map_err(|error| error.to_string()), Err(why.to_owned()));
    }
}

/// After so many milliseconds, a status with a body, or why there is none.
type Said = (u64, Result<(u16, Vec<u8>), &'static str>);

/// What a stand-in for the network answers, by host, each after so many milliseconds.
#[derive(Default)]
struct Hosts {
    answers: BTreeMap<&'static str, Said>,
    asked: Mutex<Vec<String>>,
    is_packed: bool,
}

impl Sends for Hosts {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, String>> {
        Box::pin(self.answer(request))
    }

    /// As a worker would that finds one thing, whose text is what it was given.
    fn results(&self, page: String, base: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            if page.ends_with("late") {
                sleep(Duration::from_secs(5)).await;
            }
            match page.ends_with("broken") {
                true => Err("no worker".to_owned()),
                false => Ok(format!("T\nhttps://x.test/1\n{} {base}\n", page.replace('\n', "|"))),
            }
        })
    }
}

impl Hosts {
    async fn answer(&self, request: Request<Bytes>) -> Result<Answer, String> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        self.asked.lock().expect("whole").push(host.clone());
        let (ms, answer) = self.answers.get(&*host).cloned().unwrap_or((0, Err("was not reached")));
        sleep(Duration::from_millis(ms)).await;
        let (status, body) = answer.map_err(str::to_owned)?;
        let status = StatusCode::from_u16(status).expect("a status");
        Ok(Answer {
            status,
            retry_after: None,
            is_packed: self.is_packed,
            encoding: encoding_rs::WINDOWS_1252,
            body: body.into(),
        })
    }
}

/// Services a, b and c of one's own.
fn three() -> Asked {
    let one =
        |name: &str| format!(r#""{name}": {{"url": "https://{name}.test/?q={{query}}", "items": "/list"}}"#);
    let off = services::known()
        .iter()
        .map(|known| format!(r#""{}": {{"enabled": false, "url": "https://x.test"}}"#, known.name()))
        .collect::<Vec<_>>();
    let section =
        format!(r#"{{"services": {{{}, {}, {}, {}}}}}"#, one("a"), one("b"), one("c"), off.join(", "));
    Asked::new(settings(&section).expect("sound"))
}

fn list(urls: &[&str]) -> Vec<u8> {
    let items = urls.iter().map(|url| serde_json::json!({ "title": "T", "url": url, "snippet": "S" }));
    serde_json::json!({ "list": items.collect::<Vec<_>>() }).to_string().into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_search_is_as_slow_as_its_slowest_service_within_the_timeout() {
    let asked = three();
    let answers = BTreeMap::from([
        ("a.test", (300, Ok((200, list(&["https://x.test/1"]))))),
        ("b.test", (900, Ok((200, list(&["/1"]))))),
        ("c.test", (60_000, Ok((200, list(&[]))))),
    ]);
    let hosts = Hosts { answers, ..Hosts::default() };
    let begun = Instant::now();
    let found = asked.search("q", &hosts).await.expect("two answer");
    // The clock stands still but for what is waited for: four seconds of the silent one, and nothing beside it.
    assert_eq!(begun.elapsed().as_secs(), 4);
    let text = found.to_string();
    let expected = "1. T — https://x.test/1\n   S\n   [a]\n2. T — https://b.test/1\n   S\n   [b]\n\
                    Found: a (1), b (1); silent: c.";
    assert_eq!(text, expected);
    let begun = Instant::now();
    let mut hosts = hosts;
    hosts.answers.insert("c.test", (500, Ok((200, list(&[])))));
    hosts.asked.lock().expect("whole").clear();
    let found = asked.search("q", &hosts).await.expect("all answer");
    assert_eq!((begun.elapsed().as_millis() / 10, found.services[2].state), (50, State::Answered));
    assert_eq!(*hosts.asked.lock().expect("whole"), ["c.test"], "the others are remembered");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_search_before_the_timeout_of_a_service() {
    let deadline = Duration::from_secs(1);
    let asked = Asked::new(Settings { deadline, ..three().settings().clone() });
    let answers = BTreeMap::from([
        ("a.test", (0, Ok((200, list(&["/1"]))))),
        ("b.test", (1_500, Ok((200, list(&["/1"]))))),
        ("c.test", (0, Ok((200, list(&[]))))),
    ]);
    let begun = Instant::now();
    let found = asked.search("q", &Hosts { answers, ..Hosts::default() }).await.expect("two answer");
    assert_eq!((begun.elapsed().as_secs(), found.services[1].state), (1, State::Silent));
    assert_eq!(found.services[1].why.as_deref(), Some("said nothing within 1000 ms"));
}

#[tokio::test(start_paused = true)]
async fn what_is_broken_is_said_and_left_alone() {
    let asked = three();
    let huge = vec![b' '; 3 * 1024 * 1024];
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&huge).expect("packed");
    let answers = BTreeMap::from([
        ("a.test", (0, Ok((301, Vec::new())))),
        ("b.test", (0, Ok((500, Vec::new())))),
        ("c.test", (0, Ok((200, packed.finish().expect("packed"))))),
    ]);
    let hosts = Hosts { answers, is_packed: true, ..Hosts::default() };
    let why = "no search service answered; try again later, or go on without. Failed: a (answers with 301 Moved Permanently, which \
               leads elsewhere and is not followed; set its `url`), b (answers with 500 Internal Server Error), c (answers with more \
               than 2 MiB).";
    for _ in 0..3 {
        let error = asked.search("q", &hosts).await.expect_err("all fail");
        assert_eq!((&**error.code(), &*error.to_string()), ("no_answer", why));
    }
    let error = asked.search("q", &hosts).await.expect_err("all fail").to_string();
    assert!(
        error.ends_with("set its `url`); not asked: b (it rests for 60 s more), c (it rests for 60 s more)."),
        "{error}"
    );
    tokio::time::advance(Duration::from_secs(61)).await;
    let answers =
        BTreeMap::from([("b.test", (0, Ok((429, Vec::new())))), ("c.test", (0, Ok((200, list(&[])))))]);
    let hosts = Hosts { answers, ..Hosts::default() };
    let found = asked.search("q", &hosts).await.expect("one answers").to_string();
    let expected = "Nothing was found; try other words, or fewer.\nNothing: c; failed: a (was not reached), b (answers with 429 Too Many Requests).";
    assert_eq!(found, expected);
    let found = asked.search("r", &hosts).await.expect("one answers").to_string();
    assert!(found.ends_with("not asked: b (it rests for 60 s more)."), "{found}");
}
