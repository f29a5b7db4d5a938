//! What a front and the process that serves its client say to each other, as JSON lines. Both are the same build, since
//! the process's socket bears the build's name, so there is one version of this.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use config::{Flags, Surroundings};
use serde::{Deserialize, Serialize};

/// Longest line in either direction, in bytes: a large environment, each byte written as a number.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What a client comes for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// To be served on the front's standard input and output, which come with the line.
    Stdio,
    /// To have the address opened that its configuration names.
    Http,
    /// To have the jobs of its folder run.
    Jobs,
}

/// What a front says first: whose configuration it is, and all that it is to be read with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    folder: OsString,
    config: Option<OsString>,
    workspace: Option<OsString>,
    trust_folder: bool,
    bind: Option<SocketAddr>,
    port: Option<u16>,
    /// Those that the configuration looks up and that its servers inherit, and no others.
    variables: Vec<(OsString, OsString)>,
    /// What decides at a start, and for good, what its tools are and where they work.
    start: String,
}

impl Place {
    /// That of a process, with these of its variables. Where `start` differs, so do the workspaces.
    pub fn of(
        surroundings: &Surroundings,
        named: Option<PathBuf>,
        variables: BTreeMap<OsString, OsString>,
        start: String,
    ) -> Place {
        Place {
            folder: surroundings.current_dir.clone().into(),
            config: named.map(PathBuf::into_os_string),
            workspace: surroundings.flags.workspace.clone().map(PathBuf::into_os_string),
            trust_folder: surroundings.flags.trust_folder,
            bind: surroundings.flags.bind,
            port: surroundings.flags.port,
            variables: variables.into_iter().collect(),
            start,
        }
    }

    /// What the configuration is read with.
    pub fn surroundings(&self) -> Surroundings {
        let workspace = self.workspace.clone().map(PathBuf::from);
        let Place { trust_folder, bind, port, .. } = *self;
        let flags = Flags { workspace, trust_folder, bind, port };
        Surroundings::new(self.folder.clone().into(), self.variables.iter().cloned().collect(), flags)
    }

    /// The file that the command line named.
    pub fn named(&self) -> Option<PathBuf> {
        self.config.clone().map(PathBuf::from)
    }
}

/// What a front says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FromFront {
    /// First of all.
    Attach {
        /// What is wanted.
        door: Door,
        /// Where the front was started.
        place: Place,
    },
    /// It has let go of its client, who is the process's from now on. Before this the process touches nothing of it.
    Go,
    /// It was told to end.
    Stop,
    /// It was told to read the configuration again.
    Reload,
}

/// What a process says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToFront {
    /// It ends, since another process listens already.
    Elsewhere,
    /// It cannot serve anybody now, for this reason; another process could.
    Unable(String),
    /// This client cannot be served by anybody, for this reason; the front is to exit with this code.
    Refused(String, u8),
    /// All is there: the front is to go.
    Ready,
    /// Where it serves, and what it says of that to people.
    Serving {
        /// The endpoint.
        url: String,
        /// Empty where the log says it.
        banner: String,
    },
    /// A line of the log.
    Log(String),
    /// The client has been served.
    Done,
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn what_is_no_text_arrives_whole() {
        let odd = || OsString::from_vec(vec![b'/', 0xff, b'\n']);
        let bind = Some(([127, 0, 0, 1], 1).into());
        let flags = Flags { workspace: Some(odd().into()), trust_folder: true, bind, port: Some(2) };
        let variables: BTreeMap<OsString, OsString> = [(odd(), odd()), ("A".into(), "b".into())].into();
        let surroundings = Surroundings::new(odd().into(), variables.clone(), flags.clone());
        let place = Place::of(&surroundings, Some(odd().into()), variables.clone(), String::new());
        let line = serde_json::to_vec(&FromFront::Attach { door: Door::Stdio, place }).expect("JSON");
        assert!(!line.contains(&b'\n'));
        let read: FromFront = serde_json::from_slice(&line).expect("the same");
        let FromFront::Attach { door: Door::Stdio, place } = read else { panic!("{read:?}") };
        let again = place.surroundings();
        assert_eq!((again.current_dir, again.variables), (odd().into(), variables));
        assert_eq!((again.flags, place.named()), (flags, Some(odd().into())));
    }
}
