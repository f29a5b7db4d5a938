//! `tools/list`: reading an upstream's pages and writing our own.

use super::entry::Hints;
use crate::object::Object;
use crate::paging::{self, Page};
use crate::patch;
use crate::string::literal;
use crate::text::Text;

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

/// Reads an upstream's answer to `tools/list`; nothing if it is no list of tools at all. A tool without an object as input
/// schema is not sound.
pub fn read_list_result(result: &Text) -> Option<Page> {
    paging::read_page(result, "tools", "name", |tool| tool.object("inputSchema").is_some())
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
    tool.object()
        .map_or_else(|| tool.as_str().to_owned(), |object| patch::set(object, "name", &literal(name)))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn lists_are_read_with_their_bytes() {
        let list = text(
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object","x":1.0},"zz":[1e3]},{"name":"b"},5,
                {"inputSchema":{},"name":"c","annotations":{"destructiveHint":true,"readOnlyHint":"yes"}}],
                "nextCursor":""}"#,
        );
        let page = read_list_result(&list).expect("a list");
        assert_eq!((page.entries.len(), page.unusable, page.next_cursor.as_deref()), (2, 2, Some("")));
        let [first, second] = [0, 1].map(|nth| page.entries[nth].text.clone());
        assert_eq!(
            renamed(&first, "up_a"),
            r#"{"name":"up_a","inputSchema":{"type":"object","x":1.0},"zz":[1e3]}"#
        );
        let [first, second] = [first, second].map(|text| listed_tool(&text, text.as_str()).expect("a tool"));
        assert_eq!(first.input_schema.as_str(), r#"{"type":"object","x":1.0}"#);
        assert_eq!(second.hints, Hints { destructive: Some(true), ..Hints::default() });
        assert!(read_list_result(&text("{}")).is_none());
        assert!(read_list_result(&text(r#"{"tools":{}}"#)).is_none());
    }
}
