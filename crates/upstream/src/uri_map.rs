//! `UriMap`: the URIs under which an upstream's resources are offered, and the way back.
//!
//! Two servers may have resources of the same URI. What is offered therefore says whose it is, in the scheme:
//! `file:///a` of the server `git` is `git+file:///a`. Hosts look for the scheme `ui:`, so there the prefix
//! becomes the first part instead: `ui://git/…`. Both ways follow from the prefix alone, without a table.

use std::borrow::Cow;
use std::sync::Arc;

use tool_api::STATE_SCHEME;

/// The scheme that hosts look for (MCP Apps).
const UI: &str = "ui://";

/// Both ways for one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UriMap {
    /// What comes before the scheme, its `+` included; empty if URIs stay as they are.
    scheme: Box<str>,
    /// What a `ui:` URI begins with.
    ui: Box<str>,
    /// What others' begin with that ours could read like, Toolcrib's own among them: only where URIs stay as they are.
    foreign: Arc<[Box<str>]>,
}

impl UriMap {
    /// The map for an upstream whose names begin with `prefix`, beside others with these.
    pub(crate) fn among(prefix: &str, foreign: &[Box<str>]) -> UriMap {
        let map = UriMap::new(prefix);
        if !map.is_plain() {
            return map;
        }
        let others = foreign.iter().map(|prefix| UriMap::new(prefix));
        let others = others.flat_map(|other| [other.scheme, other.ui]);
        UriMap { foreign: others.chain([STATE_SCHEME.into()]).collect(), ..map }
    }

    /// The map for an upstream whose names begin with `prefix`; none at all leaves URIs as they are.
    pub(crate) fn new(prefix: &str) -> UriMap {
        let foreign = Arc::default();
        if prefix.is_empty() {
            return UriMap { scheme: "".into(), ui: UI.into(), foreign };
        }
        let mut word = prefix.to_ascii_lowercase().replace('_', "-");
        // A scheme begins with a letter (RFC 3986, section 3.1).
        if !word.starts_with(|first: char| first.is_ascii_alphabetic()) {
            word.insert(0, 'x');
        }
        UriMap { scheme: format!("{word}+").into(), ui: format!("{UI}{word}/").into(), foreign }
    }

    /// What the offered `uri` or template begins with, if that says that it is another upstream's.
    pub(crate) fn owner(&self, uri: &str) -> Option<&str> {
        self.foreign.iter().map(|start| &**start).find(|start| uri.starts_with(start))
    }

    /// What comes before a scheme, its `+` included.
    pub(crate) fn scheme(&self) -> &str {
        &self.scheme
    }

    /// True if URIs are offered as the upstream says them.
    pub(crate) fn is_plain(&self) -> bool {
        self.scheme.is_empty()
    }

    /// The URI or template offered for the upstream's own `uri`. Whatever that is, `inward` finds it again.
    pub(crate) fn outward<'u>(&self, uri: &'u str) -> Cow<'u, str> {
        if self.is_plain() {
            return Cow::Borrowed(uri);
        }
        Cow::Owned(match uri.strip_prefix(UI) {
            Some(rest) => [&*self.ui, rest].concat(),
            None => [&*self.scheme, uri].concat(),
        })
    }

    /// The upstream's own URI or template for one that is offered; nothing if it cannot be this upstream's.
    pub(crate) fn inward<'u>(&self, uri: &'u str) -> Option<Cow<'u, str>> {
        if self.is_plain() {
            return Some(Cow::Borrowed(uri));
        }
        if let Some(rest) = uri.strip_prefix(&*self.ui) {
            return Some(Cow::Owned([UI, rest].concat()));
        }
        uri.strip_prefix(&*self.scheme).map(Cow::Borrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prefix: &str, own: &str, offered: &str) {
        let map = UriMap::new(prefix);
        assert_eq!(map.outward(own), offered);
        assert_eq!(map.inward(offered).as_deref(), Some(own));
    }

    #[test]
    fn the_prefix_goes_into_the_scheme() {
        check("git", "file:///a/b?c#d", "git+file:///a/b?c#d");
        check("My_Server", "https://x/y", "my-server+https://x/y");
        check("9p", "a:b", "x9p+a:b");
        check("_", "a:b", "x-+a:b");
        check("git", "git+file:///a", "git+git+file:///a");
        check("git", "file:///{path}{?q*}", "git+file:///{path}{?q*}");
        check("git", "{+uri}", "git+{+uri}");
    }

    #[test]
    fn hosts_still_see_what_is_for_them() {
        check("my_app", "ui://clock/identity.html", "ui://my-app/clock/identity.html");
        check("app", "ui://{name}", "ui://app/{name}");
        check("app", "ui://app/x", "ui://app/app/x");
        check("app", "ui://", "ui://app/");
        check("app", "ui:///x", "ui://app//x");
        check("app", "UI://x", "app+UI://x");
        check("app", "ui:x", "app+ui:x");
    }

    #[test]
    fn without_a_prefix_nothing_changes() {
        for uri in ["file:///a", "ui://x/y", "", "no scheme", "a+b:c"] {
            check("", uri, uri);
        }
    }

    #[test]
    fn without_a_prefix_some_are_others() {
        let (plain, prefixed) = (UriMap::among("", &["git".into()]), UriMap::among("a", &["git".into()]));
        for (uri, expected) in [
            ("git+file:///a", Some("git+")),
            ("ui://git/a", Some("ui://git/")),
            ("toolcrib://tasks", Some("toolcrib://")),
            ("file:///a", None),
        ] {
            assert_eq!((plain.owner(uri), prefixed.owner(uri)), (expected, None), "{uri}");
        }
    }

    #[test]
    fn hostile_ones_find_their_way_back_and_no_other() {
        for uri in ["", ":", "+", "\0", "ä:ö", "../..", "git", "git+", "a b\nc", "//host", "ui:/", "%75i://x"]
        {
            let map = UriMap::new("git");
            assert_eq!(map.inward(&map.outward(uri)).as_deref(), Some(uri), "{uri:?}");
            assert_ne!(UriMap::new("gi").inward(&map.outward(uri)).as_deref(), Some(uri), "{uri:?}");
            assert_ne!(UriMap::new("git-hub").inward(&map.outward(uri)).as_deref(), Some(uri), "{uri:?}");
        }
    }

    #[test]
    fn what_is_not_its_own_is_nobodys() {
        let map = UriMap::new("git");
        for uri in
            ["file:///a", "gi+file:///a", "GIT+file:///a", "git:file", "ui://gitx/a", "ui://git", "", "git"]
        {
            assert_eq!(map.inward(uri), None, "{uri:?}");
        }
    }
}
