//! What we say of a result besides what its tool gave: members of its `_meta` whose names begin with ours.

use wire::{Object, patch};

/// Sets a member of the `_meta` of the result object that stands behind `start`. `value` is JSON text; all else keeps its bytes.
pub(super) fn add(out: &mut Vec<u8>, start: usize, key: &str, value: &str) {
    let result = std::str::from_utf8(&out[start..]).ok().and_then(Object::parse);
    let Some(with) = result.map(|result| with(result, key, value)) else { return };
    out.truncate(start);
    out.extend_from_slice(with.as_bytes());
}

/// The same of an object that has been read.
pub(super) fn with(result: Object<'_>, key: &str, value: &str) -> String {
    let meta = match result.object("_meta") {
        Some(meta) => patch::set(meta, key, value),
        None => format!("{{\"{key}\":{value}}}"),
    };
    patch::set(result, "_meta", &meta)
}
