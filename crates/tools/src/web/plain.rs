//! What an address is as its server sends it: a PDF, which no browser shows us, or a page where there is no browser. No script
//! runs, and nothing else is loaded.

use bytes::{Bytes, BytesMut};
use encoding_rs::{Encoding, UTF_8};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::sync::{Semaphore, SemaphorePermit};
use tool_api::{Body, Context, NOT_A_PAGE, Page, ToolError, no_page};
use url::Url;

use super::html;

/// How often a server may lead on to another address.
const REDIRECTS_MAX: usize = 10;

/// The largest page, in bytes.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The largest PDF, in bytes.
const PDF_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Answers that are taken at once, until they have been read. All workspaces share the memory of one process, and so these. Who
/// waits for a person or for a server's first word has none of them.
static PLACES: Semaphore = Semaphore::const_new(4);

/// How a PDF begins, whatever its server calls it.
const PDF_BEGINS: &[u8] = b"%PDF-";

/// Its media type.
const PDF: &str = "application/pdf";

/// Who asks. Some servers answer nobody without a name.
const AGENT: &str = "Mozilla/5.0 (compatible; Toolcrib)";

/// What has come.
pub(super) struct Fetched {
    pub(super) page: Page,
    /// Of a PDF, the file; its page has no HTML.
    pub(super) pdf: Option<Bytes>,
    /// What was fetched has one as long as it is there.
    pub(super) _place: Option<SemaphorePermit<'static>>,
}

/// Asks for an address, and follows where it leads.
pub(super) async fn fetch(mut url: Url, cx: &Context) -> Result<Fetched, ToolError> {
    for _ in 0..=REDIRECTS_MAX {
        let request = Request::get(url.as_str())
            .header(header::USER_AGENT, AGENT)
            .header(header::ACCEPT, "text/html, text/plain;q=0.9, */*;q=0.5")
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Bytes::new());
        let request = request.map_err(|error| ToolError::new("invalid_arguments", error.to_string()))?;
        let answer = cx.net()?.send(request).await?;
        match redirect(answer.status(), answer.headers(), &url)? {
            Some(next) => url = next,
            None => return fetched(url, answer, cx).await,
        }
    }
    let why = format!("the page leads on to others more than {REDIRECTS_MAX} times");
    Err(ToolError::new("no_answer", why))
}

fn redirect(status: StatusCode, headers: &HeaderMap, from: &Url) -> Result<Option<Url>, ToolError> {
    let Some(to) = headers.get(header::LOCATION).filter(|_| status.is_redirection()) else { return Ok(None) };
    let to = to.to_str().ok().and_then(|to| from.join(to).ok());
    match to.filter(|to| matches!(to.scheme(), "http" | "https")) {
        Some(to) => Ok(Some(to)),
        None => Err(ToolError::new("no_answer", "the page leads on to what is no address of the web")),
    }
}

async fn fetched(url: Url, answer: Response<Body>, cx: &Context) -> Result<Fetched, ToolError> {
    let (parts, body) = answer.into_parts();
    let media_type = media_type(&parts.headers);
    let place = Some(PLACES.acquire().await.map_err(|_| ToolError::cancelled())?);
    let body = whole(body, parts.status, &media_type).await?;
    if body.starts_with(PDF_BEGINS) {
        let (url, status) = (url.to_string(), Some(parts.status.as_u16()));
        let page = Page { url, status, media_type: PDF.to_owned(), ..Page::default() };
        return Ok(Fetched { page, pdf: Some(body), _place: place });
    }
    let page = cx.blocking(move || Ok(read(url, parts.status, media_type, &parts.headers, &body))).await?;
    Ok(Fetched { page, pdf: None, _place: place })
}

fn media_type(headers: &HeaderMap) -> String {
    let said = headers.get(header::CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or("text/html");
    said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || html::is_html(media_type)
        || ["json", "xml", "yaml", "javascript"].iter().any(|kind| media_type.ends_with(kind))
}

/// All of an answer.
///
/// # Errors
/// It is neither text nor a PDF, which its beginning tells, it is too large, or its status says that there is none.
async fn whole(mut body: Body, status: StatusCode, media_type: &str) -> Result<Bytes, ToolError> {
    let mut bytes = BytesMut::new();
    let is_pdf = |bytes: &BytesMut| bytes.starts_with(PDF_BEGINS);
    while let Some(frame) = body.frame().await {
        let broke_off = |error| ToolError::new("no_answer", format!("the page broke off: {error}"));
        let Ok(piece) = frame.map_err(broke_off)?.into_data() else { continue };
        bytes.extend_from_slice(&piece);
        if bytes.len() > PDF_BYTES_MAX {
            return Err(ToolError::new("too_large", "the PDF has more than 32 MiB"));
        }
        if bytes.len() > PAGE_BYTES_MAX && !is_pdf(&bytes) {
            let why = "the page has more than 4 MiB, and there is no browser to read its beginning";
            return Err(ToolError::new(NOT_A_PAGE, why));
        }
        if bytes.len() >= PDF_BEGINS.len() && !is_pdf(&bytes) && !is_text(media_type) {
            break;
        }
    }
    if let Some(error) = no_page(status.as_u16()).filter(|_| bytes.is_empty()) {
        return Err(error);
    }
    if is_text(media_type) || is_pdf(&bytes) {
        return Ok(bytes.freeze());
    }
    Err(ToolError::new(
        NOT_A_PAGE,
        match media_type {
            PDF => "the address says that it is a PDF, and what it sends is none".to_owned(),
            other => format!("the address is no page, but {other}"),
        },
    ))
}

fn read(url: Url, status: StatusCode, media_type: String, headers: &HeaderMap, body: &[u8]) -> Page {
    let text = encoding(headers).decode(body).0.into_owned();
    let html = if html::is_html(&media_type) { text } else { html::as_html(&text) };
    let base = url.to_string();
    Page { url: base.clone(), base, status: Some(status.as_u16()), media_type, html, ..Page::default() }
}

/// How text is written, by what its server says.
pub(super) fn encoding(headers: &HeaderMap) -> &'static Encoding {
    let said = headers.get(header::CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    let charset = said.split("charset=").nth(1).map(|name| name.trim_matches(['"', ' ', ';']));
    charset.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8)
}
