//! The messages about tools: `tools/list`, `tools/call`, progress, and their parts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Code, WireError};
use crate::message::Text;
use crate::object::{self, Object};
use crate::revision::Revision;
use crate::{patch, string};

/// The parameters of `tools/call`.
#[derive(Debug, Clone)]
pub struct CallParams {
    /// Which tool.
    pub name: String,
    /// The arguments object, as written.
    pub arguments: Option<Text>,
    /// The token for progress notifications, as written.
    pub progress_token: Option<Text>,
    /// The whole `_meta` object, as written.
    pub meta: Option<Text>,
}

/// Reads the parameters of `tools/call`.
///
/// # Errors
/// `InvalidParams` if the name is missing or the arguments are no object.
pub fn call_params(params: Option<&Text>) -> Result<CallParams, WireError> {
    let invalid = |why: &str| WireError::new(Code::InvalidParams, format!("Invalid params: {why}"));
    let (Some(text), Some(object)) = (params, params.and_then(Text::object)) else {
        return Err(invalid("tools/call needs the string \"name\""));
    };
    let (mut name, mut arguments, mut progress_token, mut meta) = (None, None, None, None);
    for member in object.members() {
        match member.key().as_ref() {
            "name" => name = string::decode_if_string(member.value),
            "arguments" if member.value.starts_with('{') => arguments = Some(text.slice(member.value)),
            "arguments" => return Err(invalid("\"arguments\" must be an object")),
            "_meta" if member.value.starts_with('{') => {
                progress_token = progress_token_in(text, member.value);
                meta = Some(text.slice(member.value));
            }
            _ => {}
        }
    }
    match name {
        Some(name) => Ok(CallParams { name: name.into_owned(), arguments, progress_token, meta }),
        None => Err(invalid("tools/call needs the string \"name\"")),
    }
}

fn progress_token_in(text: &Text, meta: &str) -> Option<Text> {
    let token = Object::parse(meta)?.get("progressToken")?;
    let usable = token.starts_with(['"', '-']) || token.starts_with(|c: char| c.is_ascii_digit());
    usable.then(|| text.slice(token))
}

/// Writes the parameters of a `tools/call` of ours. `arguments` and `token` are JSON text; `meta` is the
/// text of the `_meta` object that our caller sent, which goes on but for its token.
pub fn write_call_params(name: &str, arguments: &str, meta: Option<&str>, token: Option<&str>) -> Vec<u8> {
    let meta = meta.and_then(Object::parse).filter(|meta| meta.members().next().is_some());
    let meta = match (meta, token) {
        (None, None) => None,
        (None, Some(token)) => Some(format!("{{\"progressToken\":{token}}}")),
        (Some(meta), Some(token)) => Some(patch::set(meta, "progressToken", token)),
        (Some(meta), None) => Some(patch::remove(meta, "progressToken")),
    };
    let mut out = Vec::with_capacity(arguments.len() + name.len() + 64);
    out.extend_from_slice(b"{\"name\":");
    string::encode(name, &mut out);
    out.extend_from_slice(b",\"arguments\":");
    out.extend_from_slice(arguments.as_bytes());
    if let Some(meta) = meta {
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(meta.as_bytes());
    }
    out.push(b'}');
    out
}

/// The cursor in the parameters of a list request.
///
/// # Errors
/// `InvalidParams` if it is no string.
pub fn list_cursor(params: Option<&Text>) -> Result<Option<String>, WireError> {
    match params.and_then(Text::object).and_then(|object| object.get("cursor")) {
        None | Some("null") => Ok(None),
        Some(value) => match string::decode_if_string(value) {
            Some(cursor) => Ok(Some(cursor.into_owned())),
            None => Err(WireError::new(Code::InvalidParams, "Invalid params: \"cursor\" must be a string")),
        },
    }
}

/// Hints about a tool's behaviour (`ToolAnnotations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

