//! `Settings`: what a table says once it has been checked.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::header::AUTHORIZATION;
use tool_api::{ResultBudget, Validate};

use super::confinement::Confined;
use super::endpoint::Endpoint;
use super::limits::{Life, Limits};
use super::mask::Mask;
use super::named::Named;
use super::sandbox::ServerSandbox;
use super::workspace_words::WorkspaceWords;
use crate::config::{EraChoice, Errors, Isolation, Trust};
use crate::signer::Signer;
use crate::tool_filter::ToolFilter;
use crate::uri_map::UriMap;

/// How one upstream is reached, and how its tools are offered.
#[derive(Clone)]
pub struct Settings {
    pub(crate) name: Arc<str>,
    /// False if the server is to be left alone.
    pub enabled: bool,
    /// How long things may take, and how many at once.
    pub limits: Limits,
    pub(crate) life: Life,
    /// Which tools are offered, and as what.
    pub(crate) shape: Arc<ToolFilter>,
    pub(crate) prefix: String,
    /// The prefixes of the other upstreams: what begins like theirs is not ours to offer. Copies share them, so that
    /// all hear of a change.
    pub(crate) foreign: Arc<ArcSwap<Vec<Box<str>>>>,
    pub(crate) endpoint: Endpoint,
    pub(super) inherits: Inherits,
    pub(super) sandbox: Arc<ServerSandbox>,
    pub(super) confined: Confined,
    /// What stands for the workspace's folder in the table.
    pub(super) workspace: WorkspaceWords,
    /// What its definitions have to pass.
    pub trust: Trust,
    /// In which era it is spoken to.
    pub(crate) era: EraChoice,
    /// How the arguments of its tools are held against their schemas.
    pub(crate) validate: Validate,
    /// How the errors of its tools are told.
    pub(crate) errors: Errors,
    /// How much of one result an answer holds.
    pub(crate) result_budget: ResultBudget,
    /// What nobody else should read, made of the endpoint, of what references have led to and of what we sign in with.
    pub(super) mask: Mask,
    /// Those of its secrets that nobody may read in other servers' words either.
    pub(super) named: Arc<Named>,
    /// Why its server cannot be started yet; nothing if it can.
    pub(super) lacks: Option<Arc<str>>,
    /// The account of the upstream that is made of these settings; nothing before that.
    pub(crate) signer: Option<Arc<Signer>>,
}

/// What a server's program takes over from the client that it is started for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inherits {
    /// Globs over variables that it inherits beside those of every program.
    pub(super) globs: Vec<String>,
    /// Variables that it does not inherit, whatever the globs say.
    pub(super) withheld: Vec<String>,
    /// The client's working folder, by which a program without `cwd` is remembered.
    pub(super) current_dir: PathBuf,
}

impl Settings {
    /// The same, knowing which other upstreams there are, of which it may itself be one: it offers nothing under a
    /// name or URI that reads as theirs.
    pub fn knowing(self, all: &[Settings]) -> Settings {
        let is_other =
            |other: &&Settings| other.enabled && other.name != self.name && !other.prefix.is_empty();
        let prefixes = all.iter().filter(is_other).map(|other| other.prefix.as_str().into()).collect();
        Settings { foreign: Arc::new(ArcSwap::from_pointee(prefixes)), ..self }
    }

    /// Takes the other upstreams that `newer` knows, for every copy of these settings. False if that changes nothing.
    pub(crate) fn knowing_as(&self, newer: &Settings) -> bool {
        let prefixes = newer.foreign.load_full();
        *self.foreign.swap(prefixes.clone()) != *prefixes
    }

