//! `Closed`: the resources of a server that nobody reads, since what lists them is held back.

use std::collections::{HashMap, HashSet};

use pins::Judge;
use wire::uri_template::Templates;

use crate::kind::Kind;
use crate::lists::Lists;
use crate::settings::Settings;
use crate::spelling;

/// Most templates that a URI is held against: a server may list thousands that take long to match, and every
/// call about a resource has to wait for it.
pub(crate) const TEMPLATES_MATCHED_MAX: usize = 256;

/// What may not be read, by the server's own URIs.
pub(crate) struct Closed {
    /// What a caller is told, by the URI of a resource or the text of a template, in its plain spelling.
    held: HashMap<String, String>,
    /// True if a template is held back, so that what no open one describes may be what that describes.
    hides_a_template: bool,
    /// True if what nobody has accepted is not read, be it listed or not.
    only_accepted: bool,
    open_templates: Templates,
    /// Resources that are not held back.
    open: HashSet<String>,
}

impl Closed {
    /// What follows from the lists of a server.
    pub(crate) fn of(lists: &Lists, judge: &Judge, settings: &Settings) -> Closed {
        let mut held = HashMap::new();
        let (mut open, mut templates, mut hides_a_template) = (HashSet::new(), Vec::new(), false);
        for kind in [Kind::Resources, Kind::Templates] {
            for entry in &lists.of(kind).entries {
                let objection = entry.objection(kind, judge);
                match objection {
                    Some(why) => {
                        hides_a_template |= kind == Kind::Templates;
                        let one = entry.held(kind, why, settings.mask());
                        held.insert(spelling::plain(&entry.key), one.advice(settings.name()));
                    }
                    None if kind == Kind::Templates => templates.push(entry.key.as_str()),
                    None => drop(open.insert(entry.key.clone())),
                }
            }
        }
        let only_accepted = judge.wants_all_accepted();
        if held.is_empty() && !only_accepted {
            // Nothing is asked of them.
            (open, templates) = Default::default();
        }
        let open_templates = Templates::parse(templates.into_iter().take(TEMPLATES_MATCHED_MAX));
        Closed { held, hides_a_template, only_accepted, open_templates, open }
    }

    /// Why nobody may read this; nothing if anybody may.
    pub(crate) fn objection(&self, uri: &str) -> Option<&str> {
        if (self.held.is_empty() && !self.only_accepted) || self.open.contains(uri) {
            return None;
        }
        let listed = self.held.get(&spelling::plain(uri)).map(String::as_str);
        listed.or_else(|| {
            if !(self.hides_a_template || self.only_accepted) || self.open_templates.matches(uri) {
                return None;
            }
            Some(match self.hides_a_template {
                true => {
                    "a resource template that may describe it is held back until it is accepted; a person must look at \
                     it first, so go on without it"
                }
                false => {
                    "`trust = \"review\"` keeps what no accepted resource or template names, and the server lists neither \
                     for it"
                }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::config::{Config, Trust};
    use pins::Pins;

    #[test]
    fn what_is_held_back_is_not_read_by_another_spelling() {
        let table = Config { command: Some("x".to_owned()), ..Config::default() };
        let settings = table.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        let lists = Lists::remembered(r#"{"tools":[],"resources":[{"uri":"m://r"}]}"#).expect("lists");
        let judge = Judge::Nothing("it was not read".into());
        let closed = Closed::of(&lists, &judge, &settings.expect("sound"));
        for uri in ["m://r", "M://r", "m://r#x", "m://./r", "m://%72"] {
            assert!(closed.objection(uri).is_some(), "{uri}");
        }
        // What is not listed may be read.
        assert_eq!(closed.objection("m://other"), None);
    }

    #[test]
    fn in_review_mode_only_what_was_accepted_is_read() {
        let table = Config { command: Some("x".to_owned()), ..Config::default() };
        let settings = table.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        let settings = settings.expect("sound");
        let lists = Lists::remembered(r#"{"tools":[],"resources":[]}"#).expect("lists");
        let pins = Arc::new(Pins::new(0));
        for (mode, is_read) in [(Trust::Review, false), (Trust::Pin, true)] {
            let judge = Judge::Accepted(pins.clone(), mode);
            let closed = Closed::of(&lists, &judge, &settings);
            assert_eq!(closed.objection("m://other").is_none(), is_read, "{mode:?}");
        }
        let accepted = Closed {
            open: HashSet::from(["m://r".to_owned()]),
            open_templates: Templates::parse(["m://t/{x}"]),
            ..Closed::of(&lists, &Judge::Accepted(pins, Trust::Review), &settings)
        };
        for (uri, is_read) in [("m://r", true), ("m://t/1", true), ("m://r/1", false), ("n://t/1", false)] {
            assert_eq!(accepted.objection(uri).is_none(), is_read, "{uri}");
        }
    }
}
