//! `Seen`: what a browser has told of a page by now, and what has to be done at once. It only thinks.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What a page may load, in bytes as they are once unpacked. What is more is not waited for.
pub(crate) const PAGE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Requests of one page; one that makes more makes them without end.
const REQUESTS_MAX: usize = 2_000;

/// The longest name of a request, in bytes. A browser's are far shorter.
const ID_BYTES_MAX: usize = 200;

/// How often a page may lead on to another, by the server or by itself.
pub(crate) const LED_ON_MAX: usize = 10;

/// A page that asks for nothing for so long has all that it wants. Time that every page costs; the next tab takes as long to open
/// meanwhile.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

/// The same for a page whose scripts fetch what it shows: they often wait a little before they fetch more.
const FETCHING_QUIET: Duration = Duration::from_millis(200);

/// Requests that only scripts make.
const OF_SCRIPTS: [&str; 2] = ["XHR", "Fetch"];

/// Requests that last as long as the page, and nothing comes of them that a reader would wait for.
const LASTING: [&str; 3] = ["EventSource", "WebSocket", "Ping"];

/// Of one page.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Its target, which is its main frame, too.
    page: String,
    in_flight: HashSet<String>,
    /// When that changed.
    changed: Instant,
    /// Whether a script of the document has fetched something.
    has_fetched: bool,
    requests: usize,
    documents: usize,
    bytes: u64,
    /// The address that the page was at last led to.
    pub(crate) leads_to: String,
    /// Whether the document has been read to its end.
    pub(crate) is_read: bool,
    /// Whether no more of it is loaded, since it is too much.
    pub(crate) is_stopped: bool,
    pub(crate) has_led_on: bool,
    pub(crate) has_crashed: bool,
    pub(crate) is_download: bool,
    /// Of the document.
    pub(crate) status: Option<u16>,
    pub(crate) media_type: String,
}

/// What the browser is told at once.
#[derive(Debug, PartialEq)]
pub(crate) struct Reaction {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// Whether it is for the page, or for the browser.
    pub(crate) is_of_page: bool,
    /// The page is about to be at this address.
    pub(crate) leads_to: Option<String>,
}

