//! JSON pointers (RFC 6901), by which faults and answers say where something stands.

/// The pointer of the member of this name in what stands at `pointer`, which is empty for the whole.
pub fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The name of the member that a step of a pointer leads to.
pub fn name(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
