//! What a page looks like in an answer: its title, where it is, what to know about it, and as much of it as suits one answer.

use tool_api::{ARTIFACT_READ, ARTIFACT_SEARCH, Artifact, Context, Page, TEXT, ToolError};

/// The most that is shown of a page, in characters: some 25,000 tokens.
const SHOWN_CHARS_MAX: usize = 100_000;

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 300;

/// What the whole of a long page is called.
const NAME: &str = "page.txt";

/// The answer.
pub(super) async fn shown(
    page: &Page,
    without_browser: Option<&str>,
    content: String,
    cx: &Context,
) -> Result<String, ToolError> {
    let mut text = head(page, without_browser);
    text.push('\n');
    // Before it is cut: half a secret is not known as one any more.
    let content = match cx.secrets.as_ref().map(|secrets| secrets.striking()) {
        Some(mut striking) => {
            let mut clean = striking.push(content.as_bytes());
            clean.extend(striking.finish());
            String::from_utf8_lossy(&clean).into_owned()
        }
        None => content,
    };
    let shown = content.char_indices().nth(SHOWN_CHARS_MAX).map_or(&*content, |(end, _)| &content[..end]);
    text.push_str(if content.trim().is_empty() { "[the page shows no text]" } else { shown });
    if shown.len() < content.len() {
        text.push_str(&rest(&content, shown.len(), cx).await);
    }
    Ok(text)
}

/// The lines above the content.
fn head(page: &Page, without_browser: Option<&str>) -> String {
    let title: String =
        page.title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE_CHARS_MAX).collect();
    let title = if title.is_empty() { "[no title]".to_owned() } else { title };
    let status = page.status.filter(|status| !(200..300).contains(status));
    let blocked = (!page.blocked.is_empty())
        .then(|| format!("[not loaded, since nobody has allowed these hosts: {}]", page.blocked.join(", ")));
    let notes = [
        status.map(|status| format!("[the server answered with status {status}]")),
        without_browser.map(|why| format!("[read without a browser, so no script has run: {why}]")),
        page.is_cut.then(|| "[the page is too large; this is its beginning]".to_owned()),
        page.is_unfinished.then(|| {
            "[the page was still loading when it was read; a larger wait_ms may show more]".to_owned()
        }),
        blocked,
    ];
    let lines = [title, page.url.clone()].into_iter().chain(notes.into_iter().flatten());
    lines.map(|line| line + "\n").collect()
}

/// Keeps the whole, and says where.
async fn rest(content: &str, shown_bytes: usize, cx: &Context) -> String {
    let size = format!("{} of {} bytes are shown", shown_bytes, content.len());
    match keep(content, cx).await {
        Ok(Artifact { id, .. }) => format!(
            "\n[{size}. To read on, call {ARTIFACT_READ} with id: \"{id}\", offset: {shown_bytes}; to find something, call \
             {ARTIFACT_SEARCH} with this id.]"
        ),
        Err(error) => format!("\n[{size}, and the whole could not be kept: {error}.]"),
    }
}

async fn keep(content: &str, cx: &Context) -> Result<Artifact, ToolError> {
    let mut writer = cx.artifacts()?.create(NAME, TEXT).await?;
    writer.write(content.to_owned().into()).await?;
    writer.finish().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_address_come_first_and_what_to_know_follows() {
        let page = Page {
            url: "http://a.test/".to_owned(),
            title: " A\n title ".to_owned(),
            status: Some(200),
            ..Page::default()
        };
        assert_eq!(head(&page, None), "A title\nhttp://a.test/\n");
        let page = Page {
            title: "x".repeat(1000),
            status: Some(404),
            is_cut: true,
            is_unfinished: true,
            blocked: vec!["b.test:443".to_owned(), "c.test:80".to_owned()],
            ..page
        };
        let told = head(&page, Some("there is none"));
        let expected = [
            &*"x".repeat(TITLE_CHARS_MAX),
            "http://a.test/",
            "[the server answered with status 404]",
            "[read without a browser, so no script has run: there is none]",
            "[the page is too large; this is its beginning]",
            "[the page was still loading when it was read; a larger wait_ms may show more]",
            "[not loaded, since nobody has allowed these hosts: b.test:443, c.test:80]",
        ];
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
        assert_eq!(head(&Page::default(), None), "[no title]\n\n");
    }
}
