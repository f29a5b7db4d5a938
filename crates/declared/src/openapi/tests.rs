//! Operations as manifests, and what is told of those that cannot be any.

use super::*;

fn document() -> Value {
    json!({
        "openapi": "3.0.3",
        "servers": [{ "url": "https://{at}.test/v1/", "variables": { "at": { "default": "api" } } }],
        "security": [{ "both": [], "key": [] }, { "key": [] }],
        "components": {
            "securitySchemes": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" } },
            "parameters": { "id": { "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } } },
            "schemas": {
                "Node": { "type": "object", "required": ["id", "name"], "properties": {
                    "id": { "type": "integer", "readOnly": true },
                    "name": { "type": "string", "nullable": true },
                    "size": { "type": "number", "minimum": 0, "exclusiveMinimum": true },
                    "next": { "$ref": "#/components/schemas/Node" },
                    "any": { "$id": "any", "$defs": { "it": { "$dynamicAnchor": "it" } }, "items": { "$dynamicRef": "#it" } },
                } },
            },
        },
        "paths": { "/nodes/{id}": {
            "parameters": [{ "$ref": "#/components/parameters/id" }],
            "put": {
                "operationId": "put node", "summary": "\u{1b}[31mPut\u{1b}[0m a node",
                "parameters": [
                    { "name": "id", "in": "query", "schema": { "type": "string" } },
                    { "name": "deep", "in": "query", "schema": { "type": "object" } },
                    { "name": "authorization", "in": "header", "required": true, "schema": { "type": "string" } },
                    { "name": "Accept", "in": "header", "schema": { "type": "string" } },
                ],
                "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Node" } } } },
                "responses": { "200": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Node" } } } } },
            },
            "delete": { "operationId": "gone", "security": [], "parameters": [
                { "name": "at", "in": "cookie", "required": true, "schema": {} },
            ] },
        } },
    })
}

#[test]
fn an_operation_is_a_manifest() {
    let made =
        manifests_from(&document(), &["put node".to_owned()], None).unwrap_or_else(|why| panic!("{why:?}"));
    let node = |more: Value| {
        let mut properties = json!({
            "name": { "type": ["string", "null"] },
            "size": { "type": "number", "exclusiveMinimum": 0 },
            "next": { "$ref": "#/$defs/Node" },
            "any": { "items": {} },
        });
        properties.as_object_mut().expect("members").extend(more.as_object().expect("members").clone());
        properties
    };
    let received = node(json!({ "id": { "type": "integer", "readOnly": true } }));
    let expected = json!({
        "id": "put_node", "name": "Put a node", "description": "Put a node", "scopes": ["network"],
        "effect": "writes", "idempotent": true, "hosts": ["api.test"],
        "http": {
            "method": "PUT", "url": "https://api.test/v1/nodes/{id}", "query": { "id": "{id_query}" },
            "headers": { "X-Key": "${store:KEY}" }, "body": "{body}",
        },
        "inputs": {
            "type": "object", "additionalProperties": false, "required": ["id", "body"],
            "properties": {
                "id": { "type": "integer" }, "id_query": { "type": "string" }, "body": { "$ref": "#/$defs/Node" },
            },
            "$defs": { "Node": { "type": "object", "required": ["name"], "properties": node(json!({})) } },
        },
        "outputs": {
            "type": "object", "required": ["id", "name"], "properties": received.clone(),
            "$defs": { "Node": { "type": "object", "required": ["id", "name"], "properties": received } },
        },
    });
    assert_eq!(made[0].manifest, expected);
    assert_eq!(
        made[0].notes,
        [
            "the parameter deep in query is left out: it is an object",
            "the parameter authorization in header is left out: OpenAPI has it ignored",
            "the parameter Accept in header is left out: OpenAPI has it ignored",
        ]
    );
    let text = expected.to_string();
    let tool = crate::tool(&text, crate::Format::Json, std::path::Path::new("/"));
    assert!(tool.is_ok(), "{:?}", tool.err());
}

