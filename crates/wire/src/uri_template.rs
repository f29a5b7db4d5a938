//! Does a URI fit a template (RFC 6570), as MCP servers use them to tell which of their resources is meant?
//!
//! The template becomes a small program that is run over the URI in all ways at once, so the time grows with
//! the URI's length and never explodes. It is more liberal than the RFC's expansion where servers are: a
//! plain `{name}` takes everything up to the next slash, and the pairs of a query may be in any order.

/// Longest template looked at, in bytes.
pub const TEMPLATE_BYTES_MAX: usize = 2048;

/// Longest URI looked at, in bytes.
pub const URI_BYTES_MAX: usize = 2 * 1024;

/// Most expressions in one template; each may be at work at once.
pub const EXPRESSIONS_MAX: usize = 32;

/// Most steps that a set of templates keeps; a template has about as many as bytes. Templates beyond it fit nothing.
pub const STEPS_MAX: usize = 100_000;

/// Most that is done to hold one URI against a set, in steps of templates times bytes of the URI: a fraction of a
/// second.
pub const WORK_MAX: usize = 20_000_000;

/// True if `uri` fits `template`. Nothing fits a malformed template.
pub fn matches(template: &str, uri: &str) -> bool {
    let literal = template.split('{').next().unwrap_or_default();
    uri.starts_with(literal) && Template::parse(template).is_some_and(|template| template.matches(uri))
}

/// A template ready for many questions.
#[derive(Debug, Clone)]
pub struct Template {
    steps: Vec<Step>,
}

/// Templates ready for many questions about all of them.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    templates: Vec<Template>,
}

impl Templates {
    /// Reads templates. Those that are malformed or over a limit fit nothing.
    pub fn parse<'t>(templates: impl IntoIterator<Item = &'t str>) -> Templates {
        let mut steps = 0;
        let mut has_room = |template: &Template| {
            steps += template.steps.len();
            steps <= STEPS_MAX
        };
        let read =
            templates.into_iter().filter_map(Template::parse).take_while(|template| has_room(template));
        Templates { templates: read.collect() }
    }

    /// True if `uri` fits one of them. They are tried in order, for as long as [`WORK_MAX`] allows.
    pub fn matches(&self, uri: &str) -> bool {
        let mut left = WORK_MAX;
        let (mut now, mut next) = (Positions::default(), Positions::default());
        for template in self.templates.iter().filter(|template| template.begins(uri)) {
            let Some(rest) = left.checked_sub(template.steps.len() * uri.len()) else { return false };
            left = rest;
            if template.run(uri, &mut now, &mut next) {
                return true;
            }
        }
        false
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Takes this byte.
    Byte(u8),
    /// Takes a byte of this kind.
    Any(Kind),
    /// Goes on at both places.
    Both(usize, usize),
    /// Goes on there.
    Jump(usize),
}

/// What a variable's value may consist of.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Everything.
    Everything,
    /// All but a slash.
    Segment,
    /// All but what ends a value in a query.
    Query,
    /// All but what ends a parameter of a path.
    Parameter,
}

impl Kind {
    fn has(self, byte: u8) -> bool {
        match self {
            Kind::Everything => true,
            Kind::Segment => byte != b'/',
            Kind::Query => !matches!(byte, b'&' | b'#'),
            Kind::Parameter => !matches!(byte, b';' | b'/'),
        }
    }
}

impl Template {
    /// Reads a template; nothing if it is malformed or over a limit.
    pub fn parse(template: &str) -> Option<Template> {
        if template.len() > TEMPLATE_BYTES_MAX {
            return None;
        }
        let mut program = Template { steps: Vec::with_capacity(template.len() + 16) };
        let mut rest = template;
        for _ in 0..=EXPRESSIONS_MAX {
            let (literal, behind) = rest.split_once('{').unwrap_or((rest, ""));
            if literal.contains('}') {
                return None;
            }
            program.literal(literal);
            if literal.len() == rest.len() {
                return Some(program);
            }
            let (expression, behind) = behind.split_once('}')?;
            program.expression(expression)?;
            rest = behind;
        }
        None
    }

    /// True if `uri` fits.
    pub fn matches(&self, uri: &str) -> bool {
        self.run(uri, &mut Positions::default(), &mut Positions::default())
    }

