//! A page as its server sends it, where there is no browser: no script runs, and nothing else is loaded.

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tool_api::{Context, Page, ToolError};
use url::Url;

use super::html;

/// How often a server may lead on to another address.
const REDIRECTS_MAX: usize = 10;

/// The largest page, in bytes.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Who asks. Some servers answer nobody without a name.
const AGENT: &str = "Mozilla/5.0 (compatible; Toolcrib)";

/// Asks for a page, and follows where it leads.
pub(super) async fn page(mut url: Url, cx: &Context) -> Result<Page, ToolError> {
    for _ in 0..=REDIRECTS_MAX {
        let request = Request::get(url.as_str())
            .header(header::USER_AGENT, AGENT)
            .header(header::ACCEPT, "text/html, text/plain;q=0.9, */*;q=0.5")
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Bytes::new());
        let request = request.map_err(|error| ToolError::new("invalid_arguments", error.to_string()))?;
        let answer = cx.net()?.send(request).await?;
        let (parts, body) = answer.into_parts();
        match redirect(parts.status, &parts.headers, &url)? {
            Some(next) => url = next,
            None => {
                let media_type = media_type(&parts.headers)?;
                let body = Limited::new(body, PAGE_BYTES_MAX).collect().await.map_err(not_read)?.to_bytes();
                return cx
                    .blocking(move || Ok(read(url, parts.status, media_type, &parts.headers, &body)))
                    .await;
            }
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

/// # Errors
/// It is no text.
fn media_type(headers: &HeaderMap) -> Result<String, ToolError> {
    let said = headers.get(header::CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or("text/html");
    let media_type = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = media_type.starts_with("text/")
        || ["json", "xml", "yaml", "javascript"].iter().any(|kind| media_type.ends_with(kind));
    match is_text || html::is_html(&media_type) {
        true => Ok(media_type),
        false => Err(ToolError::new("not_a_page", format!("the address is no page, but {media_type}"))),
    }
}

fn not_read(error: Box<dyn std::error::Error + Send + Sync>) -> ToolError {
    match error.is::<LengthLimitError>() {
        true => ToolError::new(
            "not_a_page",
            "the page has more than 4 MiB, and there is no browser to read its beginning",
        ),
        false => ToolError::new("no_answer", format!("the page broke off: {error}")),
    }
}

fn read(url: Url, status: StatusCode, media_type: String, headers: &HeaderMap, body: &[u8]) -> Page {
    let said = headers.get(header::CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    let charset = said.split("charset=").nth(1).map(|name| name.trim_matches(['"', ' ', ';']));
    let encoding = charset.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8);
    let text = encoding.decode(body).0.into_owned();
    let html = if html::is_html(&media_type) { text } else { html::as_html(&text) };
    let base = url.to_string();
    Page { url: base.clone(), base, status: Some(status.as_u16()), media_type, html, ..Page::default() }
}
