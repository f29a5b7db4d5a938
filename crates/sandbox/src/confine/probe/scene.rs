//! What there is to escape to: files beside a workspace, servers, a process and its secrets. All of it is made up.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

/// What the files outside hold.
pub(super) const CONTENT: &str = "made up and secret";

/// What the probe is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Targets {
    pub(super) workspace: PathBuf,
    /// A file beside the workspace.
    pub(super) outside: PathBuf,
    /// A folder beside it whose name begins with the workspace's.
    pub(super) twin: PathBuf,
    /// Where a server listens by TCP and UDP, on loopback.
    pub(super) port: u16,
    pub(super) socket: PathBuf,
    pub(super) abstract_name: String,
    /// The process that started the probe.
    pub(super) host: i32,
    /// An open file of that process.
    pub(super) descriptor: i32,
    /// A variable of its environment.
    pub(super) variable: String,
}

impl Targets {
    pub(super) fn parse(text: &str) -> Option<Targets> {
        serde_json::from_str(text).ok()
    }
}

/// All of it, for as long as this lives.
pub(super) struct Scene {
    pub(super) targets: Targets,
    _folder: tempfile::TempDir,
    _servers: (TcpListener, UdpSocket, UnixListener, UnixListener),
    _descriptor: OwnedFd,
}

/// A variable that whoever starts the probe has in its environment.
pub(super) const VARIABLE: &str = "TOOLCRIB_PROBE_SECRET";

impl Scene {
    pub(super) fn new() -> io::Result<Scene> {
        let folder = tempfile::tempdir()?;
        let base = folder.path().canonicalize()?;
        let (workspace, twin) = (base.join("work"), base.join("work-twin"));
        for (path, text) in [
            ("outside", CONTENT),
            ("work-twin/file", CONTENT),
            ("work-twin/movable", CONTENT),
            ("work/state/key", CONTENT),
            ("work/toolcrib.toml", ""),
            ("work/deep/er/AGENTS.md", "be good\n"),
            ("work/deep/er/CLAUDE.md", "be good\n"),
            ("work/.github/workflows/ci.yml", ""),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/config", "[core]\n"),
            ("work/.git/info/exclude", ""),
            ("work/.git/objects/info/packs", ""),
        ] {
            write(&base.join(path), text)?;
        }
        let outside = base.join("outside");
        symlink(&outside, workspace.join("link"))?;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = tcp.local_addr()?.port();
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
        let socket = base.join("server.sock");
        let unix = UnixListener::bind(&socket)?;
        let abstract_name = format!("toolcrib-probe-{}-{port}", std::process::id());
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?;
        let descriptor = OwnedFd::from(fs::File::open(&outside)?);
        // As a careless library leaves them.
        fcntl_setfd(&descriptor, FdFlags::empty())?;
        let targets = Targets {
            workspace,
            outside,
            twin,
            port,
            socket,
            abstract_name,
            host: i32::try_from(std::process::id()).map_err(io::Error::other)?,
            descriptor: descriptor.as_raw_fd(),
            variable: VARIABLE.to_owned(),
        };
        let servers = (tcp, udp, unix, hidden);
        Ok(Scene { targets, _folder: folder, _servers: servers, _descriptor: descriptor })
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}