impl Hints {
    fn read(tool: Object<'_>) -> Hints {
        let flag = |key| match tool.object("annotations").and_then(|hints| hints.get(key)) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Hints {
            read_only: flag("readOnlyHint"),
            destructive: flag("destructiveHint"),
            idempotent: flag("idempotentHint"),
            open_world: flag("openWorldHint"),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        let flags = [
            ("readOnlyHint", self.read_only),
            ("destructiveHint", self.destructive),
            ("idempotentHint", self.idempotent),
            ("openWorldHint", self.open_world),
        ];
        let said: Vec<String> =
            flags.iter().filter_map(|(key, flag)| flag.map(|flag| format!("\"{key}\":{flag}"))).collect();
        out.extend_from_slice(format!("{{{}}}", said.join(",")).as_bytes());
    }
}

/// A tool of ours, ready to be listed. Schemas are JSON text.
#[derive(Debug, Clone, Copy)]
pub struct ToolEntry<'a> {
    /// Name for calling.
    pub name: &'a str,
    /// Name for people.
    pub title: &'a str,
    /// What it does.
    pub description: &'a str,
    /// What it takes.
    pub input_schema: &'a str,
    /// What it gives, if it gives structure.
    pub output_schema: Option<&'a str>,
    /// How it behaves.
    pub hints: Hints,
}

impl ToolEntry<'_> {
    /// Appends the `Tool` object as `revision` knows it.
    pub fn write(&self, revision: Revision, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"name\":");
        string::encode(self.name, out);
        if revision.has_structured_content() {
            out.extend_from_slice(b",\"title\":");
            string::encode(self.title, out);
        }
        out.extend_from_slice(b",\"description\":");
        string::encode(self.description, out);
        out.extend_from_slice(b",\"inputSchema\":");
        out.extend_from_slice(self.input_schema.as_bytes());
        if let (Some(schema), true) = (self.output_schema, revision.has_structured_content()) {
            out.extend_from_slice(b",\"outputSchema\":");
            out.extend_from_slice(schema.as_bytes());
        }
        if revision.has_annotations() {
            out.extend_from_slice(b",\"annotations\":");
            self.hints.write(out);
        }
        out.push(b'}');
    }
}

/// Writes the result of `tools/list` from tools that are JSON text already.
pub fn write_list_result<'a>(tools: impl Iterator<Item = &'a [u8]>, next_cursor: Option<&str>) -> Vec<u8> {
    let mut out = b"{\"tools\":[".to_vec();
    for (index, tool) in tools.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(tool);
    }
    out.push(b']');
    if let Some(cursor) = next_cursor {
        out.extend_from_slice(b",\"nextCursor\":");
        string::encode(cursor, &mut out);
    }
    out.push(b'}');
    out
}

/// A tool in an upstream's list.
#[derive(Debug, Clone)]
pub struct ListedTool {
    /// Its name there.
    pub name: String,
    /// The whole `Tool` object as it came.
    pub text: Text,
    /// Its input schema as it came.
    pub input_schema: Text,
    /// Its output schema as it came.
    pub output_schema: Option<Text>,
    /// Its description, for people.
    pub description: String,
    /// What it says of itself.
    pub hints: Hints,
}

/// One page of an upstream's tools: the sound ones, how many were not, and where to go on.
#[derive(Debug, Default)]
pub struct ListedPage {
    /// Tools with a name and an object as input schema.
    pub tools: Vec<ListedTool>,
    /// Entries without.
    pub unusable: usize,
    /// The cursor for the next page. The empty string is a cursor, too.
    pub next_cursor: Option<String>,
}

/// Reads an upstream's answer to `tools/list`; nothing if it is no list of tools at all.
pub fn read_list_result(result: &Text) -> Option<ListedPage> {
    let object = result.object()?;
    let mut page = ListedPage::default();
    for entry in object::elements(object.get("tools")?)? {
        match listed_tool(result, entry) {
            Some(tool) => page.tools.push(tool),
            None => page.unusable += 1,
        }
    }
    page.next_cursor = object.string("nextCursor").map(|cursor| cursor.into_owned());
    Some(page)
}

