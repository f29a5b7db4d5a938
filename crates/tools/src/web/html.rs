//! What is HTML, and HTML that shows what is none.

/// Whether a document of this media type is HTML.
pub(super) fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

/// Text as HTML that shows it.
pub(super) fn as_html(text: &str) -> String {
    format!("<pre>{}</pre>", text.replace('&', "&amp;").replace('<', "&lt;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_and_never_read_as_tags() {
        assert_eq!(as_html("{\"a\": \"<b>&amp;\"}"), "<pre>{\"a\": \"&lt;b>&amp;amp;\"}</pre>");
        assert!(is_html("application/xhtml+xml") && !is_html("text/plain"));
    }
}
