//! What a command says of a tool that there is not.

use super::list;
use crate::assemble::Crib;
use crate::ending::Trouble;
use crate::nearest::nearest;
use crate::print;

/// What a person may have meant by a name that is none, and which upstreams could not say what they have.
pub(crate) fn unknown(crib: &Crib, name: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    let known = offer.tools().iter().map(|tool| tool.definition().name.as_str());
    let mut said = match nearest(name, known) {
        Some(nearest) => format!("there is no tool `{name}`; did you mean `{nearest}`?"),
        None => format!("there is no tool `{name}`; `toolcrib tools list` names them all"),
    };
    for trouble in list::troubles(&crib.upstreams) {
        said.push_str(&format!("\n{trouble}"));
    }
    Trouble::Unknown { code: "unknown_tool", said: print::harmless(&said) }
}
