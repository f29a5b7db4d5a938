//! The JSON Schema Test Suite through our validator: every required case of draft-07 and 2020-12. The suite lies in
//! `tests/json_schema_test_suite` under its own licence.

use std::path::{Path, PathBuf};

use jsonschema::{Retrieve, Uri};
use serde::Deserialize;
use serde_json::Value;

use super::super::Schema;

/// The address that the suite's documents are said to have.
const ADDRESS: &str = "http://localhost:1234/";

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json_schema_test_suite")
}

/// Finds the suite's own documents, where the program finds none at all.
struct Documents;

impl Retrieve for Documents {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let path = uri.as_str().strip_prefix(ADDRESS).ok_or("it is nowhere")?;
        Ok(serde_json::from_str(&std::fs::read_to_string(suite().join("remotes").join(path))?)?)
    }
}

/// How many cases of a draft there are, and those that end in another way than the suite says.
fn run(draft: &str, uri: &str) -> (usize, Vec<String>) {
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(suite().join("tests").join(draft)).expect("the suite is there") {
        let path = entry.expect("it can be listed").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for mut group in serde_json::from_str::<Vec<Group>>(&text).expect("it is as described") {
            // A schema that names no draft is one of the folder it lies in.
            if let Some(schema) = group.schema.as_object_mut() {
                schema.entry("$schema").or_insert(uri.into());
            }
            let options = jsonschema::options_for().with_retriever(Documents);
            let schema = Schema::build(group.schema, options);
            for case in group.tests {
                count += 1;
                let found = schema.as_ref().map(|schema| schema.check(&case.data).is_ok());
                if found != Ok(case.valid) {
                    let file = path.file_name().unwrap_or_default().display();
                    wrong.push(format!("{file}: {}: {}: {found:?}", group.description, case.description));
                }
            }
        }
    }
    (count, wrong)
}

#[test]
fn every_required_case_of_the_suite_ends_as_it_says() {
    for (draft, uri, expected) in [
        ("draft7", "http://json-schema.org/draft-07/schema#", 913),
        ("draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1257),
    ] {
        let (count, wrong) = run(draft, uri);
        assert_eq!((count, &wrong), (expected, &Vec::new()), "{draft}");
    }
}
