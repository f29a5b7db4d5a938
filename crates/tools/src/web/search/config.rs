//! The `[search]` section: which services a web search asks, where, and by which keys.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::HostRules;
use units::Span;

use super::service::{Endpoint, Key, Service};
use super::services::{self, Answers, Own, Pointers, Selectors};
use super::settings::{Configured, Settings};

/// How long one service has: most answer within one second, arXiv within three.
const TIMEOUT: Duration = Duration::from_secs(4);

/// How long all have together.
const DEADLINE: Duration = Duration::from_secs(6);

/// The longest that can be set. A model waits meanwhile.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Most services: each is a connection for every search.
const SERVICES_MAX: usize = 32;

/// What a web search asks. Out of the box: Wikipedia, Wikidata, Stack Overflow, GitHub, crates.io, Hacker News, arXiv,
/// OpenAlex and MDN, which take no key. A general search of the web takes a SearXNG of yours, or the key of a service. Keys are
/// `V`, which may be references.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config<V> {
    /// How long each service has to answer, at most `"30s"`.
    pub timeout: Span,
    /// How long all of them have together, at most `"30s"`; what has come by then is shown.
    pub deadline: Span,
    /// Services by their names. Known ones: `wikipedia`, `wikidata`, `stackexchange`, `github`, `crates`, `hackernews`, `arxiv`,
    /// `openalex`, `mdn`; `searxng` and `npm` with their `url`; `brave`, `tavily`, `exa`, `serper`, `kagi`, `mojeek`, `marginalia`
    /// with a `key`. Any other name is a service of your own, which answers in JSON, or in HTML if its `kind` is `"css"`.
    pub services: BTreeMap<String, ServiceConfig<V>>,
}

impl<V> Default for Config<V> {
    fn default() -> Config<V> {
        Config { timeout: Span(TIMEOUT), deadline: Span(DEADLINE), services: BTreeMap::new() }
    }
}

/// One service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceConfig<V> {
    /// `false` has it not asked.
    pub enabled: bool,
    /// Where it is asked, such as `"https://de.wikipedia.org/w/api.php"`, if not where it usually is. Of a service of your own the
    /// whole address, with `{query}` where the query stands.
    pub url: Option<String>,
    /// Its key, best as a reference: `{ store = "BRAVE_KEY" }`. It is sent to the host of the service alone.
    pub key: Option<V>,
    /// How long it has to answer, if not as long as the others.
    pub timeout: Option<Span>,
    /// Of a service of your own: the header that its key is sent in.
    pub key_header: Option<String>,
    /// Of a service of your own: what it answers in, `"json"` by default, or `"css"` for a page of which selectors say where the
    /// results are. Reading pages that are made for people is yours to answer for: look at what the service allows.
    pub kind: Option<Kind>,
    /// Of a service of your own: where the list of what was found stands in its answer, as a JSON pointer such as `"/results"`; or a
    /// selector such as `"li.result"` that finds each result.
    pub items: Option<String>,
    /// Where the title stands in an item of it, `"/title"` by default; or a selector, `"a[href]"` by default.
    pub title: Option<String>,
    /// Where the address stands, `"/url"` by default; or a selector, `"a[href]"` by default.
    pub link: Option<String>,
    /// The attribute that has the address of what `link` selects, `"href"` by default.
    pub link_attribute: Option<String>,
    /// Where what is shown of the page stands, `"/snippet"` by default; or a selector, `"p"` by default.
    pub snippet: Option<String>,
}

impl<V> Default for ServiceConfig<V> {
    fn default() -> ServiceConfig<V> {
        ServiceConfig {
            enabled: true,
            url: None,
            key: None,
            timeout: None,
            key_header: None,
            kind: None,
            items: None,
            title: None,
            link: None,
            link_attribute: None,
            snippet: None,
        }
    }
}

/// What a service of one's own answers in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Kind {
    /// JSON, where pointers say what is where.
    Json,
    /// HTML, where selectors of CSS say it.
    Css,
}

