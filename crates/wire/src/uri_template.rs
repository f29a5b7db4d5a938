//! Does a URI fit a template (RFC 6570), as MCP servers use them to tell which of their resources is meant?
//!
//! Templates become one regular expression, whose engine takes time that grows with the URI's length and never explodes.
//! It is more liberal than the RFC's expansion where servers are: a plain `{name}` takes everything up to the next slash,
//! and the pairs of a query may be in any order.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// Longest template looked at, in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 2048;

/// Longest URI looked at, in bytes.
pub const URI_BYTES_MAX: usize = 2 * 1024;

/// Most expressions in one template; each may be at work at once.
pub const EXPRESSIONS_MAX: usize = 32;

/// Longest templates of one set together, in bytes; those beyond it fit nothing. A URI of a byte costs as many steps at
/// most, so the longest one costs a fraction of a second.
pub const SET_BYTES_MAX: usize = 16 * 1024;

/// What a value may consist of: in a path, in a query, and in a parameter of a path.
const SEGMENT: &str = "[^/]";
const QUERY: &str = "[^&#]";
const PARAMETER: &str = "[^;/]";

/// Templates ready for many questions about all of them.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    patterns: Vec<String>,
    /// Built with the first question, which most servers are never asked.
    regex: OnceLock<Option<Regex>>,
}

impl Templates {
    /// Reads templates. Those that are malformed or over a limit fit nothing.
    pub fn parse<'t>(templates: impl IntoIterator<Item = &'t str>) -> Templates {
        let mut bytes = 0;
        let has_room = |template: &&str| {
            bytes += template.len();
            bytes <= SET_BYTES_MAX
        };
        let patterns = templates.into_iter().take_while(has_room).filter_map(pattern).collect();
        Templates { patterns, regex: OnceLock::new() }
    }

    /// True if `uri` fits one of them.
    pub fn matches(&self, uri: &str) -> bool {
        let regex = self.regex.get_or_init(|| {
            let any = format!(r"\A(?:{})\z", self.patterns.join("|"));
            let built = RegexBuilder::new(&any).unicode(false).dot_matches_new_line(true).build();
            built.ok().filter(|_| !self.patterns.is_empty())
        });
        uri.len() <= URI_BYTES_MAX && regex.as_ref().is_some_and(|regex| regex.is_match(uri.as_bytes()))
    }
}

/// The regular expression of a template; nothing if it is malformed or over a limit.
fn pattern(template: &str) -> Option<String> {
    if template.len() > TEMPLATE_BYTES_MAX {
        return None;
    }
    let (mut pattern, mut rest) = (String::new(), template);
    for _ in 0..=EXPRESSIONS_MAX {
        let (literal, behind) = rest.split_once('{').unwrap_or((rest, ""));
        if literal.contains('}') {
            return None;
        }
        pattern.push_str(&regex::escape(literal));
        if literal.len() == rest.len() {
            return Some(pattern);
        }
        let (inner, behind) = behind.split_once('}')?;
        pattern.push_str(&expression(inner)?);
        rest = behind;
    }
    None
}

/// What stands between the braces.
fn expression(written: &str) -> Option<String> {
    let operator = written.chars().next().filter(|first| "+#./;?&".contains(*first));
    let list = &written[usize::from(operator.is_some())..];
    let variables: Vec<&str> = list.split(',').map(variable).collect::<Option<_>>()?;
    Some(match operator {
        None => format!("{SEGMENT}+"),
        Some('+') => ".+".to_owned(),
        Some('#') => "(?:#.*)?".to_owned(),
        Some('.') => pieces(r"\.", list, variables.len()),
        Some('/') => pieces("/", list, variables.len()),
        Some(';') => pairs(";", ";", PARAMETER, list, &variables),
        Some('?') => pairs(r"\?", "&", QUERY, list, &variables),
        Some(_) => pairs("&", "&", QUERY, list, &variables),
    })
}

/// A piece for each variable, each with its sign before it; any number if one of them is exploded.
fn pieces(sign: &str, list: &str, count: usize) -> String {
    let piece = format!("(?:{sign}{SEGMENT}+)");
    if list.contains('*') { format!("{piece}*") } else { format!("{piece}?").repeat(count) }
}

/// `name=value` for some of the variables; with any name if one of them is exploded.
fn pairs(first: &str, between: &str, value: &str, list: &str, variables: &[&str]) -> String {
    let names = || variables.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|");
    let pair =
        if list.contains('*') { format!("{value}*") } else { format!("(?:{})(?:={value}*)?", names()) };
    format!("(?:{first}{pair}(?:{between}{pair})*)?")
}

