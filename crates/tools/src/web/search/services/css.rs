//! `Selectors`: where the results are on a page for people, for a service that the configuration describes. A worker reads the
//! page.

use selectors::{Condition, Selector, Test};

use crate::web::search::service::{HITS_MAX, Hit, Unreadable};

/// Each of them has been read once, and has no line break in it.
pub(in crate::web::search) struct Selectors {
    items: String,
    title: String,
    link: String,
    /// The attribute that is the address.
    attribute: String,
    snippet: String,
}

/// The keys of its parts, and what they are where nothing is said.
const TITLE: &str = "a[href]";
const LINK: &str = "a[href]";
const ATTRIBUTE: &str = "href";
const SNIPPET: &str = "p";

impl Selectors {
    /// Reads what is written of each.
    ///
    /// # Errors
    /// One of them is none: its key, and why.
    pub(in crate::web::search) fn read(
        items: &str,
        [title, link, attribute, snippet]: [Option<&str>; 4],
    ) -> Result<Selectors, (&'static str, String)> {
        let sound = |key: &'static str, text: &str| match Selector::parse(text) {
            Ok(_) => Ok(text.to_owned()),
            Err(error) => Err((key, format!("is no selector: {error}"))),
        };
        let attribute = attribute.unwrap_or(ATTRIBUTE);
        if !is_name(attribute) {
            return Err(("link_attribute", "is no name of an attribute, such as href".to_owned()));
        }
        Ok(Selectors {
            items: sound("items", items)?,
            title: sound("title", title.unwrap_or(TITLE))?,
            link: sound("link", link.unwrap_or(LINK))?,
            attribute: attribute.to_ascii_lowercase(),
            snippet: sound("snippet", snippet.unwrap_or(SNIPPET))?,
        })
    }

    /// What a worker is told of them.
    pub(super) fn lines(&self) -> String {
        let Selectors { items, title, link, attribute, snippet } = self;
        format!("{items}\n{title}\n{link}\n{attribute}\n{snippet}\n")
    }

    /// What a worker has found by them: three lines for each result.
    pub(super) fn hits(answer: &[u8]) -> Result<Vec<Hit>, Unreadable> {
        let said = std::str::from_utf8(answer).map_err(|_| "answers with what is no text".to_owned())?;
        let lines: Vec<&str> = said.lines().collect();
        let hit = |lines: &[&str]| match lines {
            [title, url, snippet] => Some(Hit {
                title: (*title).to_owned(),
                url: (*url).to_owned(),
                snippet: (*snippet).to_owned(),
            }),
            _ => None,
        };
        Ok(lines.chunks(3).filter_map(hit).take(HITS_MAX).collect())
    }
}

/// Whether this is the name of an attribute and nothing else.
fn is_name(text: &str) -> bool {
    let selector = Selector::parse(&format!("[{text}]"));
    let whole = Condition { attribute: text.to_owned(), test: Test::Exists };
    selector.is_ok_and(|read| match &read.alternatives[..] {
        [steps] => matches!(&steps[..], [step] if step.compound.conditions == [whole]),
        _ => false,
    })
}