/// What is wrong with a key of the section: the keys below it, and why.
type Problem = (Vec<String>, String);

impl<V> Config<V> {
    /// The services that are asked by it, and what is wrong with it. `follow` gives what the key of a service says, which may be
    /// nothing: then that one is not asked.
    pub fn settings(&self, mut follow: impl FnMut(&str, &V) -> Option<String>) -> (Settings, Vec<Problem>) {
        let mut problems = Vec::new();
        for (key, time) in [("timeout", self.timeout), ("deadline", self.deadline)] {
            problems.extend(out_of_range(time).map(|why| (vec![key.to_owned()], why)));
        }
        let known = services::known().into_iter().map(|service| {
            let written = self.services.get(service.name());
            (service, written)
        });
        let is_known = |name: &str| services::known().iter().any(|service| service.name() == name);
        let own = self.services.iter().filter(|(name, written)| written.enabled && !is_known(name));
        let mut own_services = Vec::new();
        for (name, written) in own {
            match own_service(name, written) {
                Ok(service) => own_services.push((service, Some(written))),
                Err((key, why)) => {
                    problems.push((vec!["services".to_owned(), name.clone(), key.to_owned()], why))
                }
            }
        }
        let mut configured: Vec<Configured> = Vec::new();
        for (service, written) in known.chain(own_services) {
            let name = service.name().to_owned();
            let key = written.and_then(|written| written.key.as_ref()).map(|key| follow(&name, key));
            match self.one(service, written, key) {
                Ok(one) => configured.extend(one),
                Err((key, why)) => problems.push((vec!["services".to_owned(), name, key.to_owned()], why)),
            }
        }
        if configured.len() > SERVICES_MAX {
            problems.push((vec!["services".to_owned()], format!("at most {SERVICES_MAX} can be asked")));
        }
        let words: Result<Vec<String>, String> = configured.iter().map(|one| host(&one.at.url)).collect();
        let hosts = words.and_then(|words| HostRules::parse(words).map_err(|why| why.to_string()));
        let hosts = hosts.unwrap_or_else(|why| {
            problems.push((vec!["services".to_owned()], why));
            HostRules::none()
        });
        (Settings { services: configured.into(), hosts, deadline: self.deadline.0 }, problems)
    }

    /// A service as it is written; nothing if it is not asked. `key` is what its key says, if it has one.
    fn one(
        &self,
        service: Box<dyn Service>,
        written: Option<&ServiceConfig<V>>,
        key: Option<Option<String>>,
    ) -> Result<Option<Configured>, (&'static str, String)> {
        let url = written.and_then(|written| written.url.as_deref()).or(service.url());
        let is_enabled = written.is_none_or(|written| written.enabled);
        let (Some(url), true) = (url, is_enabled) else {
            let is_wanted = written.is_some() && is_enabled;
            return if is_wanted { Err(("url", "is missing".to_owned())) } else { Ok(None) };
        };
        if let Some(written) = written {
            sound(&*service, written, url)?;
        }
        let has_key = key.is_some();
        let key = match (service.key(), key) {
            (Key::Required, None) if written.is_some() => return Err(("key", "is missing".to_owned())),
            // The second is not to be had now, which is told where it matters.
            (Key::Required, None) | (_, Some(None)) => return Ok(None),
            (_, key) => key.flatten(),
        };
        if has_key && !is_private_enough(url) {
            let why = "a key is sent with https alone, or on this machine";
            return Err(("url", why.to_owned()));
        }
        let timeout = written.and_then(|written| written.timeout).unwrap_or(self.timeout).0;
        Ok(Some(Configured { service, at: Endpoint { url: url.to_owned(), key }, timeout }))
    }
}

/// What is asked where nothing is said.
impl Default for Settings {
    fn default() -> Settings {
        Config::<()>::default().settings(|_, ()| None).0
    }
}

