//! What a page looks like in an answer: its title, where it is, what to know about it, and as much of it as suits one answer.
//! All of it is others' text, and so is made plain first, and then is without secrets: of what has been cut, nobody knows any
//! more that it was one.

use tool_api::{
    ARTIFACT_READ, ARTIFACT_SEARCH, Artifact, Context, Page, PlainText, Secrets, TEXT, ToolError,
};
use url::Url;

/// The longest title, and the longest reason for something, in characters.
const LINE_CHARS_MAX: usize = 300;

/// The longest address, in characters.
const ADDRESS_CHARS_MAX: usize = 2 * 1024;

/// What the whole of a long page is called.
const NAME: &str = "page.txt";

/// A page as it is shown, whole.
pub(super) struct Shown {
    head: String,
    content: String,
}

/// Makes a page fit to be shown. It takes a while for a long one.
pub(super) fn shown(
    page: &Page,
    without_browser: Option<&str>,
    content: &str,
    secrets: Option<&dyn Secrets>,
) -> Shown {
    Shown { head: head(page, without_browser, secrets), content: clean(content, secrets) }
}

/// The answer, with at most so many bytes of the page.
pub(super) async fn answer(Shown { head, content }: Shown, bytes_max: usize, cx: &Context) -> String {
    let shown = &content[..content.floor_char_boundary(bytes_max)];
    let mut text = head + "\n";
    text.push_str(if content.trim().is_empty() { "[the page shows no text]" } else { shown });
    if shown.len() < content.len() {
        text.push_str(&rest(&content, shown.len(), cx).await);
    }
    text
}

fn clean(text: &str, secrets: Option<&dyn Secrets>) -> String {
    let plain = PlainText::of(text.as_bytes());
    let Some(mut striking) = secrets.map(Secrets::striking) else { return plain };
    let mut clean = striking.push(plain.as_bytes());
    clean.extend(striking.finish());
    String::from_utf8_lossy(&clean).into_owned()
}

/// The lines above the content.
fn head(page: &Page, without_browser: Option<&str>, secrets: Option<&dyn Secrets>) -> String {
    let line = |text: &str, chars_max: usize| -> String {
        let words = clean(text, secrets);
        words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(chars_max).collect()
    };
    let title = line(&page.title, LINE_CHARS_MAX);
    let title = if title.is_empty() { "[no title]".to_owned() } else { title };
    // Once parsed, it has nothing in it that is not part of an address.
    let address = Url::parse(&page.url).map_or_else(|_| page.url.clone(), String::from);
    let status = page.status.filter(|status| !(200..300).contains(status));
    let blocked = (!page.blocked.is_empty())
        .then(|| format!("[not loaded, since nobody has allowed these hosts: {}]", page.blocked.join(", ")));
    let closed = (page.closed_roots > 0)
        .then(|| format!("[closed shadow roots, whose content is left out: {}]", page.closed_roots));
    let addresses = page.frame_addresses.iter().map(|address| line(address, LINE_CHARS_MAX));
    let addresses = addresses.map(|address| format!(", {address}")).collect::<String>();
    let frames = (page.other_frames > 0).then(|| {
        let how = if addresses.is_empty() { "" } else { "; each is a page to be read by its address" };
        let which = if without_browser.is_some() { "frames" } else { "frames of other origins" };
        format!("[{which}, left out: {}{addresses}{how}]", page.other_frames)
    });
    let notes = [
        status.map(|status| format!("[the server answered with status {status}]")),
        without_browser.map(|why| {
            format!("[read without a browser, so no script has run: {}]", line(why, LINE_CHARS_MAX))
        }),
        page.is_cut.then(|| "[the page is too large; this is its beginning]".to_owned()),
        page.is_unfinished.then(|| {
            "[the page was still loading when it was read; a larger wait_ms may show more]".to_owned()
        }),
        closed,
        frames,
        blocked,
    ];
    let lines = [title, line(&address, ADDRESS_CHARS_MAX)].into_iter().chain(notes.into_iter().flatten());
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
        let head = |page: &Page, why: Option<&str>| head(page, why, None);
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
            closed_roots: 2,
            other_frames: 3,
            frame_addresses: vec!["http://d.test/".to_owned(), "http://e.test/".to_owned()],
            ..page
        };
        let told = head(&page, Some("there is none"));
        let expected = [
            &*"x".repeat(LINE_CHARS_MAX),
            "http://a.test/",
            "[the server answered with status 404]",
            "[read without a browser, so no script has run: there is none]",
            "[the page is too large; this is its beginning]",
            "[the page was still loading when it was read; a larger wait_ms may show more]",
            "[closed shadow roots, whose content is left out: 2]",
            "[frames, left out: 3, http://d.test/, http://e.test/; each is a page to be read by its address]",
            "[not loaded, since nobody has allowed these hosts: b.test:443, c.test:80]",
        ];
        assert_eq!(told.lines().collect::<Vec<_>>(), expected);
        let told = head(&page, None);
        assert!(told.contains("\n[frames of other origins, left out: 3, "), "{told}");
        assert_eq!(head(&Page::default(), None), "[no title]\n\n");
    }

    #[test]
    fn what_drives_a_terminal_or_goes_on_and_on_is_left_out() {
        let page = Page {
            url: format!("http://a.test/\n{}", "x".repeat(5000)),
            title: "\u{1b}[2JA\u{1b}]0;b\u{7}".to_owned(),
            ..Page::default()
        };
        let shown =
            shown(&page, Some(&format!("a\nb {}", "c".repeat(1000))), "\u{1b}[31mred\u{202e}\n", None);
        let lines: Vec<_> = shown.head.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[1].len()), (3, "A", ADDRESS_CHARS_MAX));
        assert!(lines[2].contains("a b c") && lines[2].len() < LINE_CHARS_MAX + 60, "{}", lines[2]);
        assert_eq!(shown.content, "red\n");
    }
}
