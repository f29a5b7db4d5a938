//! A tool of ours as it stands in a list, and the hints that every tool carries.

use crate::object::Object;
use crate::object_writer::ObjectWriter;
use crate::patch;
use crate::revision::Revision;

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

/// Their names, in the order of the fields.
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

impl Hints {
    pub(super) fn read(tool: Object<'_>) -> Hints {
        let flag = |key| tool.object("annotations").and_then(|hints| hints.get(key)?.parse().ok());
        let [read_only, destructive, idempotent, open_world] = HINTS.map(flag);
        Hints { read_only, destructive, idempotent, open_world }
    }

    fn write(self, out: &mut Vec<u8>) {
        let flags = [self.read_only, self.destructive, self.idempotent, self.open_world];
        let mut hints = ObjectWriter::begin(out);
        for (key, flag) in HINTS.into_iter().zip(flags) {
            hints = hints.json(key, flag.map(|flag| if flag { "true" } else { "false" }));
        }
        hints.end();
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
    /// True if its calls may be asked for as tasks.
    pub runs_as_task: bool,
}

/// The member of a tool that says whether its calls may be tasks.
const EXECUTION: &str = "execution";

/// What it says of one whose calls may.
const MAY_BE_TASK: &str = r#"{"taskSupport":"optional"}"#;

/// The `Tool` object of somebody else, saying that its calls may be tasks; every other byte as it came.
pub fn running_as_task(tool: Object<'_>) -> String {
    patch::set(tool, EXECUTION, MAY_BE_TASK)
}

impl ToolEntry<'_> {
    /// Appends the `Tool` object as `revision` knows it.
    pub fn write(&self, revision: Revision, out: &mut Vec<u8>) {
        let has_structure = revision.has_structured_content();
        let mut tool = ObjectWriter::begin(out)
            .string("name", self.name)
            .string("title", has_structure.then_some(self.title))
            .string("description", self.description)
            .json("inputSchema", self.input_schema)
            .json("outputSchema", self.output_schema.filter(|_| has_structure));
        if revision.has_annotations() {
            self.hints.write(tool.member("annotations"));
        }
        tool.json(EXECUTION, Some(MAY_BE_TASK).filter(|_| self.runs_as_task && revision.has_execution()))
            .end();
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn writes_tools_as_each_revision_knows_them() {
        let hints = Hints { read_only: Some(true), ..Hints::default() };
        let entry = ToolEntry {
            name: "n",
            title: "N",
            description: "d",
            input_schema: "{}",
            output_schema: Some("{}"),
            hints,
            runs_as_task: true,
        };
        let write = |revision| {
            let mut out = Vec::new();
            entry.write(revision, &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        expect![[r#"{"name":"n","description":"d","inputSchema":{}}"#]]
            .assert_eq(&write(Revision::V2024_11_05));
        expect![[r#"{"name":"n","title":"N","description":"d","inputSchema":{},"outputSchema":{},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"}}"#]]
            .assert_eq(&write(Revision::V2025_11_25));
        expect![[r#"{"name":"n","title":"N","description":"d","inputSchema":{},"outputSchema":{},"annotations":{"readOnlyHint":true}}"#]]
            .assert_eq(&write(Revision::MODERN));
        let foreign = |tool| running_as_task(Object::parse(tool).expect("an object"));
        expect![[r#"{"execution":{"taskSupport":"optional"},"name":"n","x":1.0}"#]]
            .assert_eq(&foreign(r#"{"name":"n","x":1.0}"#));
        expect![[r#"{"name":"n","execution":{"taskSupport":"optional"},"x":1.0}"#]]
            .assert_eq(&foreign(r#"{"name":"n","execution":{"taskSupport":"forbidden"},"x":1.0}"#));
    }
}
