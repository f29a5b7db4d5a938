//! How the servers are doing, for the commands that list what they offer or look for it in vain.

use admin::ServerTools;

use daemon::assemble::Crib;
use daemon::upstreams::Upstreams;
use terminal::{Trouble, print};

pub(super) fn servers(upstreams: &Upstreams) -> Vec<ServerTools> {
    upstreams.iter().map(|upstream| ServerTools::of(&upstream)).collect()
}

pub(super) fn tell_troubles(upstreams: &Upstreams) {
    servers(upstreams).iter().filter_map(ServerTools::trouble).for_each(|trouble| print::remark(&trouble));
}

/// What a person may have meant by the name of a tool, prompt or resource (`what`) that there is none of, and which
/// servers could not say what they have.
pub(super) fn unknown<'a>(
    upstreams: &Upstreams,
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Trouble {
    let troubles = servers(upstreams);
    admin::unknown(what, name, known, troubles.iter().filter_map(ServerTools::trouble)).into()
}

/// A tool that there is not.
pub(super) fn unknown_tool(crib: &Crib, name: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    let known = offer.tools.iter().map(|tool| tool.definition().name.as_str());
    unknown(&crib.upstreams, "tool", name, known)
}
