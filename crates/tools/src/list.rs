//! The list of all built-in tools.

use crate::workspace;
use crate::{Offer, offer::Set};
use std::sync::Arc;
use tool_api::{AnyTool, builtin};

/// The tools on offer, in the order in which they are listed.
pub fn all(offer: &Offer) -> Vec<Arc<dyn AnyTool>> {
    offer.sets().iter().flat_map(|&set| of(set)).collect()
}

/// The tools of one set. A new tool is its file and a line here.
fn of(set: Set) -> Vec<Arc<dyn AnyTool>> {
    match set {
        Set::Workspace => vec![
            builtin(workspace::read::Read),
            builtin(workspace::write::Write),
            builtin(workspace::list::List),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_sound() {
        testkit::check_catalogue(&all(&Offer::default()));
    }

    #[test]
    fn the_list_is_this() {
        let names = |offer| all(&offer).iter().map(|tool| tool.definition().name.to_string()).collect();
        let found: Vec<String> = names(Offer::default());
        assert_eq!(found, ["workspace_read", "workspace_write", "workspace_list"]);
        let nothing = crate::Config { offer: Some(Vec::new()) }.check().expect("nothing may be offered");
        assert_eq!(names(nothing), Vec::<String>::new());
    }
}
