//! The text of a PDF, page by page. What reads it gives up on broken files by a panic now and then, and that costs one page.

mod layout;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pdf_extract::{Document, decode_text_string, output_doc_page};

use crate::fault::Fault;
use crate::read::Read;
use layout::Layout;

/// Pages that are read.
const PAGES_MAX: u32 = 500;

/// What they may say together, in bytes.
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// When no further page is begun: what has been read is worth more than what is to come, and the process ends soon after.
const BEGIN_MAX: Duration = Duration::from_secs(8);

/// Each page below a heading with its number.
pub(crate) fn text(file: &[u8]) -> Result<Read, Fault> {
    let begun = Instant::now();
    let document = document(file)?;
    let pages = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    let (mut content, mut shows_text, mut number) = (String::new(), false, 0);
    while number < pages {
        if number >= PAGES_MAX || content.len() > TEXT_BYTES_MAX || begun.elapsed() > BEGIN_MAX {
            content += &format!("[only the first {number} of {pages} pages have been read]\n");
            break;
        }
        number += 1;
        let page = page(&document, number);
        shows_text |= page.as_ref().is_some_and(|text| !text.is_empty());
        let text = match &page {
            Some(text) if text.is_empty() => "[this page shows no text]",
            Some(text) => text,
            None => "[this page cannot be read]",
        };
        content += &format!("## Page {number}\n\n{text}\n\n");
    }
    match (pages, shows_text) {
        (0, _) => Err(Fault::NoPages),
        (_, false) => Err(Fault::NoText { read: number, of: pages }),
        (_, true) => Ok(Read { title: title(&document), content, ..Read::default() }),
    }
}

/// One that is only encrypted against being changed is read: anyone may.
fn document(file: &[u8]) -> Result<Document, Fault> {
    let document = Document::load_mem(file).map_err(|_| Fault::Pdf)?;
    // It is taken away where no password was needed.
    match document.trailer.get(b"Encrypt") {
        Ok(_) => Err(Fault::Encrypted),
        Err(_) => Ok(document),
    }
}

/// What a page says; nothing if it cannot be read.
fn page(document: &Document, number: u32) -> Option<String> {
    let read = || {
        let mut layout = Layout::default();
        output_doc_page(document, &mut layout, number).ok().map(|()| layout.text())
    };
    catch_unwind(AssertUnwindSafe(read)).ok()?
}

fn title(document: &Document) -> String {
    let info = document.trailer.get(b"Info").and_then(|info| document.dereference(info));
    let title = info.and_then(|(_, info)| info.as_dict()?.get(b"Title").and_then(decode_text_string));
    // Many have none.
    title.unwrap_or_default()
}

#[cfg(test)]
mod tests;