fn own_service<V>(
    name: &str,
    written: &ServiceConfig<V>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    let (name, key_header) = (name.to_owned(), written.key_header.clone());
    let Some(items) = written.items.as_deref() else {
        return Err(("items", "is missing".to_owned()));
    };
    let parts =
        [&written.title, &written.link, &written.link_attribute, &written.snippet].map(Option::as_deref);
    let answers = match written.kind {
        Some(Kind::Css) => Answers::Page(Selectors::read(items, parts)?),
        Some(Kind::Json) | None => Answers::Json(Pointers::read(items, parts)?),
    };
    Ok(Box::new(Own { name, key_header, answers }))
}

/// Whether what is written of a service fits it.
fn sound<V>(
    service: &dyn Service,
    written: &ServiceConfig<V>,
    url: &str,
) -> Result<(), (&'static str, String)> {
    let own = [
        ("key_header", written.key_header.is_some()),
        ("kind", written.kind.is_some()),
        ("items", written.items.is_some()),
        ("title", written.title.is_some()),
        ("link", written.link.is_some()),
        ("link_attribute", written.link_attribute.is_some()),
        ("snippet", written.snippet.is_some()),
    ];
    let is_own = service.url().is_none() && service.key() == Key::Own;
    if let Some((key, _)) = own.iter().find(|(_, is_said)| *is_said && !is_own) {
        return Err((key, "is for services of your own, and this one is known".to_owned()));
    }
    if let Some(why) = written.timeout.and_then(out_of_range) {
        return Err(("timeout", why));
    }
    if is_own && !url.contains(services::QUERY) {
        return Err(("url", format!("needs `{}` where the query stands", services::QUERY)));
    }
    if is_own && written.key.is_some() != written.key_header.is_some() {
        return Err(("key_header", "and `key` belong together".to_owned()));
    }
    if service.key() == Key::None && written.key.is_some() {
        return Err(("key", "is not taken by this service".to_owned()));
    }
    match http::HeaderName::from_bytes(written.key_header.as_deref().unwrap_or("x").as_bytes()) {
        Ok(_) => host(url).map(|_| ()).map_err(|why| ("url", why)),
        Err(_) => Err(("key_header", "is no name of a header".to_owned())),
    }
}

/// The host of an address, as rules of the network name it.
fn host(url: &str) -> Result<String, String> {
    let wrong = || "is no address such as https://search.example/api".to_owned();
    // The query stands behind the host, or braces are in its name, which none has.
    let begins = url.find("://").map_or(0, |at| at + 3);
    let (host, rest) = url[begins..].split_once('/').unwrap_or((&url[begins..], ""));
    let plain = format!("{}{host}/{}", &url[..begins], rest.replace(services::QUERY, "q"));
    let uri: Uri = plain.parse().map_err(|_| wrong())?;
    let port = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") => 80,
        Some(_) | None => return Err(wrong()),
    };
    let authority =
        uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wrong)?;
    Ok(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(port)))
}

/// Whether a key may go there.
fn is_private_enough(url: &str) -> bool {
    let uri: Option<Uri> = host(url).ok().and_then(|host| format!("http://{host}/").parse().ok());
    let is_here = |host: &str| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    url.starts_with("https://") || uri.is_some_and(|uri| uri.host().is_some_and(is_here))
}

fn out_of_range(time: Span) -> Option<String> {
    let fits = (Duration::from_millis(100)..=TIME_MAX).contains(&time.0);
    (!fits).then(|| format!("must be between 100ms and {}", Span(TIME_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_to_this_machine_or_with_https() {
        for url in [
            "https://a.test/",
            "http://localhost/",
            "http://localhost:8888/x?q={query}",
            "http://127.0.0.1:1",
            "http://127.8.9.10/",
            "http://[::1]:80/",
        ] {
            assert!(is_private_enough(url), "{url}");
        }
        for url in [
            "http://a.test/",
            "http://127.evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "http://localhost@evil.example/",
            "http://10.0.0.1/",
            "http://[::2]/",
            "ftp://127.0.0.1/",
            "http://",
        ] {
            assert!(!is_private_enough(url), "{url}");
        }
    }
}
