//! JSON, strictly: what other readers of the file would refuse is refused here, too.

use jsonc_parser::ast::{ObjectProp, Value as Ast};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use super::tree::{DEPTH_MAX, Fault, Member, NODES_MAX, Node, Place, Written, add, too_deep, too_many};

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    if text.trim().is_empty() {
        let what = "the file is empty; delete it, or write {\"version\": \"1.0\", \"rules\": []}".to_owned();
        return Err(Fault { place: Place { line: 1, column: 1 }, what });
    }
    // Its grammar is the strict one, and it bounds the depth; the other reader knows the places.
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| {
        let (line, byte) = (error.line().max(1), error.column());
        let written = text.lines().nth(line - 1).unwrap_or_default();
        let column = written.get(..byte.saturating_sub(1)).map_or(byte, |before| before.chars().count() + 1);
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned();
        Fault { place: Place { line, column: column.max(1) }, what }
    })?;
    let mut lines = Lines { text, byte: 0, place: Place { line: 1, column: 1 } };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let unreadable = |lines: &mut Lines<'_>, byte, what: String| Fault { place: lines.place(byte), what };
    let parsed =
        parsed.map_err(|error| unreadable(&mut lines, error.range().start, error.kind().to_string()))?;
    let value = parsed.value.ok_or_else(|| unreadable(&mut lines, 0, "the file is empty".to_owned()))?;
    let mut left = NODES_MAX;
    node(&value, &mut lines, DEPTH_MAX, &mut left)
}

/// Turns bytes into places; they are asked for in the order of the text.
struct Lines<'t> {
    text: &'t str,
    byte: usize,
    place: Place,
}

impl Lines<'_> {
    fn place(&mut self, byte: usize) -> Place {
        for c in self.text.get(self.byte..byte).unwrap_or_default().chars() {
            match c {
                '\n' => self.place = Place { line: self.place.line + 1, column: 1 },
                _ => self.place.column += 1,
            }
        }
        self.byte = self.byte.max(byte);
        self.place
    }
}

fn node(value: &Ast<'_>, lines: &mut Lines<'_>, depth: usize, left: &mut usize) -> Result<Node, Fault> {
    let place = lines.place(value.range().start);
    let depth = depth.checked_sub(1).ok_or_else(|| too_deep(place))?;
    *left = left.checked_sub(1).ok_or_else(|| too_many(place))?;
    let written = match value {
        Ast::NullKeyword(_) => Written::Null,
        Ast::BooleanLit(flag) => Written::Bool(flag.value),
        Ast::StringLit(text) => Written::Text(text.value.clone().into_owned()),
        Ast::NumberLit(number) => {
            let parsed: Result<Number, _> = number.value.parse();
            Written::Number(parsed.map_err(|error| Fault { place, what: error.to_string() })?)
        }
        Ast::Array(list) => {
            let items = list.elements.iter().map(|item| node(item, lines, depth, left));
            Written::List(items.collect::<Result<_, _>>()?)
        }
        Ast::Object(object) => Written::Table(members(&object.properties, lines, depth, left)?),
    };
    Ok(Node { place, written })
}

fn members(
    properties: &[ObjectProp<'_>],
    lines: &mut Lines<'_>,
    depth: usize,
    left: &mut usize,
) -> Result<Vec<Member>, Fault> {
    let mut members = Vec::with_capacity(properties.len());
    for property in properties {
        let place = lines.place(property.range().start);
        let value = node(&property.value, lines, depth, left)?;
        add(&mut members, place, property.name.as_str().to_owned(), value)?;
    }
    Ok(members)
}