    /// True if `uri` begins with what stands before the first expression.
    fn begins(&self, uri: &str) -> bool {
        let mut bytes = uri.bytes();
        let literal = self.steps.iter().map_while(|step| match step {
            Step::Byte(wanted) => Some(*wanted),
            Step::Any(_) | Step::Both(..) | Step::Jump(_) => None,
        });
        literal.into_iter().all(|wanted| bytes.next() == Some(wanted))
    }

    fn run(&self, uri: &str, now: &mut Positions, next: &mut Positions) -> bool {
        if uri.len() > URI_BYTES_MAX {
            return false;
        }
        now.make(self.steps.len() + 1);
        next.make(self.steps.len() + 1);
        self.arrive(now, 0);
        for byte in uri.bytes() {
            next.clear();
            for &at in &now.list {
                match self.steps.get(at) {
                    Some(Step::Byte(wanted)) if *wanted == byte => self.arrive(next, at + 1),
                    Some(Step::Any(kind)) if kind.has(byte) => self.arrive(next, at + 1),
                    _ => {}
                }
            }
            std::mem::swap(now, next);
            if now.list.is_empty() {
                return false;
            }
        }
        now.list.contains(&self.steps.len())
    }

    /// Notes a place and all that can be reached from it without taking a byte.
    fn arrive(&self, places: &mut Positions, at: usize) {
        places.open.push(at);
        while let Some(at) = places.open.pop() {
            if !places.add(at) {
                continue;
            }
            match self.steps.get(at) {
                Some(Step::Both(one, other)) => places.open.extend([*other, *one]),
                Some(Step::Jump(to)) => places.open.push(*to),
                Some(Step::Byte(_) | Step::Any(_)) | None => {}
            }
        }
    }

    fn literal(&mut self, text: &str) {
        self.steps.extend(text.bytes().map(Step::Byte));
    }

    /// Appends what stands between the braces.
    fn expression(&mut self, expression: &str) -> Option<()> {
        let operator = expression.bytes().next().filter(|byte| b"+#./;?&".contains(byte));
        let list = &expression[usize::from(operator.is_some())..];
        let variables: Vec<Variable<'_>> = list.split(',').map(Variable::parse).collect::<Option<_>>()?;
        match operator {
            None => self.one_or_more(Kind::Segment),
            Some(b'+') => self.one_or_more(Kind::Everything),
            Some(b'#') => self.optional(|program| {
                program.literal("#");
                program.any_number(|program| program.steps.push(Step::Any(Kind::Everything)));
            }),
            Some(b'.') => self.pieces(".", &variables),
            Some(b'/') => self.pieces("/", &variables),
            Some(b';') => self.pairs(";", ";", Kind::Parameter, &variables),
            Some(b'?') => self.pairs("?", "&", Kind::Query, &variables),
            Some(_) => self.pairs("&", "&", Kind::Query, &variables),
        }
        Some(())
    }

