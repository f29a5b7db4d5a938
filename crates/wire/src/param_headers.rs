//! Arguments that a modern HTTP request repeats in headers (MCP 2026-07-28, tools, `x-mcp-header`).
//!
//! A tool's input schema names the arguments; clients send them, servers compare them with the body, so that
//! what stands between may act on headers alone. How a value is spelt is said by [`crate::headers`].

use std::borrow::Cow;

use memchr::memmem;

use crate::http::PARAM_PREFIX;
use crate::object::{self, Object};
use crate::{headers, string};

/// The annotation's key in a schema.
pub const ANNOTATION: &str = "x-mcp-header";

/// Most annotated arguments of one tool: they all go into one head.
pub const PARAM_HEADERS_MAX: usize = 64;

/// Longest name that an annotation may give, in bytes.
pub const PARAM_NAME_BYTES_MAX: usize = 128;

/// The largest whole number that every JSON reader keeps exactly: 2^53 - 1.
const EXACT_MAX: i64 = (1 << 53) - 1;

/// Longest place in a schema that a fault shows, in characters.
const PLACE_CHARS_MAX: usize = 100;

/// What a request says in one header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderText<'h> {
    /// It is not there.
    Absent,
    /// It is there once, with this value.
    Once(&'h str),
    /// It is there more than once.
    Repeated,
    /// Its value is not text.
    Unreadable,
}

/// The arguments of one tool that are repeated in headers. Empty for most tools, and then no memory is held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParamHeaders {
    annotated: Box<[Annotated]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Annotated {
    /// The header's full name in small letters.
    header: String,
    /// The argument's place: property names from the outermost in.
    path: Vec<String>,
    is_integer: bool,
}

impl ParamHeaders {
    /// Reads the annotations of a checked input schema.
    ///
    /// # Errors
    /// A sentence that names the rule which one of them breaks. HTTP clients must not offer such a tool.
    pub fn read(input_schema: &str) -> Result<ParamHeaders, String> {
        if !may_annotate(input_schema) {
            return Ok(ParamHeaders::default());
        }
        let mut walk = Walk { path: Vec::new(), found: Vec::new() };
        walk.schema(input_schema, true)?;
        Ok(ParamHeaders { annotated: walk.found.into() })
    }

    /// True if no argument is repeated.
    pub fn is_empty(&self) -> bool {
        self.annotated.is_empty()
    }

    /// The headers to send with a call: full names in small letters, and encoded values. What is absent or null
    /// has no header, nor has what a broken call puts in place of a plain value.
    pub fn values(&self, arguments: Option<Object<'_>>) -> Vec<(String, String)> {
        let header = |annotated: &Annotated| {
            let text = header_text(annotated.value(arguments)?)?;
            Some((annotated.header.clone(), headers::encode(&text).into_owned()))
        };
        self.annotated.iter().filter_map(header).collect()
    }

    /// Compares the headers of a call with its arguments. `header` is asked for full names in small letters.
    ///
    /// # Errors
    /// A sentence that names the header, if one of the two is there without the other, they differ, or the
    /// header cannot be read. No value is in it.
    pub fn check<'h>(
        &self,
        arguments: Option<Object<'_>>,
        header: &dyn Fn(&str) -> HeaderText<'h>,
    ) -> Result<(), String> {
        self.annotated
            .iter()
            .try_for_each(|annotated| annotated.check(annotated.value(arguments), header(&annotated.header)))
    }
}

impl Annotated {
    /// The text of the argument's value; nothing if it is absent or null.
    fn value<'t>(&self, arguments: Option<Object<'t>>) -> Option<&'t str> {
        let (last, outer) = self.path.split_last()?;
        let inner = outer.iter().try_fold(arguments?, |object, name| object.object(name))?;
        inner.get(last).filter(|value| *value != "null")
    }

    fn check(&self, value: Option<&str>, header: HeaderText<'_>) -> Result<(), String> {
        let name = &self.header;
        let header = match (header, value) {
            (HeaderText::Absent, None) => return Ok(()),
            // A list or an object has no spelling; the input schema refuses it.
            (HeaderText::Absent, Some(value)) if header_text(value).is_none() => return Ok(()),
            (HeaderText::Absent, Some(_)) => {
                return Err(format!("the header {name} is missing, but its argument has a value"));
            }
            (HeaderText::Repeated, _) => return Err(format!("the header {name} is there more than once")),
            (HeaderText::Unreadable, _) => return Err(format!("the header {name} is not printable ASCII")),
            (HeaderText::Once(header), _) => header,
        };
        let header = headers::decode(header).map_err(|bad| format!("the header {name}: {bad}"))?;
        let Some(value) = value else {
            return Err(format!("the header {name} is there, but its argument has no value"));
        };
        let same = match (self.is_integer && !value.starts_with('"'), header_number(&header)) {
            (true, Some(number)) if whole(value) == Some(number) => true,
            _ => header_text(value).is_some_and(|value| value == header),
        };
        if same { Ok(()) } else { Err(format!("the header {name} and its argument differ")) }
    }
}

