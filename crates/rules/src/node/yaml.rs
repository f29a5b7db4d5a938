//! YAML 1.2 with the core schema, without tags and aliases. The library scans; the tree is built here, without recursion,
//! so that depth and the number of values have bounds of ours.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use serde_json::Number;

use super::tree::{DEPTH_MAX, Fault, Member, NODES_MAX, Node, Place, Written};

/// What the words of the library begin with, and ours, for whoever wrote the file by hand.
const WORDS: &[(&str, &str)] = &[
    (
        "invalid indentation in quoted scalar",
        "a text in quotes is not closed, or goes on in a line that is not indented; close it",
    ),
    (
        "while parsing a quoted scalar",
        "a `\\` in double quotes begins none of YAML's escapes; write `\\\\`, or put the text in single quotes",
    ),
    ("while scanning a quoted scalar", "a text in quotes is not closed; close it"),
    (
        "invalid trailing content",
        "something follows a text in quotes; a comma may be missing, or put all of it in quotes",
    ),
    (
        "while parsing a flow sequence",
        "a list in `[ ]` is not closed, or a comma is missing; close it with `]`",
    ),
    (
        "while parsing a flow mapping",
        "a table in `{ }` is not closed, or a comma is missing; close it with `}`",
    ),
    ("tabs disallowed", "a tab stands where only spaces may; indent with spaces"),
    ("while parsing a block mapping", "a name must stand here; indent the line as those beside it"),
    ("while parsing a block collection", "a `- ` must stand here; indent the line as those beside it"),
    ("while parsing a node", "a value must stand here"),
    ("simple key expect", "a name without `: ` and a value behind it; write `name: value`"),
    (
        "mapping values are not allowed",
        "no `: ` may stand here; indent the line as those beside it, or put a text that has `: ` in it in quotes",
    ),
];

fn plain(said: &str) -> String {
    let found = WORDS.iter().find(|(begins, _)| said.starts_with(begins));
    found.map_or(said, |(_, ours)| ours).to_owned()
}

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let mut building = Building { open: Vec::new(), left: NODES_MAX, whole: None };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| Fault { place: place(error.marker()), what: plain(error.info()) })?;
        let place = place(&span.start);
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    let what = "a second document begins here; a file is one document".to_owned();
                    return Err(Fault { place, what });
                }
            }
            Event::Scalar(text, style, _, tag) => {
                no_tag(tag.is_some(), place)?;
                let written = scalar(&text, style, place)?;
                building.value(Node { place, written })?;
            }
            Event::SequenceStart(_, tag) => {
                no_tag(tag.is_some(), place)?;
                building.open(place, Written::List(Vec::new()))?;
            }
            Event::MappingStart(_, tag) => {
                no_tag(tag.is_some(), place)?;
                building.open(place, Written::Table(Vec::new()))?;
            }
            Event::SequenceEnd | Event::MappingEnd => building.close()?,
            Event::Alias(_) => {
                let what = "aliases are not read here; write what this stands for".to_owned();
                return Err(Fault { place, what });
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
    }
    let empty = |whole: &Node| whole.written == Written::Null;
    building.whole.filter(|whole| !empty(whole)).ok_or_else(|| {
        let what = "the file is empty; delete it, or write what belongs in it".to_owned();
        Fault { place: Place { line: 1, column: 1 }, what }
    })
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

fn no_tag(is_tagged: bool, place: Place) -> Result<(), Fault> {
    match is_tagged {
        true => Err(Fault { place, what: "tags are not read here; write the value without one".to_owned() }),
        false => Ok(()),
    }
}

/// What a scalar means (YAML 1.2, "core schema").
fn scalar(text: &str, style: ScalarStyle, place: Place) -> Result<Written, Fault> {
    if style != ScalarStyle::Plain {
        return Ok(Written::Text(text.to_owned()));
    }
    let digits = |prefix, radix| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Written::Null,
        "true" | "True" | "TRUE" => Written::Bool(true),
        "false" | "False" | "FALSE" => Written::Bool(false),
        ".inf" | ".Inf" | ".INF" | "-.inf" | "-.Inf" | "-.INF" | "+.inf" | ".nan" | ".NaN" | ".NAN" => {
            return Err(Fault { place, what: "this number cannot be written in JSON".to_owned() });
        }
        _ => match text
            .parse::<Number>()
            .ok()
            .or_else(|| digits("0x", 16).or_else(|| digits("0o", 8)).map(Number::from))
        {
            Some(number) => Written::Number(number),
            None => Written::Text(text.to_owned()),
        },
    })
}

/// A list or table that is not at its end yet, and in a table the name whose value comes next.
type Open = (Place, Written, Option<(Place, String)>);

struct Building {
    open: Vec<Open>,
    left: usize,
    whole: Option<Node>,
}

impl Building {
    fn open(&mut self, place: Place, written: Written) -> Result<(), Fault> {
        if self.open.len() >= DEPTH_MAX {
            let what = format!("this is nested more than {DEPTH_MAX} levels deep");
            return Err(Fault { place, what });
        }
        self.open.push((place, written, None));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some((place, written, _)) = self.open.pop() else { return Ok(()) };
        self.value(Node { place, written })
    }

    /// Takes a complete value where one belongs.
    fn value(&mut self, node: Node) -> Result<(), Fault> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            let what = format!("from here on there are more than {NODES_MAX} values in the file");
            Fault { place: node.place, what }
        })?;
        match self.open.last_mut() {
            Some((_, Written::List(items), _)) => items.push(node),
            Some((_, Written::Table(members), name)) => match (name.take(), node) {
                (Some((place, name)), _) if members.iter().any(|member| member.name == name) => {
                    return Err(Fault { place, what: format!("`{name}` is there twice; keep one of them") });
                }
                (Some((place, name)), node) => members.push(Member { place, name, node }),
                (None, Node { place, written: Written::Text(text) }) => *name = Some((place, text)),
                (None, Node { place, .. }) => {
                    let what = "the name of a member must be text; put it in quotes".to_owned();
                    return Err(Fault { place, what });
                }
            },
            Some(_) | None => self.whole = Some(node),
        }
        Ok(())
    }
}
