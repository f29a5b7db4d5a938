//! `Asked`: asks all services at once, each for as long as it may take, and keeps what becomes of it.

use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use encoding_rs::Encoding;
use flate2::read::GzDecoder;
use futures_util::future::{BoxFuture, join_all};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use tokio::time::{Instant, timeout, timeout_at};
use tool_api::{Net, Processes, ToolError};

use super::answer::{Found, State, Told, told};
use super::breaker::Breaker;
use super::cache::Cache;
use super::merge::merged;
use super::service::Hit;
use super::settings::{Configured, Settings};
use crate::web::conversion::{Conversion, Wanted};
use crate::web::plain::encoding;

/// The largest answer of a service, as it comes and unpacked: ten hits with their texts have a tenth of it.
const ANSWER_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Answers up to this size are read where they come; longer ones where they hold up nobody.
const READ_AT_ONCE_BYTES: usize = 32 * 1024;

/// How much of a service's words an error repeats, in characters.
const WHY_CHARS_MAX: usize = 200;

/// What is asked, and how the services have done so far.
pub(super) struct Asked {
    settings: Settings,
    breakers: Vec<Mutex<Breaker>>,
    cache: Mutex<Cache>,
}

/// Why a service gave nothing.
#[derive(Debug)]
struct Gave {
    state: State,
    /// Completes "it …".
    why: String,
    /// What it counts for.
    counts: Counts,
}

#[derive(Debug, Clone, Copy)]
enum Counts {
    /// The service is in trouble.
    Failure,
    /// It wants not to be asked for a while.
    Rest(Option<Duration>),
    /// It is there.
    Nothing,
}

/// What a service answers, whole.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) is_packed: bool,
    /// How its text is written.
    pub(super) encoding: &'static Encoding,
    pub(super) body: Bytes,
}

/// Whoever sends a request and takes its answer.
pub(super) trait Sends: Sync {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, String>>;

    /// What a worker finds on a page, behind the lines that say what to look for.
    fn results(&self, page: String, base: String) -> BoxFuture<'_, Result<String, String>>;
}

/// By the hands of a call.
pub(super) struct ByHand<'n> {
    pub(super) net: &'n dyn Net,
    /// Those are asked for where a service answers in pages.
    pub(super) processes: &'n dyn Processes,
}

impl Sends for ByHand<'_> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, String>> {
        Box::pin(self.whole(request))
    }

    fn results(&self, page: String, base: String) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let read = Conversion::made(Wanted::Results(page), &base, self.processes).await;
            read.map(|read| read.content).map_err(|error| error.to_string())
        })
    }
}

impl ByHand<'_> {
    async fn whole(&self, request: Request<Bytes>) -> Result<Answer, String> {
        let answer = self.net.send(request).await.map_err(|error| format!("was not reached: {error}"))?;
        let (status, retry_after) = (answer.status(), retry_after(&answer));
        let is_packed = answer.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "gzip");
        let encoding = encoding(answer.headers());
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => too_large(),
            false => "broke off in the middle of its answer".to_owned(),
        })?;
        Ok(Answer { status, retry_after, is_packed, encoding, body: body.to_bytes() })
    }
}

fn too_large() -> String {
    format!("answers with more than {} MiB", ANSWER_BYTES_MAX / (1024 * 1024))
}

