//! What is done with one input of each fuzz target. An input is good if nothing panics and every promise of
//! `wire` that is asserted here holds.
//!
//! The targets call these with inputs that a fuzzer makes up; a test of `wire` calls them with the inputs that
//! are kept in `corpus/`, so that the ordinary toolchain repeats what was once found.

#![allow(dead_code, reason = "each target uses one of these")]

use bytes::Bytes;
use wire::message::{Frame, Message, Rejected, Text};
use wire::param_headers::{HeaderText, ParamHeaders};
use wire::sse::{Event, Events};
use wire::subscriptions::Filter;
use wire::uri_template::{TEMPLATE_BYTES_MAX, Templates};
use wire::{
    Object, Revision, completion, headers, meta, prompts, reduce, resources, scan, tools, uris, write,
};

/// Does what a target does with one input.
pub(crate) type Entry = fn(&[u8]);

/// Every target by the name of its folder in `corpus/`.
pub(crate) const ALL: [(&str, Entry); 5] = [
    ("frame", frame),
    ("sse", sse),
    ("headers", headers),
    ("param_headers", param_headers),
    ("uri_template", uri_template),
];

/// A frame, and everything that is read from its parts.
pub(crate) fn frame(data: &[u8]) {
    match Frame::parse(Bytes::copy_from_slice(data)) {
        Ok(Frame::Single(read)) => message(&read),
        Ok(Frame::Batch(messages)) => messages.iter().for_each(|read| match read {
            Ok(read) => message(read),
            Err(rejected) => answered(rejected),
        }),
        Err(rejected) => answered(&rejected),
    }
}

fn answered(rejected: &Rejected) {
    let mut out = Vec::new();
    write::error(&mut out, rejected.id.as_ref(), &rejected.error);
    scan::check(&out).expect("an error answer is JSON");
}

fn message(message: &Message) {
    match message {
        Message::Request { id, method, params } => {
            let mut out = Vec::new();
            let text = params.as_ref().map(|params| params.as_str().as_bytes());
            write::request(&mut out, id, method, text);
            let Ok(Frame::Single(Message::Request { id: read, method: said, .. })) = Frame::parse(out.into())
            else {
                panic!("a request that was read can be written");
            };
            assert_eq!((&read, &said), (id, method));
            parameters(params.as_ref());
        }
        Message::Notification { params, .. } => parameters(params.as_ref()),
        Message::Response { answer: Ok(part), .. } | Message::Response { answer: Err(part), .. } => {
            result(part)
        }
    }
}

fn parameters(params: Option<&Text>) {
    // What comes of these is of no interest but that they come to an end.
    let _ = (tools::call_params(params), tools::list_cursor(params), prompts::get_params(params));
    let _ = (resources::uri_params("resources/read", params), meta::envelope(params));
    if let (Some(params), Ok(_)) = (params, completion::complete_params(params)) {
        sound(&completion::redirected(params, "else\"where", Some("{}")));
    }
    if let Ok(filter) = Filter::read(params) {
        let written = Text::check(filter.write_params(None).into()).expect("a filter is JSON");
        assert_eq!(Filter::read(Some(&written)), Ok(filter));
    }
}

fn result(result: &Text) {
    let _ = (
        tools::read_list_result(result),
        resources::read_list_result(result),
        prompts::read_list_result(result),
    );
    for revision in Revision::ALL {
        for reduced in [
            reduce::call_result(revision, result),
            reduce::prompt_result(revision, result),
            reduce::read_result(revision, result),
            reduce::complete_result(revision, result),
            reduce::tool(revision, result),
            reduce::listed(revision, result),
        ] {
            sound(reduced.as_str());
        }
    }
    let map = |uri: &str| format!("up\"{uri}");
    for kind in [uris::Kind::CallResult, uris::Kind::ReadResult, uris::Kind::PromptResult] {
        sound(uris::rewrite(result, kind, &map).as_str());
        assert_eq!(&uris::rewrite(result, kind, &str::to_owned), result);
    }
    let maps = uris::Maps { name: Some(&map), uri: Some(&map), template: Some(&map) };
    sound(uris::rewrite_list_entry(result, maps).as_str());
}

fn sound(text: &str) {
    // Depth is no matter of soundness: what is put into a text may lie a level deeper than what it replaces.
    match scan::check_text(text) {
        Ok(()) | Err(scan::Fault::TooDeep) => {}
        Err(fault) => panic!("{fault}: {text}"),
    }
}

/// A stream of events: it means the same however it arrives.
pub(crate) fn sse(data: &[u8]) {
    let whole = events(data, data.len().max(1));
    assert_eq!(whole, events(data, 1));
    assert_eq!(whole, events(data, 3));
}

fn events(data: &[u8], piece: usize) -> (Vec<Event>, Option<u64>, Option<String>) {
    let mut events = Events::default();
    let mut found = Vec::new();
    for bytes in data.chunks(piece) {
        events.feed(bytes).expect("the input is small");
        found.extend(std::iter::from_fn(|| events.next_event()));
    }
    (found, events.retry(), events.last_id().map(str::to_owned))
}

/// A header's value, and the same bytes as a value to be sent.
pub(crate) fn headers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sent = headers::encode(text);
    assert!(sent.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)), "{sent:?}");
    assert_eq!(headers::decode(&sent).as_deref(), Ok(text));
    if let Ok(said) = headers::decode(text) {
        assert_eq!(headers::decode(&headers::encode(&said)).as_deref(), Ok(&*said));
    }
}

/// A schema and, behind the first NUL, arguments.
pub(crate) fn param_headers(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0).map(scan::check);
    let Some(Ok(schema)) = parts.next() else { return };
    let Ok(annotated) = ParamHeaders::read(schema) else { return };
    let Some(Ok(arguments)) = parts.next() else { return };
    let arguments = Object::parse(arguments);
    let sent = annotated.values(arguments);
    let header = |asked: &str| match sent.iter().find(|(name, _)| name == asked) {
        Some((_, value)) => HeaderText::Once(value),
        None => HeaderText::Absent,
    };
    assert_eq!(annotated.check(arguments, &header), Ok(()));
    let changed = |_: &str| HeaderText::Once("something else entirely");
    let is_said = sent.iter().any(|(_, value)| value == "something else entirely");
    assert!(annotated.is_empty() || is_said || annotated.check(arguments, &changed).is_err());
}

/// A template and, behind the first line end, a URI.
pub(crate) fn uri_template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (template, uri) = text.split_once('\n').unwrap_or((text, ""));
    let fits = Templates::parse([template]).matches(uri);
    if !template.contains(['{', '}']) && template.len() <= TEMPLATE_BYTES_MAX {
        assert_eq!(fits, template == uri);
    }
}
