//! How the servers are doing, for the commands that list what they offer or look for it in vain.

use admin::{Fault, ServerTools};

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

/// A tool that there is not, or not for whoever asks.
pub(super) fn unknown_tool(crib: &Crib, name: &str) -> Trouble {
    let offer = crib.gate.catalog().offer();
    // To an agent it is unknown; whoever types this may look into the policy.
    if offer.get(name).is_some() {
        let why = format!(
            "the policy keeps `{name}` from you; `toolcrib policy explain {name}` says by which rule"
        );
        return Fault::unknown("unknown_tool", why).into();
    }
    let known = offer.tools.iter().map(|tool| tool.definition().name.as_str());
    let (servers, files) = (servers(&crib.upstreams), crib.declared.problems());
    let wrong = files.into_iter().filter(|why| is_of(why, name));
    admin::unknown("tool", name, known, servers.iter().filter_map(ServerTools::trouble).chain(wrong)).into()
}

/// Whether a sentence on what is wrong with a manifest, which begins with its file, is about one of this name.
fn is_of(why: &str, name: &str) -> bool {
    let file = why.split([':', ' ']).next().unwrap_or_default();
    let last = file.rsplit('/').next().unwrap_or_default();
    last.split_once('.').is_some_and(|(stem, _)| stem == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_manifest_is_known_by_its_name() {
        for (why, expected) in [
            ("/home/u/.config/toolcrib/tools/stock.toml: id: it is none", true),
            ("/home/u/tools/stock.json can be written by other users", true),
            ("/home/u/tools/stocks.toml: stock: it is none", false),
            ("/home/u/stock/x.toml: id: stock", false),
            ("", false),
        ] {
            assert_eq!(is_of(why, "stock"), expected, "{why}");
        }
    }
}
