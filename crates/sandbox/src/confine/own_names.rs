//! The machine's list of name servers, where a program sees `/etc`: it lies over ours, and names nobody who can be asked
//! inside. Hidden, it looks empty, and then programs ask at 127.0.0.1, where our name server is.

use std::path::Path;

use super::order::{OrderedMount, Rule};

const LIST: &str = "/etc/resolv.conf";

impl OrderedMount {
    /// The same without that list; nothing if it is the list.
    pub(super) fn asking_ours(mut self) -> Option<OrderedMount> {
        let Ok(list) = Path::new(LIST).canonicalize() else { return Some(self) };
        match list.strip_prefix(&self.path) {
            Ok(below) if below.as_os_str().is_empty() => None,
            Ok(below) => {
                self.rules.push((below.into(), Rule::Hidden));
                Some(self)
            }
            Err(_) => Some(self),
        }
    }
}
