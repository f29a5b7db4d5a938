//! `Names`: the names given to the entries of one list, each once.

use std::collections::HashMap;
use std::sync::Arc;

use tool_api::ToolName;

use crate::naming::offered;
use crate::settings::{Mask, Settings};

/// The names given to the entries of one list, each once.
pub(crate) struct Names<'l> {
    prefix: &'l str,
    mask: &'l Mask,
    foreign: Arc<Vec<Box<str>>>,
    taken: HashMap<ToolName, &'l str>,
}

impl<'l> Names<'l> {
    /// None given yet; `room` for about so many.
    pub(crate) fn new(settings: &'l Settings, room: usize) -> Names<'l> {
        let (prefix, foreign) = (&settings.prefix, settings.foreign.load_full());
        Names { prefix, mask: settings.mask(), foreign, taken: HashMap::with_capacity(room) }
    }

    /// The name under which `own` is offered.
    ///
    /// # Errors
    /// Why it cannot be offered: it has no name that agents could use, or another upstream's, or an earlier one
    /// has it.
    pub(crate) fn give(&mut self, own: &'l str) -> Result<ToolName, String> {
        let name = offered(self.prefix, own).ok_or("its name cannot be offered")?;
        if let Some(owner) = owner(&self.foreign, self.prefix, name.as_str()) {
            return Err(format!(
                "its name would be `{name}`, and those that begin with `{owner}_` are another's"
            ));
        }
        if let Some(first) = self.taken.get(&name) {
            let first = self.mask.shown_name(first);
            return Err(format!("its name would be `{name}`, which `{first}` already has"));
        }
        self.taken.insert(name.clone(), own);
        Ok(name)
    }
}

/// The prefix among `foreign` to which `name` belongs rather than to `prefix`: of two that fit, the longer one.
pub(crate) fn owner<'f>(foreign: &'f [Box<str>], prefix: &str, name: &str) -> Option<&'f str> {
    let is_longer = |other: &str| other.len() > prefix.len();
    let begins = |other: &str| name.strip_prefix(other).is_some_and(|rest| rest.starts_with('_'));
    foreign.iter().map(|other| &**other).find(|other| is_longer(other) && begins(other))
}
