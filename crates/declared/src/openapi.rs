//! `manifests_from`: operations of an OpenAPI 3.0 or 3.1 document as manifests, to be read, changed and kept by a person.

mod schemas;

use serde_json::{Map, Value, json};

use schemas::{Direction, Schemas};
use tool_api::PlainText;

use crate::template::{Piece, pieces};

/// The methods that a document may have below a path.
const METHODS: [(&str, &str, bool); 5] = [
    ("get", "reads", true),
    ("post", "writes", false),
    ("put", "writes", true),
    ("patch", "writes", false),
    ("delete", "destroys", true),
];

/// What a model reads of a tool.
const DESCRIPTION_CHARS_MAX: usize = 1_500;
const NAME_CHARS_MAX: usize = 60;

/// Longest id of a tool.
const ID_CHARS_MAX: usize = 64;

/// How many names are told to whoever has mistyped one.
const NAMES_TOLD_MAX: usize = 20;

/// The argument that is the body of a request.
const BODY: &str = "body";

/// Headers that are no parameters, whatever a document says (OpenAPI 3.1, 4.8.12.2): its answers, its body and its security say them.
const SAID_ELSEWHERE: [&str; 3] = ["accept", "content-type", "authorization"];

/// A manifest that was made: the tool's id, and its text as JSON.
pub struct Made {
    /// The id.
    pub id: String,
    /// The manifest.
    pub manifest: Value,
    /// What of the operation is not in it.
    pub notes: Vec<String>,
}

/// One operation of a document.
#[derive(Clone, Copy)]
struct Operation<'d> {
    path: &'d str,
    method: &'static str,
    effect: &'static str,
    idempotent: bool,
    /// What holds for all operations of its path.
    shared: &'d Value,
    said: &'d Value,
}

/// The manifests of these operations, by their `operationId`. `server` stands in place of the document's own.
///
/// # Errors
/// Everything that keeps one from being a tool.
pub fn manifests_from(
    document: &Value,
    operations: &[String],
    server: Option<&str>,
) -> Result<Vec<Made>, Vec<String>> {
    let version = document["openapi"].as_str().unwrap_or("none");
    if !version.starts_with("3.0.") && !version.starts_with("3.1.") {
        let found = match document["swagger"].as_str() {
            Some(old) => format!("is Swagger {old}; convert it first"),
            None => format!("is {version}"),
        };
        return Err(vec![format!("openapi: it must be 3.0 or 3.1, and {found}")]);
    }
    let known = all(document);
    let (mut made, mut problems) = (Vec::new(), Vec::new());
    for name in operations {
        let is_it = |operation: &&Operation<'_>| operation.said["operationId"] == name.as_str();
        let found: Vec<_> = known.iter().filter(is_it).collect();
        let [operation] = found[..] else {
            if !found.is_empty() {
                problems.push(format!("{name}: it is the id of {}; each needs its own", told(&found)));
                continue;
            }
            let names = known.iter().filter_map(|operation| operation.said["operationId"].as_str());
            let names: Vec<&str> = names.collect();
            let more = if names.len() > NAMES_TOLD_MAX { ", …" } else { "" };
            let names = names[..names.len().min(NAMES_TOLD_MAX)].join(", ");
            problems.push(format!("there is no operation {name}; there are {names}{more}"));
            continue;
        };
        let making = Making { document, operation, server, notes: Vec::new() };
        match making.manifest(name) {
            Ok(one) => made.push(one),
            Err(why) => problems.push(format!("{name}: {why}")),
        }
    }
    if problems.is_empty() { Ok(made) } else { Err(problems) }
}

fn told(operations: &[&Operation<'_>]) -> String {
    let told = operations.iter().map(|one| format!("{} {}", one.method.to_uppercase(), one.path));
    told.collect::<Vec<_>>().join(" and ")
}

fn all(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut found = Vec::new();
    for (path, shared) in paths {
        for (method, effect, idempotent) in METHODS {
            if let Some(said) = shared.get(method) {
                found.push(Operation { path, method, effect, idempotent, shared, said });
            }
        }
    }
    found
}

struct Making<'d> {
    document: &'d Value,
    operation: &'d Operation<'d>,
    server: Option<&'d str>,
    notes: Vec<String>,
}

