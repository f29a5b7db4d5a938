//! The result of `tools/call`, and the blocks of content that we write ourselves.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::object::Object;
use crate::object_writer::ObjectWriter;
use crate::revision::Revision;

/// True if a result of `tools/call` says that the tool failed.
pub fn is_error(result: Object<'_>) -> bool {
    result.get("isError") == Some("true")
}

/// A block of content that we write ourselves.
#[derive(Debug, Clone, Copy)]
pub enum Block<'a> {
    /// Plain text.
    Text(&'a str),
    /// A picture.
    Image {
        /// Its media type.
        mime: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// A sound.
    Audio {
        /// Its media type.
        mime: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// Any other bytes, embedded as a resource.
    Blob {
        /// The resource's URI.
        uri: &'a str,
        /// Its media type.
        mime: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
    },
}

impl Block<'_> {
    fn write(&self, revision: Revision, out: &mut Vec<u8>) {
        match self {
            Block::Text(text) => block("text", out).string("text", *text).end(),
            Block::Image { mime, bytes } => write_media("image", mime, bytes, out),
            Block::Audio { mime, bytes } if revision.has_audio() => write_media("audio", mime, bytes, out),
            Block::Audio { mime, bytes } => write_blob("toolcrib:audio", mime, bytes, out),
            Block::Blob { uri, mime, bytes } => write_blob(uri, mime, bytes, out),
        }
    }
}

fn block<'o>(kind: &str, out: &'o mut Vec<u8>) -> ObjectWriter<'o> {
    ObjectWriter::begin(out).string("type", kind)
}

fn write_media(kind: &str, mime: &str, bytes: &[u8], out: &mut Vec<u8>) {
    block(kind, out).string("data", &*STANDARD.encode(bytes)).string("mimeType", mime).end();
}

fn write_blob(uri: &str, mime: &str, bytes: &[u8], out: &mut Vec<u8>) {
    let mut block = block("resource", out);
    let resource = ObjectWriter::begin(block.member("resource")).string("uri", uri).string("mimeType", mime);
    resource.string("blob", &*STANDARD.encode(bytes)).end();
    block.end();
}

/// Appends a `CallToolResult`. `structured` is JSON text and left out where the revision has no place for it.
/// `meta` is the JSON text of `_meta`.
pub fn write_call_result<'a>(
    out: &mut Vec<u8>,
    revision: Revision,
    blocks: impl Iterator<Item = Block<'a>>,
    structured: Option<&str>,
    is_error: bool,
    meta: Option<&str>,
) {
    let mut result = ObjectWriter::begin(out);
    let content = result.member("content");
    content.push(b'[');
    for (index, block) in blocks.enumerate() {
        if index > 0 {
            content.push(b',');
        }
        block.write(revision, content);
    }
    content.push(b']');
    result
        .json("structuredContent", structured.filter(|_| revision.has_structured_content()))
        .json("_meta", meta)
        .json("isError", if is_error { "true" } else { "false" })
        .end();
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn writes_results_as_each_revision_knows_them() {
        let blocks = [
            Block::Text("a\n"),
            Block::Image { mime: "image/png", bytes: b"abc" },
            Block::Audio { mime: "audio/wav", bytes: b"" },
            Block::Blob { uri: "file:///workspace/x", mime: "a/b", bytes: b"\0" },
        ];
        let result = |revision| {
            let mut out = Vec::new();
            write_call_result(&mut out, revision, blocks.into_iter(), Some("{}"), true, None);
            String::from_utf8(out).expect("UTF-8")
        };
        expect![[r#"{"content":[{"type":"text","text":"a\n"},{"type":"image","data":"YWJj","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"file:///workspace/x","mimeType":"a/b","blob":"AA=="}}],"structuredContent":{},"isError":true}"#]]
            .assert_eq(&result(Revision::V2025_06_18));
        expect![[r#"{"content":[{"type":"text","text":"a\n"},{"type":"image","data":"YWJj","mimeType":"image/png"},{"type":"resource","resource":{"uri":"toolcrib:audio","mimeType":"audio/wav","blob":""}},{"type":"resource","resource":{"uri":"file:///workspace/x","mimeType":"a/b","blob":"AA=="}}],"isError":true}"#]]
            .assert_eq(&result(Revision::V2024_11_05));
    }
}
