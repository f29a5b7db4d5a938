//! The text of a JSON Schema, which of our own tools is made when somebody first asks for it: most starts answer
//! `initialize` and are not asked for a tool.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// A JSON Schema as text. Cheap to clone.
#[derive(Clone)]
pub struct SchemaText(Source);

#[derive(Clone)]
enum Source {
    Given(Bytes),
    Made(Arc<LazyLock<Bytes>>),
}

impl SchemaText {
    /// That of arguments of this type.
    pub(crate) fn of_input<T: JsonSchema>() -> SchemaText {
        Self::made(|| text(SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()))
    }

    /// That of results of this type, if they have structure.
    pub(crate) fn of_output<T: crate::Output>() -> Option<SchemaText> {
        T::SCHEMA.map(|_| Self::made(|| T::SCHEMA.map(|make| text(make())).unwrap_or_default()))
    }

    fn made(make: fn() -> Bytes) -> SchemaText {
        SchemaText(Source::Made(Arc::new(LazyLock::new(make))))
    }
}

/// The schema without what only costs tokens: the dialect (2020-12 is MCP's default) and the type's name.
fn text(mut schema: Schema) -> Bytes {
    schema.remove("$schema");
    schema.remove("title");
    // Kept, so without room to grow.
    serde_json::to_vec(&schema).expect("a schema is plain JSON").into_boxed_slice().into()
}

impl From<Bytes> for SchemaText {
    fn from(text: Bytes) -> SchemaText {
        SchemaText(Source::Given(text))
    }
}

impl From<String> for SchemaText {
    fn from(text: String) -> SchemaText {
        Bytes::from(text).into()
    }
}

impl Deref for SchemaText {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        match &self.0 {
            Source::Given(text) => text,
            Source::Made(text) => text,
        }
    }
}

impl fmt::Debug for SchemaText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaText")
    }
}
