//! The second fence around files: what the mounts permit by mistake is refused here. It also refuses TCP to programs without a network, and signals
//! and abstract sockets that lead out, where the kernel knows how.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::given::{HOME, Init};
use super::system::DEVICES_FOLDER;
use crate::confine::profile::Sockets;

/// What a kernel must know: with it, no file can be cut short that may not be written.
const ABI_MIN: ABI = ABI::V3;

/// From the newest that is asked for: TCP, devices, and what leads out of the sandbox.
const ABIS: [ABI; 4] = [ABI::V6, ABI::V5, ABI::V4, ABI_MIN];

/// Folders that may be written besides what the order shows.
const SCRATCH: [&str; 2] = ["/tmp", HOME];

/// The fence of programs without a network as far as it is the same for all of them.
pub(crate) struct Begun {
    abi: ABI,
    rules: RulesetCreated,
}

/// To be called in the new root. Nothing if it cannot be had: whoever restricts itself then tries again and says why.
pub(super) fn begin() -> Option<Begun> {
    begun(Sockets::None).ok()
}

pub(super) fn restrict(init: &Init) -> io::Result<()> {
    let Begun { abi, rules } = match &init.fence {
        Some(Begun { abi, rules }) if !init.order.sockets.has_network() => {
            Begun { abi: *abi, rules: rules.try_clone()? }
        }
        _ => begun(init.order.sockets)?,
    };
    enforce(init, abi, rules)
}

/// What this kernel knows of it, in words.
pub(in crate::confine) fn version() -> String {
    match newest(Sockets::None) {
        Ok((ABI::V6, _)) => "version 6 or newer".to_owned(),
        Ok((abi, _)) => format!("version {}", abi as i32),
        Err(error) => format!("not there: {error}"),
    }
}

/// The newest that this kernel knows, with no rule yet. Everything that is asked of it must then hold: nothing is left out
/// in silence.
fn newest(sockets: Sockets) -> Result<(ABI, RulesetCreated), RulesetError> {
    let made = |abi| Ok((abi, handled(abi, sockets)?.create()?));
    // Why not even the oldest is there.
    ABIS.into_iter().find_map(|abi| made(abi).ok()).map_or_else(|| made(ABI_MIN), Ok)
}

fn handled(abi: ABI, sockets: Sockets) -> Result<Ruleset, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    let (net, scope) = (AccessNet::from_all(abi), Scope::from_all(abi));
    // Whoever has a network has one of its own.
    if !net.is_empty() && !sockets.has_network() {
        rules = rules.handle_access(net)?;
    }
    if !scope.is_empty() {
        rules = rules.scope(scope)?;
    }
    Ok(rules)
}

fn begun(sockets: Sockets) -> io::Result<Begun> {
    let (abi, rules) = newest(sockets).map_err(io::Error::other)?;
    let mut rules = allow(rules, Path::new("/"), AccessFs::from_read(abi))?;
    for folder in SCRATCH {
        rules = allow(rules, Path::new(folder), AccessFs::from_all(abi))?;
    }
    rules = allow(rules, Path::new(DEVICES_FOLDER), AccessFs::from_file(abi) & !AccessFs::Execute)?;
    Ok(Begun { abi, rules })
}

fn enforce(init: &Init, abi: ABI, mut rules: RulesetCreated) -> io::Result<()> {
    let all = AccessFs::from_all(abi);
    for mount in init.order.mounts.iter().filter(|mount| mount.is_writable) {
        let path = Path::new(&mount.at);
        let access = if path.is_dir() { all } else { AccessFs::from_file(abi) };
        rules = allow(rules, path, access)?;
    }
    if init.order.has_terminal {
        // It lies where no folder that is shown does, and is opened again as `/dev/stderr`.
        let [terminal, ..] = &init.streams;
        let access = AccessFs::from_file(abi) & !AccessFs::Execute;
        rules = rules.add_rule(PathBeneath::new(terminal, access)).map_err(io::Error::other)?;
    }
    rules.restrict_self().map(drop).map_err(io::Error::other)
}

fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    let opened = PathFd::new(path).map_err(io::Error::other)?;
    rules.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)
}
