//! Why a program does not run where a layer is missing that its operator has waived: the waiver does not hold for all.

use super::confiner::Confined;
use super::layer::{Layer, Unavailable};

/// With the machine's network a program that opens sockets would reach whatever that reaches.
const WAIVED_IN_VAIN: &str = "sandbox.waive names it, which holds only for programs without a network, such as a server with \
     sandbox.network = \"none\"";

impl Confined {
    /// That it does not run without this layer.
    pub(super) fn lacking(&self, layer: Layer, why: String) -> Unavailable {
        let is_way_out = matches!(layer, Layer::NetworkNamespace | Layer::Loopback);
        let is_waived = is_way_out && self.profile.sockets.has_network() && self.waived.contains(&layer);
        Unavailable { layer, why: if is_waived { format!("{why}; {WAIVED_IN_VAIN}") } else { why } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::profile::Profile;
    use super::*;

    #[test]
    fn a_waiver_that_does_not_hold_is_said() {
        let all = [Layer::NetworkNamespace, Layer::Loopback, Layer::Landlock];
        for (profile, layer, waived, is_said) in [
            (Profile::upstream(), Layer::NetworkNamespace, &all[..], true),
            (Profile::browser(), Layer::Loopback, &all, true),
            (Profile::upstream(), Layer::NetworkNamespace, &[], false),
            (Profile::upstream(), Layer::Landlock, &all, false),
            (Profile::shell(), Layer::NetworkNamespace, &all, false),
        ] {
            let program = Confined { waived: waived.to_vec(), ..Confined::new(profile, "x", "/w") };
            let missing = program.lacking(layer, "not permitted".to_owned());
            assert_eq!(missing.why.contains("only for programs without a network"), is_said, "{layer:?}");
        }
    }
}