impl<'d> Making<'d> {
    fn manifest(mut self, name: &str) -> Result<Made, String> {
        let Operation { path, method, effect, idempotent, said, .. } = *self.operation;
        let server = self.server()?;
        let host =
            server.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
        let mut inputs = Inputs::new(Schemas::of(self.document, Direction::Sent));
        let mut http = json!({ "method": method.to_uppercase(), "url": format!("{}{}", server.trim_end_matches('/'), path) });
        self.parameters(&mut inputs, &mut http)?;
        inputs.are_all(http["url"].as_str().unwrap_or_default())?;
        self.body(&mut inputs, &mut http)?;
        self.notes.extend(inputs.schemas.lost());
        self.security(&mut http)?;
        let id: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
            .take(ID_CHARS_MAX)
            .collect();
        let words = |key: &str| said[key].as_str().filter(|text| !text.trim().is_empty());
        let title = words("summary").unwrap_or(name);
        let description = words("description").or(words("summary")).unwrap_or(name);
        let mut manifest = json!({
            "id": id,
            "name": cut(&plain(title).split_whitespace().collect::<Vec<_>>().join(" "), NAME_CHARS_MAX),
            "description": cut(&plain(description), DESCRIPTION_CHARS_MAX),
            "scopes": ["network"],
            "effect": effect,
            "idempotent": idempotent,
            "hosts": [host],
            "http": http,
            "inputs": inputs.schema(),
        });
        if let Some(outputs) = self.outputs() {
            manifest["outputs"] = outputs;
        }
        Ok(Made { id, manifest, notes: self.notes })
    }

    /// Where it is asked: the first server, with the defaults of its variables.
    fn server(&self) -> Result<String, String> {
        let Operation { shared, said, .. } = self.operation;
        let first = [*said, *shared, self.document].into_iter().find_map(|it| it["servers"].get(0));
        let url = match (self.server, first) {
            (Some(server), _) => server.to_owned(),
            (None, Some(server)) => {
                let mut url = server["url"].as_str().unwrap_or_default().to_owned();
                for (name, variable) in server["variables"].as_object().into_iter().flatten() {
                    let value = variable["default"].as_str().unwrap_or_default();
                    url = url.replace(&format!("{{{name}}}"), value);
                }
                url
            }
            (None, None) => String::new(),
        };
        match url.starts_with("http://") || url.starts_with("https://") {
            true => Ok(url),
            false => Err(format!("its server {url:?} is no whole address; say one with --server URL")),
        }
    }