/// Reads one `Tool` object. `entry` must be a slice of `whole`.
pub fn listed_tool(whole: &Text, entry: &str) -> Option<ListedTool> {
    let object = Object::parse(entry)?;
    let name = object.string("name").filter(|name| !name.is_empty())?.into_owned();
    let input_schema = object.object("inputSchema")?;
    Some(ListedTool {
        name,
        text: whole.slice(object.text()),
        input_schema: whole.slice(input_schema.text()),
        output_schema: object.object("outputSchema").map(|schema| whole.slice(schema.text())),
        description: object.string("description").unwrap_or_default().into_owned(),
        hints: Hints::read(object),
    })
}

/// The `Tool` object under another name, every other byte as it came.
pub fn renamed(tool: &Text, name: &str) -> String {
    let mut literal = Vec::new();
    string::encode(name, &mut literal);
    let literal = String::from_utf8(literal).expect("an encoded string is UTF-8");
    tool.object().map_or_else(|| tool.as_str().to_owned(), |object| patch::set(object, "name", &literal))
}

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
            Block::Text(text) => {
                out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                string::encode(text, out);
                out.push(b'}');
            }
            Block::Image { mime, bytes } => write_media("image", mime, bytes, out),
            Block::Audio { mime, bytes } if revision.has_audio() => write_media("audio", mime, bytes, out),
            Block::Audio { mime, bytes } => write_blob("toolcrib:audio", mime, bytes, out),
            Block::Blob { uri, mime, bytes } => write_blob(uri, mime, bytes, out),
        }
    }
}

fn write_media(kind: &str, mime: &str, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":");
    string::encode(kind, out);
    out.extend_from_slice(b",\"data\":\"");
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"\",\"mimeType\":");
    string::encode(mime, out);
    out.push(b'}');
}

fn write_blob(uri: &str, mime: &str, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"resource\",\"resource\":{\"uri\":");
    string::encode(uri, out);
    out.extend_from_slice(b",\"mimeType\":");
    string::encode(mime, out);
    out.extend_from_slice(b",\"blob\":\"");
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"\"}}");
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
    out.extend_from_slice(b"{\"content\":[");
    for (index, block) in blocks.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        block.write(revision, out);
    }
    out.push(b']');
    if let (Some(structured), true) = (structured, revision.has_structured_content()) {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(structured.as_bytes());
    }
    if let Some(meta) = meta {
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(meta.as_bytes());
    }
    out.extend_from_slice(if is_error { b",\"isError\":true}" } else { b",\"isError\":false}".as_slice() });
}