/// The seconds that a service asks for.
fn retry_after<B>(answer: &Response<B>) -> Option<Duration> {
    let seconds = answer.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Asks each service once, whatever it has answered before, and tells how it did.
pub async fn probe(settings: &Settings, query: &str, net: &dyn Net, processes: &dyn Processes) -> Vec<Told> {
    let asked = Asked::new(settings.clone());
    asked.each(query, &ByHand { net, processes }).await.into_iter().map(|(told, _)| told).collect()
}

impl Asked {
    pub(super) fn new(settings: Settings) -> Asked {
        let breakers = settings.services.iter().map(|_| Mutex::default()).collect();
        Asked { settings, breakers, cache: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Everything that the services find within their time.
    ///
    /// # Errors
    /// None of them answers.
    pub(super) async fn search(&self, query: &str, net: &dyn Sends) -> Result<Found, ToolError> {
        let (services, hits): (Vec<Told>, Vec<Arc<[Hit]>>) = self.each(query, net).await.into_iter().unzip();
        if services.iter().all(|told| told.state != State::Answered) {
            let how = told(&services);
            let message = format!("no search service answered; try again later, or go on without. {how}");
            let details = serde_json::to_value(&services).unwrap_or_default();
            return Err(ToolError::new("no_answer", message).with_details(details));
        }
        let lists = services.iter().zip(&hits).map(|(told, hits)| (&*told.name, &**hits));
        Ok(Found { pages: merged(lists), services })
    }

    /// What each service says, in their order.
    async fn each(&self, query: &str, net: &dyn Sends) -> Vec<(Told, Arc<[Hit]>)> {
        let one = |nth: usize| async move {
            let configured = &self.settings.services[nth];
            let name = configured.service.name().to_owned();
            match self.one(nth, query, net).await {
                Ok(hits) => {
                    let (pages, state) = (hits.len(), State::Answered);
                    (Told { name, state, pages, why: None }, hits)
                }
                Err(Gave { state, why, .. }) => {
                    (Told { name, state, pages: 0, why: Some(why) }, Arc::default())
                }
            }
        };
        join_all((0..self.settings.services.len()).map(one)).await
    }

    async fn one(&self, nth: usize, query: &str, net: &dyn Sends) -> Result<Arc<[Hit]>, Gave> {
        if let Some(hits) = locked(&self.cache).found(nth, query) {
            return Ok(hits);
        }
        if let Some(left) = locked(&self.breakers[nth]).rests() {
            let why = format!("it rests for {} s more", left.as_millis().div_ceil(1_000));
            return Err(Gave { state: State::Resting, why, counts: Counts::Nothing });
        }
        let configured = &self.settings.services[nth];
        // All begin at once, so the earlier of both times is the end.
        let (time, end) =
            (configured.timeout.min(self.settings.deadline), Instant::now() + self.settings.deadline);
        let answered = timeout(time, ask(&self.settings, nth, query, net)).await;
        let answered = answered.unwrap_or_else(|_| {
            let why = format!("said nothing within {} ms", time.as_millis());
            Err(Gave { state: State::Silent, why, counts: Counts::Failure })
        });
        let asked = match answered {
            Ok((answer, base)) => {
                let hits = timeout_at(end, hits(&self.settings, nth, answer, base, net)).await;
                hits.unwrap_or_else(|_| Err(unread(" in time")))
            }
            Err(gave) => Err(gave),
        };
        let mut breaker = locked(&self.breakers[nth]);
        match &asked {
            Ok(hits) => {
                breaker.answered();
                locked(&self.cache).keep(nth, query, hits);
            }
            Err(Gave { counts: Counts::Failure, .. }) => breaker.failed(),
            Err(Gave { counts: Counts::Rest(asked_for), .. }) => breaker.refused(*asked_for),
            Err(Gave { counts: Counts::Nothing, .. }) => breaker.answered(),
        }
        asked
    }
}

fn failed(why: &str, counts: Counts) -> Gave {
    Gave { state: State::Failed, why: short(why), counts }
}

/// What its service cannot help: it may be that we have no worker, or that others wait for one.
fn unread(why: &str) -> Gave {
    failed(&format!("answered, but that was not read{why}"), Counts::Nothing)
}

/// Asks one service. Beside its answer comes the address that was asked.
async fn ask(
    settings: &Settings,
    nth: usize,
    query: &str,
    net: &dyn Sends,
) -> Result<(Answer, String), Gave> {
    let Configured { service, at, .. } = &settings.services[nth];
    let request = service.ask(at, query).request();
    let request = request.map_err(|error| failed(&error.to_string(), Counts::Nothing))?;
    let base = request.uri().to_string();
    let answer = net.send(request).await.map_err(|why| failed(&why, Counts::Failure))?;
    match refused(&answer) {
        Some((why, counts)) => Err(failed(&why, counts)),
        None => Ok((answer, base)),
    }
}

/// What an answer has in it.
async fn hits(
    settings: &Settings,
    nth: usize,
    answer: Answer,
    base: String,
    net: &dyn Sends,
) -> Result<Arc<[Hit]>, Gave> {
    let unreadable = |why: String| failed(&why, Counts::Failure);
    let answer = match settings.services[nth].service.looks_for() {
        None => answer,
        Some(lines) => {
            let page =
                elsewhere(move || text(&answer).map(|page| lines + &page)).await.map_err(unreadable)?;
            let results = net.results(page, base).await;
            Answer::plain(results.map_err(|why| unread(&format!(": {why}")))?)
        }
    };
    let (settings, is_long) = (settings.clone(), answer.body.len() > READ_AT_ONCE_BYTES || answer.is_packed);
    let read = move || {
        let Configured { service, at, .. } = &settings.services[nth];
        service.hits(at, &unpacked(&answer)?)
    };
    let hits = if is_long { elsewhere(read).await } else { read() };
    hits.map(Arc::from).map_err(unreadable)
}

/// Does what takes a while where it holds up nobody.
async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err("cannot be read".to_owned()))
}

/// An answer as text.
fn text(answer: &Answer) -> Result<String, String> {
    Ok(answer.encoding.decode(&unpacked(answer)?).0.into_owned())
}

impl Answer {
    /// One that came of another.
    fn plain(text: String) -> Answer {
        let (status, encoding) = (StatusCode::OK, encoding_rs::UTF_8);
        Answer { status, retry_after: None, is_packed: false, encoding, body: text.into() }
    }
}

/// Why an answer is none.
fn refused(answer: &Answer) -> Option<(String, Counts)> {
    let status = answer.status;
    if status.is_success() {
        return None;
    }
    let why = format!("answers with {status}");
    Some(match status {
        _ if status.is_redirection() => {
            let more = "which leads elsewhere and is not followed; set its `url`";
            (format!("{why}, {more}"), Counts::Nothing)
        }
        StatusCode::TOO_MANY_REQUESTS => (why, Counts::Rest(answer.retry_after)),
        StatusCode::SERVICE_UNAVAILABLE if answer.retry_after.is_some() => {
            (why, Counts::Rest(answer.retry_after))
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            (format!("{why}; look at its key, and at what it allows"), Counts::Nothing)
        }
        _ if status.is_server_error() => (why, Counts::Failure),
        _ => (why, Counts::Nothing),
    })
}

/// The answer as it is meant; one that is larger unpacked than any may be is none.
fn unpacked(answer: &Answer) -> Result<Bytes, String> {
    if !answer.is_packed {
        return Ok(answer.body.clone());
    }
    let mut whole = Vec::new();
    let most = ANSWER_BYTES_MAX as u64 + 1;
    let read = GzDecoder::new(&*answer.body).take(most).read_to_end(&mut whole);
    match read {
        Err(_) => Err("answers with what cannot be unpacked".to_owned()),
        Ok(_) if whole.len() > ANSWER_BYTES_MAX => Err(too_large()),
        Ok(_) => Ok(whole.into()),
    }
}

/// On one line.
fn short(why: &str) -> String {
    let why = tool_api::PlainText::of(why.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ");
    why.chars().take(WHY_CHARS_MAX).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