impl Reaction {
    fn of_page(method: &'static str, params: Value) -> Option<Reaction> {
        Some(Reaction { method, params, is_of_page: true, leads_to: None })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Requested {
    request_id: String,
    r#type: Option<String>,
    /// The document whose request it is.
    loader_id: Option<String>,
    initiator: Option<Initiator>,
}

/// What wants something.
#[derive(Deserialize)]
struct Initiator {
    r#type: String,
}

impl Requested {
    fn is_one_of(&self, kinds: &[&str]) -> bool {
        self.r#type.as_deref().is_some_and(|kind| kinds.contains(&kind))
    }

    /// Whether it is the page's icon: a browser asks for it when all is loaded, and no reader sees it. Nothing else of a document
    /// has neither a kind nor something in the page that wants it.
    fn is_icon(&self) -> bool {
        self.is_one_of(&["Other"])
            && self.initiator.as_ref().is_some_and(|by| by.r#type == "other")
            && self.loader_id.as_deref().is_some_and(|id| !id.is_empty())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    #[serde(default)]
    data_length: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Responded {
    r#type: String,
    frame_id: Option<String>,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    mime_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paused {
    request_id: String,
    frame_id: String,
    request: Address,
}

#[derive(Deserialize)]
struct Address {
    url: String,
}

#[derive(Deserialize)]
struct Navigated {
    frame: Frame,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    id: String,
    /// Its request has the same id.
    loader_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    target_info: Target,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    target_id: String,
    r#type: String,
    opener_id: Option<String>,
}

impl Seen {
    pub(crate) fn new(page: String) -> Seen {
        Seen {
            page,
            in_flight: HashSet::new(),
            changed: Instant::now(),
            has_fetched: false,
            requests: 0,
            documents: 0,
            bytes: 0,
            leads_to: String::new(),
            is_read: false,
            is_stopped: false,
            has_led_on: false,
            has_crashed: false,
            is_download: false,
            status: None,
            media_type: String::new(),
        }
    }

    /// Its target.
    pub(crate) fn page(&self) -> &str {
        &self.page
    }

    /// From when on the page counts as quiet, unless something comes; nothing while it waits for something.
    pub(crate) fn quiet_at(&self) -> Option<Instant> {
        let quiet = if self.has_fetched { FETCHING_QUIET } else { QUIET };
        (self.is_read && self.in_flight.is_empty()).then(|| self.changed + quiet)
    }

    /// Whether it is, or nothing more of it is to come.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_stopped || self.quiet_at().is_some_and(|at| at <= Instant::now())
    }

    /// Takes an event in. One that cannot be read is none that we need.
    pub(crate) fn take(&mut self, method: &str, params: &RawValue) -> Option<Reaction> {
        match method {
            "Network.requestWillBeSent" => self.requested(read(params)?),
            "Network.loadingFinished" | "Network.loadingFailed" => {
                let Requested { request_id, .. } = read(params)?;
                if self.in_flight.remove(&request_id) {
                    self.changed = Instant::now();
                }
                None
            }
            "Network.dataReceived" => {
                let Received { data_length } = read(params)?;
                // A count in a number of JavaScript; what is none is nothing.
                self.bytes = self.bytes.saturating_add(data_length as u64);
                if self.bytes > PAGE_BYTES_MAX { self.stop() } else { None }
            }
            "Network.responseReceived" => {
                self.responded(read(params)?);
                None
            }
            "Fetch.requestPaused" => self.paused(read(params)?),
            "Page.frameNavigated" => {
                let Navigated { frame } = read(params)?;
                if frame.id == self.page {
                    // What the last document wanted ends with it, and nobody says so.
                    self.in_flight.retain(|id| Some(id) == frame.loader_id.as_ref());
                    (self.is_read, self.has_fetched, self.changed) = (false, false, Instant::now());
                }
                None
            }
            "Page.domContentEventFired" => {
                (self.is_read, self.changed) = (true, Instant::now());
                None
            }
            // Scripts wait for it and begin then.
            "Page.loadEventFired" => {
                self.changed = Instant::now();
                None
            }
            "Page.javascriptDialogOpening" => {
                Reaction::of_page("Page.handleJavaScriptDialog", json!({ "accept": false }))
            }
            "Browser.downloadWillBegin" => {
                self.is_download = true;
                None
            }
            "Inspector.targetCrashed" => {
                self.has_crashed = true;
                None
            }
            "Target.targetCreated" => self.created(read(params)?),
            _ => None,
        }
    }

    fn requested(&mut self, requested: Requested) -> Option<Reaction> {
        if requested.is_one_of(&LASTING) || requested.is_icon() {
            return None;
        }
        self.has_fetched |= requested.is_one_of(&OF_SCRIPTS);
        self.requests += 1;
        if self.requests > REQUESTS_MAX || requested.request_id.len() > ID_BYTES_MAX {
            return self.stop();
        }
        self.in_flight.insert(requested.request_id);
        self.changed = Instant::now();
        None
    }

    fn responded(&mut self, Responded { r#type, frame_id, response }: Responded) {
        if r#type == "Document" && frame_id.as_ref() == Some(&self.page) {
            self.status = Some(response.status);
            self.media_type = response.mime_type;
        }
    }

    /// A document, of the page or of a frame in it.
    fn paused(&mut self, Paused { request_id, frame_id, request }: Paused) -> Option<Reaction> {
        let is_of_page = frame_id == self.page;
        self.documents += usize::from(is_of_page);
        // The first is the one that was asked for.
        if is_of_page && self.documents > LED_ON_MAX + 1 {
            self.has_led_on = true;
            let params = json!({ "requestId": request_id, "errorReason": "Aborted" });
            return Reaction::of_page("Fetch.failRequest", params);
        }
        let leads_to = is_of_page.then_some(request.url);
        if let Some(url) = &leads_to {
            self.leads_to.clone_from(url);
        }
        let reaction = Reaction::of_page("Fetch.continueRequest", json!({ "requestId": request_id }))?;
        Some(Reaction { leads_to, ..reaction })
    }

    /// Windows that the page opens are closed.
    fn created(&self, Created { target_info }: Created) -> Option<Reaction> {
        let is_window = target_info.r#type == "page" && target_info.target_id != self.page;
        (is_window && target_info.opener_id.is_some()).then(|| Reaction {
            method: "Target.closeTarget",
            params: json!({ "targetId": target_info.target_id }),
            is_of_page: false,
            leads_to: None,
        })
    }

    fn stop(&mut self) -> Option<Reaction> {
        let is_first = !std::mem::replace(&mut self.is_stopped, true);
        if is_first { Reaction::of_page("Page.stopLoading", json!({})) } else { None }
    }
}

fn read<T: DeserializeOwned>(params: &RawValue) -> Option<T> {
    serde_json::from_str(params.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(seen: &mut Seen, method: &str, params: &Value) -> Option<Reaction> {
        seen.take(method, &RawValue::from_string(params.to_string()).expect("JSON"))
    }

    fn told(reaction: Option<Reaction>) -> Option<(&'static str, Option<String>)> {
        reaction.map(|reaction| (reaction.method, reaction.leads_to))
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_quiet_once_it_is_read_and_waits_for_nothing() {
        let mut seen = Seen::new("P".to_owned());
        let request = |id: &str, kind: &str| json!({ "requestId": id, "type": kind });
        let steps = [
            ("Network.requestWillBeSent", request("1", "Document"), None),
            ("Network.loadingFinished", request("1", ""), None),
            ("Page.domContentEventFired", json!({}), Some(QUIET)),
            ("Network.requestWillBeSent", request("I", "Image"), None),
            ("Network.loadingFinished", request("I", ""), Some(QUIET)),
            ("Network.requestWillBeSent", request("2", "XHR"), None),
            // A redirect has the same id.
            ("Network.requestWillBeSent", request("2", "XHR"), None),
            ("Network.loadingFailed", request("2", ""), Some(FETCHING_QUIET)),
            ("Network.requestWillBeSent", request("3", "EventSource"), Some(FETCHING_QUIET)),
            ("Page.frameNavigated", json!({ "frame": { "id": "inner" } }), Some(FETCHING_QUIET)),
            ("Page.frameNavigated", json!({ "frame": { "id": "P" } }), None),
            ("Page.domContentEventFired", json!({}), Some(QUIET)),
            // It goes on to another document while the last still wants something.
            ("Network.requestWillBeSent", request("4", "Fetch"), None),
            ("Network.requestWillBeSent", request("L", "Document"), None),
            ("Page.frameNavigated", json!({ "frame": { "id": "P", "loaderId": "L" } }), None),
            ("Page.domContentEventFired", json!({}), None),
            ("Network.loadingFinished", request("L", ""), Some(QUIET)),
        ];
        for (method, params, quiet) in steps {
            assert_eq!(told(take(&mut seen, method, &params)), None);
            assert_eq!(seen.quiet_at(), quiet.map(|quiet| Instant::now() + quiet), "{method} {params}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_icon_is_not_waited_for_and_all_else_is() {
        for (kind, by, loader, is_waited_for) in [
            ("Other", "other", "L", false),
            // Scripts of workers, what is fetched ahead, and pictures.
            ("Other", "other", "", true),
            ("Script", "other", "", true),
            ("Other", "parser", "L", true),
            ("Other", "script", "L", true),
            ("Image", "other", "L", true),
        ] {
            let mut seen = Seen::new("P".to_owned());
            take(&mut seen, "Page.domContentEventFired", &json!({}));
            let request =
                json!({ "requestId": "1", "type": kind, "loaderId": loader, "initiator": { "type": by } });
            tokio::time::advance(QUIET).await;
            take(&mut seen, "Network.requestWillBeSent", &request);
            assert_eq!(!seen.is_quiet(), is_waited_for, "{request}");
            take(&mut seen, "Network.loadingFinished", &request);
            assert_eq!(!seen.is_quiet(), is_waited_for, "{request}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn scripts_that_wait_for_the_page_get_their_time() {
        let mut seen = Seen::new("P".to_owned());
        for method in ["Page.domContentEventFired", "Page.loadEventFired"] {
            take(&mut seen, method, &json!({}));
            tokio::time::advance(QUIET - Duration::from_millis(1)).await;
            assert!(!seen.is_quiet(), "{method}");
        }
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(seen.is_quiet());
    }

    #[tokio::test]
    async fn too_much_is_stopped_once() {
        let mut seen = Seen::new("P".to_owned());
        let data = json!({ "dataLength": PAGE_BYTES_MAX });
        assert_eq!(told(take(&mut seen, "Network.dataReceived", &data)), None);
        assert_eq!(told(take(&mut seen, "Network.dataReceived", &data)), Some(("Page.stopLoading", None)));
        assert_eq!(told(take(&mut seen, "Network.dataReceived", &data)), None);
        assert!(seen.is_stopped);
        let mut seen = Seen::new("P".to_owned());
        let all = (0..=REQUESTS_MAX).filter_map(|id| {
            take(&mut seen, "Network.requestWillBeSent", &json!({ "requestId": id.to_string() }))
        });
        assert_eq!(all.count(), 1);
    }

    #[tokio::test]
    async fn documents_go_on_but_not_for_ever() {
        let mut seen = Seen::new("P".to_owned());
        let paused = |frame: &str| json!({ "requestId": "r", "frameId": frame, "request": { "url": "http://a.test/" } });
        let on = Some(("Fetch.continueRequest", Some("http://a.test/".to_owned())));
        for _ in 0..=LED_ON_MAX {
            assert_eq!(told(take(&mut seen, "Fetch.requestPaused", &paused("P"))), on);
            assert_eq!(
                told(take(&mut seen, "Fetch.requestPaused", &paused("inner"))),
                Some(("Fetch.continueRequest", None))
            );
        }
        assert!(!seen.has_led_on);
        assert_eq!(
            told(take(&mut seen, "Fetch.requestPaused", &paused("P"))),
            Some(("Fetch.failRequest", None))
        );
        assert!(seen.has_led_on);
    }

    #[tokio::test]
    async fn dialogs_windows_downloads_and_garbage() {
        let mut seen = Seen::new("P".to_owned());
        let dialog =
            take(&mut seen, "Page.javascriptDialogOpening", &json!({ "message": "hi" })).expect("one");
        assert_eq!(
            (dialog.method, dialog.params),
            ("Page.handleJavaScriptDialog", json!({ "accept": false }))
        );
        for (id, kind, opener, is_closed) in [
            ("P", "page", None, false),
            ("Q", "page", Some("P"), true),
            ("Q", "page", None, false),
            ("Q", "service_worker", Some("P"), false),
        ] {
            let info = json!({ "targetInfo": { "targetId": id, "type": kind, "openerId": opener } });
            assert_eq!(take(&mut seen, "Target.targetCreated", &info).is_some(), is_closed, "{info}");
        }
        let response = json!({ "type": "Document", "frameId": "P", "response": { "status": 404, "mimeType": "text/html" } });
        assert_eq!(told(take(&mut seen, "Network.responseReceived", &response)), None);
        assert_eq!((seen.status, &*seen.media_type), (Some(404), "text/html"));
        for garbage in [json!(null), json!([]), json!({ "requestId": 7 }), json!({ "frame": {} })] {
            for method in
                ["Network.requestWillBeSent", "Fetch.requestPaused", "Page.frameNavigated", "No.such"]
            {
                assert_eq!(told(take(&mut seen, method, &garbage)), None, "{method} {garbage}");
            }
        }
        assert!(!seen.is_download && !seen.has_crashed);
        take(&mut seen, "Browser.downloadWillBegin", &json!({}));
        take(&mut seen, "Inspector.targetCrashed", &json!({}));
        assert!(seen.is_download && seen.has_crashed);
    }
}