/// How a header spells a plain value; nothing for lists and objects.
fn header_text(value: &str) -> Option<Cow<'_, str>> {
    match value.as_bytes().first() {
        Some(b'"') => Some(string::decode(value)),
        Some(b'{' | b'[') | None => None,
        Some(b't' | b'f') => Some(Cow::Borrowed(value)),
        Some(_) => Some(whole(value).map_or(Cow::Borrowed(value), |number| Cow::Owned(number.to_string()))),
    }
}

/// The whole number that a JSON number is, however it is written, if it is one that every reader keeps exactly.
fn whole(number: &str) -> Option<i64> {
    let exact = |number: i64| (-EXACT_MAX..=EXACT_MAX).contains(&number).then_some(number);
    if let Ok(number) = number.parse::<i64>() {
        return exact(number);
    }
    let number = number.parse::<f64>().ok()?;
    // Within these bounds the conversion is exact.
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX as f64).then_some(number as i64)
}

/// The whole number in a header: decimal digits, and nothing but zeros behind a point.
fn header_number(header: &str) -> Option<i64> {
    let (digits, zeros) = header.split_once('.').unwrap_or((header, ""));
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let is_decimal = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    (is_decimal && zeros.bytes().all(|byte| byte == b'0')).then(|| whole(digits)).flatten()
}

/// True unless it is certain that there is no annotation in this text: a key may be spelt with escapes.
fn may_annotate(schema: &str) -> bool {
    memmem::find(schema.as_bytes(), ANNOTATION.as_bytes()).is_some()
        || string::has_unicode_escape(schema.as_bytes())
}

/// A way through a schema. The text has been checked, so its depth is bounded.
struct Walk {
    path: Vec<String>,
    found: Vec<Annotated>,
}

impl Walk {
    /// `plain` while nothing but `properties` led here.
    fn schema(&mut self, schema: &str, plain: bool) -> Result<(), String> {
        let Some(object) = Object::parse(schema) else { return Ok(()) };
        for member in object.members() {
            match member.key().as_ref() {
                ANNOTATION => self.annotation(object, member.value, plain)?,
                _ if !may_annotate(member.value) => {}
                "properties" => self.named(member.value, plain)?,
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                    self.named(member.value, false)?;
                }
                // Data that happens to look like a schema.
                "const" | "enum" | "default" | "examples" => {}
                _ => self.elsewhere(member.value)?,
            }
        }
        Ok(())
    }

    /// Schemas by name.
    fn named(&mut self, schemas: &str, plain: bool) -> Result<(), String> {
        let members = Object::parse(schemas).into_iter().flat_map(Object::members);
        for member in members {
            self.path.push(member.key().into_owned());
            self.schema(member.value, plain)?;
            self.path.pop();
        }
        Ok(())
    }

    /// A schema or a list of them below any other keyword.
    fn elsewhere(&mut self, value: &str) -> Result<(), String> {
        match object::elements(value) {
            Some(mut elements) => elements.try_for_each(|element| self.elsewhere(element)),
            None => self.schema(value, false),
        }
    }

    fn annotation(&mut self, schema: Object<'_>, name: &str, plain: bool) -> Result<(), String> {
        let place: String = self.path.join(".").chars().take(PLACE_CHARS_MAX).collect();
        if !plain || self.path.is_empty() {
            return Err(format!("there is an {ANNOTATION} below {place:?}, outside of plain properties"));
        }
        let fault = |why| Err(format!("the {ANNOTATION} of {place:?} {why}"));
        let Some(name) = string::decode_if_string(name).filter(|name| is_header_name(name)) else {
            return fault("is no header name");
        };
        let kind = schema.string("type").unwrap_or_default();
        if !matches!(kind.as_ref(), "integer" | "string" | "boolean") {
            return fault("stands at what is neither integer, string nor boolean");
        }
        let header = [PARAM_PREFIX, &name.to_ascii_lowercase()].concat();
        if self.found.iter().any(|known| known.header == header) {
            return fault("is given twice");
        }
        if self.found.len() == PARAM_HEADERS_MAX {
            return Err(format!("more than {PARAM_HEADERS_MAX} arguments have an {ANNOTATION}"));
        }
        self.found.push(Annotated { header, path: self.path.clone(), is_integer: kind == "integer" });
        Ok(())
    }
}

/// RFC 9110 section 5.6.2, `token`.
fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= PARAM_NAME_BYTES_MAX && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests;