#[test]
fn what_cannot_be_asked_is_told() {
    let told = |document: &Value, name: &str| {
        manifests_from(document, &[name.to_owned()], None).err().unwrap_or_default().join("\n")
    };
    assert_eq!(
        told(&document(), "gone"),
        "gone: the parameter at in cookie is left out: it has no place in a request of ours"
    );
    assert_eq!(told(&document(), "none"), "there is no operation none; there are put node, gone");
    let mut other = document();
    other["openapi"] = "2.0".into();
    assert_eq!(told(&other, "gone"), "openapi: it must be 3.0 or 3.1, and is 2.0");
    let mut relative = document();
    relative["servers"] = json!([{ "url": "/v1" }]);
    assert_eq!(
        told(&relative, "put node"),
        "put node: its server \"/v1\" is no whole address; say one with --server URL"
    );
    let mut cookie = document();
    cookie["components"]["securitySchemes"]["key"]["in"] = "cookie".into();
    assert_eq!(told(&cookie, "put node"), "put node: no way to sign in that a header says");
    let mut twice = document();
    twice["paths"]["/nodes/{id}"]["delete"]["operationId"] = "put node".into();
    let both = "put node: it is the id of PUT /nodes/{id} and DELETE /nodes/{id}; each needs its own";
    assert_eq!(told(&twice, "put node"), both);
    let mut unsaid = document();
    unsaid["components"]["parameters"]["id"]["name"] = "key".into();
    let place = "put node: its address has {id}, and no parameter in path is called so";
    unsaid["paths"]["/nodes/{id}"]["put"]["parameters"] = json!([]);
    assert_eq!(told(&unsaid, "put node"), place);
    assert_eq!(
        told(&json!({ "swagger": "2.0" }), "x"),
        "openapi: it must be 3.0 or 3.1, and is Swagger 2.0; convert it first"
    );
}

#[test]
fn what_a_document_refers_to_and_has_not_is_any_value_and_told() {
    let mut document = document();
    document["components"]["parameters"]["id"].as_object_mut().expect("members").remove("schema");
    let properties = &mut document["components"]["schemas"]["Node"]["properties"];
    properties["next"] = json!({ "$ref": "#/components/schemas/Nod" });
    properties["any"] = json!({ "$ref": "other.yaml#/Any" });
    let made =
        manifests_from(&document, &["put node".to_owned()], None).unwrap_or_else(|why| panic!("{why:?}"));
    let inputs = &made[0].manifest["inputs"];
    assert_eq!(inputs["properties"]["id"], json!({ "type": "string" }));
    let node = &inputs["$defs"]["Node"]["properties"];
    assert_eq!((&node["next"], &node["any"]), (&json!({}), &json!({})));
    let lost = &made[0].notes[made[0].notes.len() - 2..];
    assert_eq!(
        lost,
        [
            "other.yaml#/Any is not in the document: any value is taken in its place",
            "#/components/schemas/Nod is not in the document: any value is taken in its place",
        ]
    );
    let text = made[0].manifest.to_string();
    let tool = crate::tool(&text, crate::Format::Json, std::path::Path::new("/"));
    assert!(tool.is_ok(), "{:?}", tool.err());
}

#[test]
fn what_an_answer_refers_to_and_the_document_has_not_is_told() {
    let nod = "#/components/schemas/Nod is not in the document: any value is taken in its place";
    let refers = |to: &str| json!({ "$ref": to });
    let schema = |schema: Value| json!({ "content": { "application/json": { "schema": schema } } });
    for (response, is_told, has_outputs) in [
        (
            refers("#/components/responses/Non"),
            "its answer: #/components/responses/Non leads nowhere in the document: \
            any value is taken in its place",
            false,
        ),
        (schema(refers("#/components/schemas/Nod")), nod, false),
        (
            schema(json!({ "type": "object", "properties": { "a": refers("#/components/schemas/Nod") } })),
            nod,
            true,
        ),
    ] {
        let mut document = document();
        document["paths"]["/nodes/{id}"]["put"]["responses"]["200"] = response;
        let made =
            manifests_from(&document, &["put node".to_owned()], None).unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(made[0].notes.last().map(String::as_str), Some(is_told));
        assert_eq!(made[0].manifest["outputs"].is_object(), has_outputs, "{is_told}");
    }
}
