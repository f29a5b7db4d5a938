//! Reading an upstream's whole list of tools, page by page, or the remembered one.

use std::collections::HashSet;

use bytes::Bytes;
use wire::message::Text;
use wire::object;
use wire::tools::{self, ListedTool};

use crate::connection::{Connection, Fault};
use crate::error::ConnectError;
use crate::{answer, clean};

/// More pages than this is a server that counts wrongly.
pub const PAGES_MAX: usize = 1_000;

/// More tools than this no agent can choose from.
pub const TOOLS_MAX: usize = 10_000;

/// All definitions of one server together, in bytes.
pub const DEFINITIONS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest cursor, in bytes; all cursors of a list are kept to see one come twice.
const CURSOR_BYTES_MAX: usize = 4 * 1024;

/// What a server lists.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Tools with a name and an object as input schema.
    pub tools: Vec<ListedTool>,
    /// How many more have not.
    pub unusable: usize,
    bytes: usize,
}

/// Asks for every page.
pub(crate) async fn fetch(connection: &Connection) -> Result<Listed, ConnectError> {
    let mut listed = Listed::default();
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let params = cursor.as_deref().map(page_params);
        let reply = connection.ask("tools/list", params.as_deref()).await.map_err(ConnectError::of)?;
        let result = reply.map_err(|error| answer::refused("tools/list", &error))?;
        cursor = listed.add(&result)?;
        match &cursor {
            None => return Ok(listed),
            Some(next) if !cursors.insert(next.clone()) => {
                return Err(broken("its list of tools goes round in circles: a cursor came twice"));
            }
            Some(_) => {}
        }
    }
    Err(broken(&format!("its list of tools has more than {PAGES_MAX} pages")))
}

fn page_params(cursor: &str) -> Vec<u8> {
    let mut params = b"{\"cursor\":".to_vec();
    wire::string::encode(cursor, &mut params);
    params.push(b'}');
    params
}

fn broken(why: &str) -> ConnectError {
    ConnectError::of(Fault::Broken(why.to_owned()))
}

impl Listed {
    /// Adds one page and returns the cursor of the next.
    fn add(&mut self, result: &Text) -> Result<Option<String>, ConnectError> {
        let page = tools::read_list_result(result)
            .ok_or_else(|| broken("its answer to `tools/list` is no list of tools"))?;
        self.unusable += page.unusable;
        // The whole page, since every tool is a slice that keeps it.
        self.bytes += result.as_str().len();
        if page.next_cursor.as_ref().is_some_and(|cursor| cursor.len() > CURSOR_BYTES_MAX) {
            return Err(broken(&format!("a cursor of its list is over {CURSOR_BYTES_MAX} bytes")));
        }
        self.tools.extend(page.tools);
        if self.tools.len() + self.unusable > TOOLS_MAX {
            return Err(broken(&format!("it lists more than {TOOLS_MAX} tools")));
        }
        if self.bytes > DEFINITIONS_BYTES_MAX {
            return Err(broken(&format!("its tools' definitions are over {DEFINITIONS_BYTES_MAX} bytes")));
        }
        Ok(page.next_cursor)
    }

    /// Reads definitions that were remembered; nothing if they are none.
    pub(crate) fn remembered(definitions: &str) -> Option<Listed> {
        let whole = Text::check(Bytes::copy_from_slice(definitions.as_bytes())).ok()?;
        let mut listed = Listed::default();
        for entry in object::elements(whole.as_str())? {
            match tools::listed_tool(&whole, entry) {
                Some(tool) => listed.tools.push(tool),
                None => listed.unusable += 1,
            }
        }
        (listed.tools.len() <= TOOLS_MAX).then_some(listed)
    }

    /// The definitions as a JSON array, to be remembered.
    pub(crate) fn definitions(&self) -> String {
        let mut text = String::with_capacity(self.bytes + self.tools.len() + 2);
        text.push('[');
        for (index, tool) in self.tools.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(tool.text.as_str());
        }
        text.push(']');
        text
    }
}

/// Longest name of a tool that is repeated to people, in bytes.
const SHOWN_NAME_BYTES_MAX: usize = 100;

/// A tool's own name, fit for a message.
pub(crate) fn shown_name(name: &str) -> String {
    clean::sentence(name, SHOWN_NAME_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("JSON")
    }

    #[test]
    fn pages_are_added_up_and_remembered_byte_for_byte() {
        let mut listed = Listed::default();
        let first = r#"{"tools":[{"name":"a", "inputSchema":{ },"x":1.0},{"name":"b"}],"nextCursor":""}"#;
        assert_eq!(listed.add(&text(first)), Ok(Some(String::new())));
        assert_eq!(listed.add(&text(r#"{"tools":[{"inputSchema":{},"name":"c"}]}"#)), Ok(None));
        assert_eq!((listed.tools.len(), listed.unusable), (2, 1));
        let definitions = listed.definitions();
        assert_eq!(definitions, r#"[{"name":"a", "inputSchema":{ },"x":1.0},{"inputSchema":{},"name":"c"}]"#);
        let remembered = Listed::remembered(&definitions).expect("sound");
        assert_eq!(remembered.tools.len(), 2);
        assert_eq!(remembered.definitions(), definitions);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let error = Listed::default().add(&text("{\"tools\":{}}")).expect_err("no list");
        assert_eq!(
            error.to_string(),
            "it does not speak MCP as expected: its answer to `tools/list` is no list of tools"
        );
        for junk in ["", "{}", "[", "[{\"name\":1}", "null"] {
            assert!(Listed::remembered(junk).is_none(), "{junk}");
        }
    }

    #[test]
    fn there_is_an_end_to_tools() {
        let many = vec!["{\"name\":\"a\",\"inputSchema\":{}}"; TOOLS_MAX + 1].join(",");
        let error = Listed::default().add(&text(&format!("{{\"tools\":[{many}]}}"))).expect_err("too many");
        assert_eq!(error.to_string(), "it does not speak MCP as expected: it lists more than 10000 tools");
    }
}