/// The name in `name`, `name*` or `name:3`. Servers also use hyphens in names, which the RFC does not.
fn variable(written: &str) -> Option<&str> {
    let written = written.strip_suffix('*').unwrap_or(written);
    let (name, length) = written.split_once(':').unwrap_or((written, "1"));
    let is_length = (1..=4).contains(&length.len())
        && length.bytes().all(|byte| byte.is_ascii_digit())
        && !length.starts_with('0');
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-%".contains(&byte);
    (is_length && !name.is_empty() && name.bytes().all(is_sound)).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(template: &str, uri: &str) -> bool {
        Templates::parse([template]).matches(uri)
    }

    #[test]
    fn fits() {
        for (template, uri) in [
            ("file:///a.txt", "file:///a.txt"),
            ("test://template/{id}/data", "test://template/123/data"),
            ("test://{id}", "test://a b:c,d?e"),
            ("test://{a}-{b}", "test://x-y-z"),
            ("test://{x,y}", "test://1024,768"),
            ("test://{list*}", "test://a,b=c"),
            ("test://{var:3}", "test://val"),
            ("file:///{+path}", "file:///a/b/c.txt"),
            ("file:///{+path}/end", "file:///a/end/b/end"),
            ("x://y{#part}", "x://y#a/b"),
            ("x://y{#part}", "x://y"),
            ("x://y{.ext}", "x://y.tar.gz"),
            ("x://y{/a,b}", "x://y/1/2"),
            ("x://y{/a,b}", "x://y"),
            ("x://y{/path*}", "x://y/1/2/3/4"),
            ("x://y{/path*}/end", "x://y/1/end/2/end"),
            ("x://y{;a,b}", "x://y;b=1;a"),
            ("x://s{?q,lang}", "x://s"),
            ("x://s{?q,lang}", "x://s?q=a%20b/c&lang=en"),
            ("x://s{?q,lang}", "x://s?lang=&q"),
            ("x://s{?all*}", "x://s?any=1&thing=2"),
            ("x://s?fixed=1{&q}", "x://s?fixed=1&q=2"),
            ("x://{user-id}/{user.name}", "x://1/2"),
            ("x://\u{e9}/{a}", "x://\u{e9}/\u{4e16}"),
            ("", ""),
        ] {
            assert!(matches(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn does_not_fit() {
        for (template, uri) in [
            ("file:///a.txt", "file:///a.txt2"),
            ("file:///a.txt", "file:///a.tx"),
            ("test://template/{id}/data", "test://template/1/2/data"),
            ("test://template/{id}/data", "test://template//data"),
            ("test://{id}", "test://"),
            ("x://y{/a,b}", "x://y/1/2/3"),
            ("x://y{/a}", "x://y//"),
            ("x://s{?q}", "x://s?other=1"),
            ("x://s{?q}", "x://s?qq=1"),
            ("x://s{?q}", "x://s?q=1#f"),
            ("x://s{?q}", "x://s?q=1&"),
            ("x://s{?q}", "x://s&q=1"),
            ("x://y{;a}", "x://y;b"),
        ] {
            assert!(!matches(template, uri), "{template} {uri}");
        }
    }

    #[test]
    fn malformed_templates_fit_nothing() {
        for template in [
            "{",
            "}",
            "{}",
            "a{b",
            "a}b",
            "{{a}}",
            "{a}}",
            "{a,}",
            "{?}",
            "{=a}",
            "{!a}",
            "{a:}",
            "{a:0}",
            "{a:12345}",
            "{a b}",
            "{a**}",
        ] {
            assert_eq!(pattern(template), None, "{template}");
            assert!(!matches(template, template), "{template}");
        }
        let most = "{a}".repeat(EXPRESSIONS_MAX);
        assert!(matches(&most, &"x".repeat(EXPRESSIONS_MAX)));
        assert!(!matches(&format!("{most}{{a}}"), &"x".repeat(100)));
        assert!(!matches(&"x".repeat(TEMPLATE_BYTES_MAX + 1), &"x".repeat(TEMPLATE_BYTES_MAX + 1)));
        assert!(!matches("{+a}", &"x".repeat(URI_BYTES_MAX + 1)));
    }

    #[test]
    fn the_worst_template_is_linear() {
        // With back-tracking this would take longer than the universe has.
        let template = format!("{}!", "{+a}".repeat(EXPRESSIONS_MAX));
        assert!(!matches(&template, &"a".repeat(URI_BYTES_MAX)));
        let names: Vec<String> = (0..200).map(|n| "a".repeat(1 + n % 8)).collect();
        assert!(!matches(
            &format!("{{?{}}}", names.join(",")),
            &format!("?{}", "a&".repeat(URI_BYTES_MAX / 2 - 1))
        ));
    }

    #[test]
    fn a_uri_is_held_against_a_bounded_set() {
        // A template that fits "xx…x!" only, after work that grows with its length.
        let costly = format!("{}!", "{+a}".repeat(EXPRESSIONS_MAX));
        let most = SET_BYTES_MAX / costly.len() - 1;
        for (before, bytes, expected) in [
            (0, 10, true),
            (0, URI_BYTES_MAX, true),
            (0, URI_BYTES_MAX + 1, false),
            (most, URI_BYTES_MAX, true),
            (most + 2, 2, false),
        ] {
            let mut written = vec![&*costly; before];
            written.extend(["{", "y://{a}", "x{+a}"]);
            assert_eq!(Templates::parse(written).matches(&"x".repeat(bytes)), expected, "{before} {bytes}");
        }
        assert!(!Templates::default().matches(""));
        assert!(!Templates::parse(["{"]).matches(""));
        assert!(Templates::parse(["y", "x"]).matches("x"));
    }

    #[test]
    fn the_longest_names_are_built() {
        let names = vec!["a".repeat(9); 200].join(",");
        assert!(matches(&format!("x{{?{names}}}"), "x?aaaaaaaaa=1"));
    }

    proptest! {
        /// Whatever the parts are, a template fits its own expansion.
        #[test]
        fn an_expansion_fits(literal in "[a-z:/?=-]{0,8}", one in "[a-z0-9.~%-]{1,9}", two in "[a-z0-9/]{1,9}", query in prop::option::of("[a-z0-9]{0,5}")) {
            let template = format!("x://{literal}{{one}}/{{+two}}{{?q}}");
            let query = query.map(|value| format!("?q={value}")).unwrap_or_default();
            let expanded = format!("x://{literal}{one}/{two}{query}");
            prop_assert!(matches(&template, &expanded));
        }

        #[test]
        fn nothing_panics(template in "[{}a,*+/?&;#.:0-9]{0,40}", uri in "[a-c/?&=;#.]{0,40}") {
            matches(&template, &uri);
        }
    }
}