    fn parameters(&mut self, inputs: &mut Inputs<'d>, http: &mut Value) -> Result<(), String> {
        let (document, Operation { shared, said, .. }) = (self.document, *self.operation);
        let mut parameters: Vec<&Value> = Vec::new();
        for list in [&shared["parameters"], &said["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = resolved(document, parameter)?;
                let is_same = |one: &&Value| one["name"] == parameter["name"] && one["in"] == parameter["in"];
                // An operation says more than its path.
                parameters.retain(|one| !is_same(one));
                parameters.push(parameter);
            }
        }
        for parameter in parameters {
            let (name, place) = (
                parameter["name"].as_str().unwrap_or_default(),
                parameter["in"].as_str().unwrap_or_default(),
            );
            if place == "header" && SAID_ELSEWHERE.contains(&&*name.to_ascii_lowercase()) {
                let told = format!("the parameter {name} in header is left out: OpenAPI has it ignored");
                self.notes.push(told);
                continue;
            }
            let is_needed = parameter["required"] == true || place == "path";
            let why = match (place, unsupported(parameter)) {
                ("path" | "query" | "header", None) if !name.contains(['{', '}']) => None,
                (_, Some(why)) => Some(why),
                (_, None) => Some("it has no place in a request of ours"),
            };
            if let Some(why) = why {
                let told = format!("the parameter {name} in {place} is left out: {why}");
                if is_needed {
                    return Err(told);
                }
                self.notes.push(told);
                continue;
            }
            let argument = inputs.add(name, place, parameter, is_needed);
            let said = format!("{{{argument}}}");
            match place {
                "query" => http["query"][name] = said.into(),
                "header" => http["headers"][name] = said.into(),
                _ if argument != name => {
                    let url = http["url"].as_str().unwrap_or_default().replace(&format!("{{{name}}}"), &said);
                    http["url"] = url.into();
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&mut self, inputs: &mut Inputs<'d>, http: &mut Value) -> Result<(), String> {
        let said: &'d Value = self.operation.said;
        let body = &said["requestBody"];
        if body.is_null() {
            return Ok(());
        }
        let body = resolved(self.document, body)?;
        let is_needed = body["required"] == true;
        match json_of(&body["content"]) {
            Some(media) => {
                let argument = inputs.add(BODY, BODY, media, is_needed);
                http["body"] = format!("{{{argument}}}").into();
                Ok(())
            }
            None if is_needed => Err("its body is no JSON".to_owned()),
            None => {
                self.notes.push("its body is left out: it is no JSON".to_owned());
                Ok(())
            }
        }
    }

    /// The header that says who asks, with a kept secret in it: that of the first way that needs no more.
    fn security(&self, http: &mut Value) -> Result<(), String> {
        let own = &self.operation.said["security"];
        let ways = if own.is_null() { &self.document["security"] } else { own };
        let Some(ways) = ways.as_array().filter(|ways| !ways.is_empty()) else { return Ok(()) };
        if ways.iter().any(|way| way.as_object().is_some_and(Map::is_empty)) {
            return Ok(());
        }
        for way in ways {
            let Some((name, _)) =
                way.as_object().filter(|way| way.len() == 1).and_then(|way| way.iter().next())
            else {
                continue;
            };
            let scheme = &self.document["components"]["securitySchemes"][name];
            let kind = (scheme["type"].as_str(), scheme["scheme"].as_str(), scheme["in"].as_str());
            let secret: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let secret = format!("${{store:{}}}", secret.to_uppercase());
            let (header, value) = match kind {
                (Some("http"), Some(scheme), _) if scheme.eq_ignore_ascii_case("bearer") => {
                    ("Authorization", format!("Bearer {secret}"))
                }
                (Some("http"), Some(scheme), _) if scheme.eq_ignore_ascii_case("basic") => {
                    ("Authorization", format!("Basic {secret}"))
                }
                (Some("oauth2" | "openIdConnect"), _, _) => ("Authorization", format!("Bearer {secret}")),
                (Some("apiKey"), _, Some("header")) => (scheme["name"].as_str().unwrap_or_default(), secret),
                _ => continue,
            };
            http["headers"][header] = value.into();
            return Ok(());
        }
        Err("no way to sign in that a header says".to_owned())
    }

    /// What it gives when all is well, if that is one JSON object.
    fn outputs(&mut self) -> Option<Value> {
        let responses = self.operation.said["responses"].as_object()?;
        let (_, response) = responses.iter().find(|(status, _)| status.starts_with('2'))?;
        let response = resolved(self.document, response)
            .map_err(|why| self.notes.push(format!("its answer: {why}: any value is taken in its place")))
            .ok()?;
        let media = json_of(&response["content"])?;
        let mut schemas = Schemas::of(self.document, Direction::Received);
        let whole = schemas.whole(&media["schema"]);
        // What requests refer to as well is told once.
        let lost: Vec<String> = schemas.lost().filter(|lost| !self.notes.contains(lost)).collect();
        self.notes.extend(lost);
        (whole["type"] == "object").then_some(whole)
    }
}

/// What a value of the document refers to, or itself.
fn resolved<'d>(document: &'d Value, value: &'d Value) -> Result<&'d Value, String> {
    let Some(reference) = value["$ref"].as_str() else { return Ok(value) };
    let found = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
    found.ok_or_else(|| format!("{reference} leads nowhere in the document"))
}

/// The arguments of a tool.
struct Inputs<'d> {
    schemas: Schemas<'d>,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl<'d> Inputs<'d> {
    fn new(schemas: Schemas<'d>) -> Inputs<'d> {
        Inputs { schemas, properties: Map::new(), required: Vec::new() }
    }

    /// Takes one; gives its name, which no other has.
    fn add(&mut self, name: &str, place: &str, said: &Value, is_needed: bool) -> String {
        let mut argument = name.to_owned();
        while self.properties.contains_key(&argument) {
            argument = format!("{argument}_{place}");
        }
        let mut schema = match &said["schema"] {
            Value::Null if place == BODY => json!({}),
            Value::Null => json!({ "type": "string" }),
            schema => self.schemas.part(schema),
        };
        if let (Some(description), Some(members)) = (said["description"].as_str(), schema.as_object_mut()) {
            members.entry("description").or_insert_with(|| plain(description).into());
        }
        self.properties.insert(argument.clone(), schema);
        if is_needed {
            self.required.push(argument.clone());
        }
        argument
    }

    /// Whether every place of an address is for one of them.
    fn are_all(&self, url: &str) -> Result<(), String> {
        // One that cannot be cut up is told when the manifest is read.
        let pieces = pieces(url).unwrap_or_default();
        match pieces.iter().filter_map(Piece::argument).find(|place| !self.properties.contains_key(*place)) {
            Some(place) => Err(format!("its address has {{{place}}}, and no parameter in path is called so")),
            None => Ok(()),
        }
    }

    fn schema(self) -> Value {
        let mut schema = json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        });
        self.schemas.define_in(&mut schema);
        schema
    }
}

/// Why a parameter cannot be written as the document wants it.
fn unsupported(parameter: &Value) -> Option<&'static str> {
    let kind = parameter["schema"]["type"].as_str();
    match (parameter["in"].as_str(), kind) {
        _ if parameter.get("content").is_some() => Some("it is written as a document of its own"),
        (_, Some("object")) => Some("it is an object"),
        (Some("path" | "header"), Some("array")) => Some("it is a list"),
        (Some("query"), Some("array")) if parameter["explode"] == false => Some("its items are joined"),
        _ => None,
    }
}

/// What a body is as JSON, if it can be.
fn json_of(content: &Value) -> Option<&Value> {
    let is_json = |name: &str| {
        let name = name.split(';').next().unwrap_or_default().trim();
        name == "application/json" || name.ends_with("+json")
    };
    content.as_object()?.iter().find(|(name, _)| is_json(name)).map(|(_, media)| media)
}

/// A text as a manifest may have it: without what draws on terminals.
fn plain(text: &str) -> String {
    PlainText::of(text.as_bytes()).chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