    /// True if both mean the same server, reached, kept and offered in the same way. Which others there are does
    /// not count.
    pub fn same_as(&self, other: &Settings) -> bool {
        fn meant(settings: &Settings) -> impl PartialEq {
            let Settings { name, enabled, limits, life, shape, prefix, endpoint, trust, mask, lacks, .. } =
                settings;
            let way = (
                endpoint,
                settings.inherit(),
                &settings.sandbox,
                settings.confined.meant(),
                mask.values(),
                lacks,
            );
            let manner = (settings.era, settings.validate, settings.errors, settings.result_budget);
            (name, enabled, limits, life, shape, prefix, trust, way, manner)
        }
        meant(self) == meant(other)
    }

    /// True if one server does for both, wherever its calls come from: they are the same, leave out the same names for
    /// the sake of others, and nobody wants it to himself.
    pub fn can_share(&self, other: &Settings) -> bool {
        self.life.isolation == Isolation::Shared && self.same_as(other) && self.knows_as(other)
    }

    /// True if both leave out the same names and URIs because they read as another upstream's.
    pub fn knows_as(&self, other: &Settings) -> bool {
        fn read_alike(settings: &Settings) -> Vec<Box<str>> {
            let start = format!("{}_", settings.prefix);
            // Without a prefix every name may be another's.
            let is_alike = |prefix: &str| settings.prefix.is_empty() || prefix.starts_with(&start);
            settings.foreign.load().iter().filter(|prefix| is_alike(prefix)).cloned().collect()
        }
        read_alike(self) == read_alike(other)
    }

    /// The same for an upstream that signs in if it has to, and keeps what it is signed in with.
    pub(crate) fn signed_by(self, client: &sandbox::Client, keeper: &Arc<dyn oauth::TokenStore>) -> Settings {
        let signer = self.signer(client, keeper);
        let mask = self.mask.clone().signed_by(signer.clone());
        Settings { signer, mask, ..self }
    }

    /// Nothing for a server at which we never sign in: one that is no address, or gets other credentials.
    fn signer(&self, client: &sandbox::Client, keeper: &Arc<dyn oauth::TokenStore>) -> Option<Arc<Signer>> {
        let Endpoint::Address { url, headers, sign_in: Some(sign_in), .. } = &self.endpoint else {
            return None;
        };
        if headers.contains_key(AUTHORIZATION) {
            return None;
        }
        let account =
            oauth::Session::new(&self.name, url, (**sign_in).clone(), client.clone(), keeper.clone());
        Some(Signer::new(self.name.clone(), account))
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the names of its tools begin with here; empty if they keep their own.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What its resources' URIs begin with here; empty if they keep their own. Two servers with the same one
    /// could not be told apart.
    pub fn uri_prefix(&self) -> String {
        UriMap::new(&self.prefix).scheme().to_owned()
    }

    /// The URIs under which its resources are offered.
    pub(crate) fn uri_map(&self) -> UriMap {
        UriMap::among(&self.prefix, &self.foreign.load())
    }

    /// Why its server cannot be started before a person has done something, in a sentence that begins with the key;
    /// nothing if it can.
    pub fn lacks(&self) -> Option<&str> {
        self.lacks.as_deref()
    }

    /// `text`, which may hold words of the server, without the values of its environment variables and headers, what
    /// references have led to, what is secret in its address, and the tokens that it was sent.
    pub fn masked(&self, text: &str) -> String {
        self.mask.text(text).into_owned()
    }

    /// A path of this machine as people are shown it. One that a variable names in so many words is no secret for that, and
    /// shown, unless something in it is one that has a name.
    pub fn masked_path(&self, path: &Path) -> String {
        let text = path.display().to_string();
        let is_variables = match &self.endpoint {
            Endpoint::Program(program) => program.env.iter().any(|(_, value)| *value == text),
            Endpoint::Socket(_) | Endpoint::Address { .. } => false,
        };
        let holds_secret = || self.named.iter().any(|(_, secret)| text.contains(secret));
        if is_variables && !holds_secret() { text } else { self.masked(&text) }
    }

    /// The secrets of its table, each with a name to show in its place: what references to files, kept secrets and
    /// secret variables led to, and what is written out where a secret belongs. A value may be there under several names.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter()
    }

