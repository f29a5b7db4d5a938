//! Which states of the lists a client was shown, so that it is told of what has changed since, and of nothing
//! else.

use std::sync::atomic::{AtomicU64, Ordering};

use gate::Versions;

use crate::list_kind::{ListKind, PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED};

/// The versions that a client was shown; 0 for a list that it never asked for.
#[derive(Debug, Default)]
pub(crate) struct Seen([AtomicU64; 4]);

impl Seen {
    fn of(&self, kind: ListKind) -> &AtomicU64 {
        &self.0[kind as usize]
    }

    /// Notes which state of a list the client was shown.
    pub(crate) fn saw(&self, kind: ListKind, versions: &Versions) {
        self.of(kind).fetch_max(kind.version(versions), Ordering::Relaxed);
    }

    /// The notifications for the lists that have changed since the client was shown them, each once.
    pub(crate) fn news(&self, versions: &Versions) -> impl Iterator<Item = &'static str> {
        let changed = |kind| {
            let version = ListKind::version(kind, versions);
            let shown = self.of(kind).load(Ordering::Relaxed);
            shown != 0 && self.of(kind).fetch_max(version, Ordering::Relaxed) < version
        };
        let tools = changed(ListKind::Tools).then_some(TOOLS_CHANGED);
        let prompts = changed(ListKind::Prompts).then_some(PROMPTS_CHANGED);
        // Both must be looked at: each notes what it has told.
        let either = changed(ListKind::Resources) | changed(ListKind::Templates);
        [tools, prompts, either.then_some(RESOURCES_CHANGED)].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(tools: u64, prompts: u64, resources: u64) -> Versions {
        Versions { all: tools + prompts + resources, tools, prompts, resources }
    }

    fn news(seen: &Seen, now: Versions) -> Vec<&'static str> {
        seen.news(&now).collect()
    }

    #[test]
    fn only_who_has_listed_hears_of_changes_and_each_once() {
        let seen = Seen::default();
        assert!(news(&seen, versions(2, 2, 2)).is_empty());
        seen.saw(ListKind::Tools, &versions(2, 2, 2));
        assert!(news(&seen, versions(2, 9, 9)).is_empty());
        assert_eq!(news(&seen, versions(3, 9, 9)), [TOOLS_CHANGED]);
        assert!(news(&seen, versions(3, 9, 9)).is_empty());
        seen.saw(ListKind::Prompts, &versions(3, 9, 9));
        assert_eq!(news(&seen, versions(5, 10, 10)), [TOOLS_CHANGED, PROMPTS_CHANGED]);
    }

    #[test]
    fn a_change_of_resources_is_told_once_to_who_has_listed_either_kind() {
        let seen = Seen::default();
        seen.saw(ListKind::Templates, &versions(1, 1, 1));
        assert_eq!(news(&seen, versions(1, 1, 2)), [RESOURCES_CHANGED]);
        seen.saw(ListKind::Resources, &versions(1, 1, 2));
        assert!(news(&seen, versions(1, 1, 2)).is_empty());
        assert_eq!(news(&seen, versions(1, 1, 3)), [RESOURCES_CHANGED]);
        // Resources were shown at 4; the templates still are those of 3.
        seen.saw(ListKind::Resources, &versions(1, 1, 4));
        assert_eq!(news(&seen, versions(1, 1, 4)), [RESOURCES_CHANGED]);
        assert!(news(&seen, versions(1, 1, 4)).is_empty());
    }
}