    /// A piece for each variable, each with its sign before it; any number if one of them is exploded.
    fn pieces(&mut self, sign: &str, variables: &[Variable<'_>]) {
        let piece = |program: &mut Template| {
            program.literal(sign);
            program.one_or_more(Kind::Segment);
        };
        if variables.iter().any(|variable| variable.exploded) {
            self.any_number(piece);
        } else {
            variables.iter().for_each(|_| self.optional(piece));
        }
    }

    /// `name=value` for some of the variables; with any name if one of them is exploded.
    fn pairs(&mut self, first: &str, between: &str, kind: Kind, variables: &[Variable<'_>]) {
        let any_name = variables.iter().any(|variable| variable.exploded);
        let value = |program: &mut Template| program.steps.push(Step::Any(kind));
        let pair = |program: &mut Template| {
            if any_name {
                program.any_number(value);
            } else {
                program.one_of(variables);
                program.optional(|program| {
                    program.literal("=");
                    program.any_number(value);
                });
            }
        };
        self.optional(|program| {
            program.literal(first);
            pair(program);
            program.any_number(|program| {
                program.literal(between);
                pair(program);
            });
        });
    }

    /// One of the variables' names.
    fn one_of(&mut self, variables: &[Variable<'_>]) {
        let mut ends = Vec::with_capacity(variables.len());
        for variable in variables {
            let fork = self.steps.len();
            self.steps.push(Step::Jump(0));
            self.literal(variable.name);
            ends.push(self.steps.len());
            self.steps.push(Step::Jump(0));
            self.steps[fork] = Step::Both(fork + 1, self.steps.len());
        }
        // Whoever comes here has taken none of them. A loop of its own keeps it here.
        let dead_end = self.steps.len();
        self.steps.push(Step::Jump(dead_end));
        for end in ends {
            self.steps[end] = Step::Jump(dead_end + 1);
        }
    }

    fn one_or_more(&mut self, kind: Kind) {
        let start = self.steps.len();
        self.steps.push(Step::Any(kind));
        self.steps.push(Step::Both(start, start + 2));
    }

    fn optional(&mut self, inner: impl FnOnce(&mut Template)) {
        let start = self.steps.len();
        self.steps.push(Step::Jump(0));
        inner(self);
        self.steps[start] = Step::Both(start + 1, self.steps.len());
    }

    fn any_number(&mut self, inner: impl FnOnce(&mut Template)) {
        let start = self.steps.len();
        self.optional(|program| {
            inner(program);
            program.steps.push(Step::Jump(start));
        });
    }
}

struct Variable<'t> {
    name: &'t str,
    exploded: bool,
}

impl<'t> Variable<'t> {
    /// `name`, `name*` or `name:3`. Servers also use hyphens in names, which the RFC does not.
    fn parse(written: &'t str) -> Option<Variable<'t>> {
        let exploded = written.ends_with('*');
        let written = written.strip_suffix('*').unwrap_or(written);
        let name = match written.split_once(':') {
            Some((name, length)) => {
                let sound = (1..=4).contains(&length.len())
                    && length.bytes().all(|byte| byte.is_ascii_digit())
                    && !length.starts_with('0');
                sound.then_some(name)?
            }
            None => written,
        };
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-%".contains(&byte);
        (!name.is_empty() && name.bytes().all(sound)).then_some(Variable { name, exploded })
    }
}

/// Places in the program, each once.
#[derive(Default)]
struct Positions {
    list: Vec<usize>,
    has: Vec<bool>,
    /// Those from which it has not been looked further yet.
    open: Vec<usize>,
}

impl Positions {
    /// Makes room for the places of another program.
    fn make(&mut self, count: usize) {
        self.clear();
        self.has.resize(count, false);
    }

    /// True if the place is new.
    fn add(&mut self, at: usize) -> bool {
        let new = !std::mem::replace(&mut self.has[at], true);
        if new {
            self.list.push(at);
        }
        new
    }

    fn clear(&mut self) {
        for at in self.list.drain(..) {
            self.has[at] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            assert!(Template::parse(template).is_none(), "{template}");
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

    /// A template that fits "xx…x!" only, after work that grows with its length.
    fn costly() -> String {
        format!("{}!", "{+a}".repeat(EXPRESSIONS_MAX))
    }

    /// Whether a URI of this many bytes is found to fit the last of some templates behind `before` costly ones.
    #[track_caller]
    fn check_behind(before: usize, bytes: usize, expected: bool) {
        let mut written = vec![costly(); before];
        written.extend(["{".to_owned(), "y://{a}".to_owned(), "x{+a}".to_owned()]);
        let templates = Templates::parse(written.iter().map(String::as_str));
        assert_eq!(templates.matches(&"x".repeat(bytes)), expected, "{before} {bytes}");
    }

    #[test]
    fn a_uri_is_held_against_templates_for_so_long() {
        check_behind(0, 10, true);
        check_behind(0, URI_BYTES_MAX, true);
        check_behind(0, URI_BYTES_MAX + 1, false);
        check_behind(100, URI_BYTES_MAX, true);
        let steps = Template::parse(&costly()).expect("sound").steps.len();
        let most = WORK_MAX / steps / URI_BYTES_MAX;
        check_behind(most - 1, URI_BYTES_MAX, true);
        check_behind(most + 1, URI_BYTES_MAX, false);
        check_behind(most + 1, 100, true);
        check_behind(STEPS_MAX / steps + 1, 2, false);
    }

    #[test]
    fn a_template_of_a_set_that_begins_otherwise_costs_nothing() {
        let costly = format!("y{}", "{+a}".repeat(EXPRESSIONS_MAX));
        let mut written = vec![costly.as_str(); 1_000];
        written.push("x{+a}");
        assert!(Templates::parse(written).matches(&"x".repeat(URI_BYTES_MAX)));
        assert!(!Templates::parse(["y", "xy", ""]).matches("x"));
        assert!(Templates::parse(["y", "x"]).matches("x"));
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