    /// The variables that its table refers to as to a secret, but whose values are none: short, a word, a number or a
    /// path. Nobody would want those struck out.
    pub fn ordinary_variables(&self) -> impl Iterator<Item = &str> {
        self.named.ordinary()
    }

    /// What is masked.
    pub(crate) fn mask(&self) -> &Mask {
        &self.mask
    }
}

/// Shows neither the values of environment variables and headers nor the secret parts of an address.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("limits", &self.limits)
            .field("life", &self.life)
            .field("shape", &self.shape)
            .field("prefix", &self.prefix)
            .field("endpoint", &format_args!("{}", self.masked(&format!("{:?}", self.endpoint))))
            .field("inherit", &self.inherit())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Uri};
    use sandbox::Program;

    use super::super::endpoint::Dialect;
    use super::super::limits::{CALL_TIMEOUT_MAX, LIST_TIMEOUT, START_TIMEOUT};
    use super::*;
    use crate::config::Restart;

    fn settings(endpoint: Endpoint) -> Settings {
        let prefix = "it".to_owned();
        let (foreign, mask) = (Arc::default(), Mask::of(&endpoint, &[]));
        let limits = Limits {
            start: START_TIMEOUT,
            list: LIST_TIMEOUT,
            call: CALL_TIMEOUT_MAX,
            call_max: CALL_TIMEOUT_MAX,
            concurrency: None,
            processes: 1,
        };
        let (restart, isolation) = (Restart::Always, Isolation::Shared);
        let life = Life { on_demand: false, idle: None, restart, isolation };
        let (name, shape, named) = ("it".into(), Arc::default(), Arc::default());
        let (enabled, lacks, signer, trust) = (true, None, None, Trust::default());
        Settings {
            name,
            enabled,
            limits,
            life,
            shape,
            prefix,
            foreign,
            endpoint,
            inherits: Inherits::default(),
            sandbox: Arc::default(),
            confined: Confined::default(),
            workspace: WorkspaceWords::default(),
            trust,
            era: EraChoice::default(),
            validate: Validate::default(),
            errors: Errors::default(),
            result_budget: ResultBudget::Whole,
            mask,
            named,
            lacks,
            signer,
        }
    }

    #[test]
    fn a_servers_words_do_not_give_its_secrets_away() {
        let env = vec![("KEY".to_owned(), "sk-12345678".to_owned()), ("MODE".to_owned(), "test".to_owned())];
        let program = settings(Endpoint::Program(Program { env, ..Program::default() }));
        assert_eq!(program.masked("invalid key sk-12345678 in test"), "invalid key *** in test");

        let headers =
            HeaderMap::from_iter([(http::header::AUTHORIZATION, "Bearer abcdefgh".parse().expect("legal"))]);
        let url = Uri::from_static("http://127.0.0.1/mcp");
        let address = settings(Endpoint::Address { url, headers, dialect: Dialect::Any, sign_in: None });
        assert_eq!(address.masked("got Bearer abcdefgh, want abcdefgh?"), "got ***, want ***?");

        let url = Uri::from_static("http://127.0.0.1/mcp?v=1&key=q-s3cret-1&tokentoken&n=");
        let address = settings(Endpoint::Address {
            url,
            headers: HeaderMap::new(),
            dialect: Dialect::Any,
            sign_in: None,
        });
        for (said, expected) in [
            ("no GET /mcp?v=1&key=q-s3cret-1&tokentoken&n= here", "no GET *** here"),
            ("bad query v=1&key=q-s3cret-1&tokentoken&n=", "bad query ***"),
            ("v=1, q-s3cret-1 and tokentoken are no keys for /mcp", "v=1, *** and *** are no keys for /mcp"),
        ] {
            assert_eq!(address.masked(said), expected);
        }
    }
}
