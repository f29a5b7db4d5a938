//! YAML 1.2 with the core schema, without tags and aliases. The library scans; the tree is built here, without recursion,
//! so that depth and the number of values have bounds of ours.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};
use serde_json::Number;

use super::tree::{DEPTH_MAX, Fault, Member, NODES_MAX, Node, Place, Written, add, too_deep, too_many};

pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let mut building = Building { open: Vec::new(), left: NODES_MAX, whole: None };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        let place = place(&span.start);
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    let what = "a second document begins here; a rules file is one document".to_owned();
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
                building.open(place, Held::List(Vec::new()))?;
            }
            Event::MappingStart(_, tag) => {
                no_tag(tag.is_some(), place)?;
                building.open(place, Held::Table(Vec::new(), None))?;
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
        let what = "the file is empty; delete it, or write `version: \"1.0\"` and `rules: []`".to_owned();
        Fault { place: Place { line: 1, column: 1 }, what }
    })
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

fn unreadable(error: &ScanError) -> Fault {
    Fault { place: place(error.marker()), what: error.info().to_owned() }
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

/// A list or table that is not at its end yet.
enum Held {
    List(Vec<Node>),
    /// With the name whose value comes next.
    Table(Vec<Member>, Option<(Place, String)>),
}

struct Building {
    open: Vec<(Place, Held)>,
    left: usize,
    whole: Option<Node>,
}

impl Building {
    fn open(&mut self, place: Place, held: Held) -> Result<(), Fault> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(place));
        }
        self.open.push((place, held));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let Some((place, held)) = self.open.pop() else { return Ok(()) };
        let written = match held {
            Held::List(items) => Written::List(items),
            Held::Table(members, _) => Written::Table(members),
        };
        self.value(Node { place, written })
    }

    /// Takes a complete value where one belongs.
    fn value(&mut self, node: Node) -> Result<(), Fault> {
        self.left = self.left.checked_sub(1).ok_or_else(|| too_many(node.place))?;
        match self.open.last_mut().map(|(_, held)| held) {
            None => self.whole = Some(node),
            Some(Held::List(items)) => items.push(node),
            Some(Held::Table(members, name)) => match (name.take(), node) {
                (Some((place, name)), node) => add(members, place, name, node)?,
                (None, Node { place, written: Written::Text(text) }) => *name = Some((place, text)),
                (None, Node { place, .. }) => {
                    let what = "the name of a member must be text; put it in quotes".to_owned();
                    return Err(Fault { place, what });
                }
            },
        }
        Ok(())
    }
}