/// Writes the parameters of `notifications/progress` under the client's own token (JSON text).
pub fn write_progress(token: &Text, done: f64, total: Option<f64>, message: Option<&str>) -> Vec<u8> {
    let mut out = format!("{{\"progressToken\":{},\"progress\":{done}", token.as_str()).into_bytes();
    if let Some(total) = total {
        out.extend_from_slice(format!(",\"total\":{total}").as_bytes());
    }
    if let Some(message) = message {
        out.extend_from_slice(b",\"message\":");
        string::encode(message, &mut out);
    }
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[track_caller]
    fn check_call(params: &str, expected: Expect) {
        expected.assert_eq(&match call_params(Some(&text(params))) {
            Ok(call) => format!(
                "{} {} {}",
                call.name,
                call.arguments.as_ref().map_or("-", Text::as_str),
                call.progress_token.as_ref().map_or("-", Text::as_str)
            ),
            Err(error) => format!("{} {}", error.code.number(), error.message),
        });
    }

    #[test]
    fn reads_call_parameters() {
        check_call(
            r#"{"name":"a\u0062","arguments":{ "x":1.0 },"_meta":{"progressToken":7}}"#,
            expect![[r#"ab { "x":1.0 } 7"#]],
        );
        check_call(r#"{"name":"a","_meta":{"progressToken":{}}}"#, expect!["a - -"]);
        check_call(r#"{"name":"a","_meta":null}"#, expect!["a - -"]);
        check_call(
            r#"{"name":"a","arguments":[1]}"#,
            expect![[r#"-32602 Invalid params: "arguments" must be an object"#]],
        );
        check_call(
            r#"{"name":5}"#,
            expect![[r#"-32602 Invalid params: tools/call needs the string "name""#]],
        );
        assert_eq!(call_params(None).expect_err("nothing given").code, Code::InvalidParams);
    }

    #[test]
    fn lists_are_read_with_their_bytes() {
        let list = text(
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object","x":1.0},"zz":[1e3]},{"name":"b"},5,
                {"inputSchema":{},"name":"c","annotations":{"destructiveHint":true,"readOnlyHint":"yes"}}],
                "nextCursor":""}"#,
        );
        let page = read_list_result(&list).expect("a list");
        assert_eq!((page.tools.len(), page.unusable, page.next_cursor.as_deref()), (2, 2, Some("")));
        assert_eq!(
            renamed(&page.tools[0].text, "up_a"),
            r#"{"name":"up_a","inputSchema":{"type":"object","x":1.0},"zz":[1e3]}"#
        );
        assert_eq!(page.tools[0].input_schema.as_str(), r#"{"type":"object","x":1.0}"#);
        assert_eq!(page.tools[1].hints, Hints { destructive: Some(true), ..Hints::default() });
        assert!(read_list_result(&text("{}")).is_none());
        assert!(read_list_result(&text(r#"{"tools":{}}"#)).is_none());
    }

    #[test]
    fn writes_tools_and_results_as_each_revision_knows_them() {
        let hints = Hints { read_only: Some(true), ..Hints::default() };
        let entry = ToolEntry {
            name: "n",
            title: "N",
            description: "d",
            input_schema: "{}",
            output_schema: Some("{}"),
            hints,
        };
        let write = |revision| {
            let mut out = Vec::new();
            entry.write(revision, &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        expect![[r#"{"name":"n","description":"d","inputSchema":{}}"#]]
            .assert_eq(&write(Revision::V2024_11_05));
        expect![[r#"{"name":"n","title":"N","description":"d","inputSchema":{},"outputSchema":{},"annotations":{"readOnlyHint":true}}"#]]
            .assert_eq(&write(Revision::V2025_11_25));

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

    #[test]
    fn a_call_of_ours_keeps_the_callers_meta_but_not_its_token() {
        let write =
            |meta, token| String::from_utf8(write_call_params("t", "{ }", meta, token)).expect("UTF-8");
        let meta = Some(r#"{"progressToken":"theirs","x/y":1.0}"#);
        expect![[r#"{"name":"t","arguments":{ }}"#]].assert_eq(&write(None, None));
        expect![[r#"{"name":"t","arguments":{ }}"#]].assert_eq(&write(Some("{}"), None));
        expect![[r#"{"name":"t","arguments":{ },"_meta":{"progressToken":7}}"#]]
            .assert_eq(&write(None, Some("7")));
        expect![[r#"{"name":"t","arguments":{ },"_meta":{"progressToken":7,"x/y":1.0}}"#]]
            .assert_eq(&write(meta, Some("7")));
        expect![[r#"{"name":"t","arguments":{ },"_meta":{"x/y":1.0}}"#]].assert_eq(&write(meta, None));
    }

    #[test]
    fn progress_keeps_the_clients_token() {
        let written = write_progress(&text("\"t\\u0031\""), 1.0, Some(2.5), Some("half"));
        expect![[r#"{"progressToken":"t\u0031","progress":1,"total":2.5,"message":"half"}"#]]
            .assert_eq(&String::from_utf8(written).expect("UTF-8"));
    }
}
