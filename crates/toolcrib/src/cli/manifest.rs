//! The words of `toolcrib manifest`.

use std::path::PathBuf;

use clap::Subcommand;

/// Which operations of which document.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct FromOpenapi {
    /// The document, in JSON or YAML.
    pub(crate) file: PathBuf,
    /// Its operations, by their `operationId`.
    #[arg(long = "operation", value_name = "ID", num_args = 1.., required = true)]
    pub(crate) operations: Vec<String>,
    /// Where it is asked, in place of the document's own server.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

/// What to do with the manifests of tools of your own.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Manifest {
    /// Write a manifest and its program, to be changed into what you need.
    #[command(after_help = "Examples:\n  \
        toolcrib manifest new word_count")]
    New {
        /// The tool's id, which names the file, too.
        name: String,
    },
    /// Say everything that is wrong with manifests.
    #[command(after_help = "Examples:\n  \
        toolcrib manifest check\n  \
        toolcrib manifest check ./word_count.toml")]
    Check {
        /// The files; without any, all that are in force.
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Make each call of its examples, through the gate and in the sandbox, wherever the file lies. Where it knows dry runs, each
    /// is tried so first.
    #[command(after_help = "Examples:\n  \
        toolcrib manifest run ./word_count.toml --json > fixture.json\n  \
        toolcrib manifest run ./word_count.toml --fixture fixture.json --junit report.xml")]
    Run {
        /// The manifest.
        file: PathBuf,
        /// What is to come of each call: a file with what `--json` printed, and in `ignore` what differs each time, as JSON
        /// pointers in which `*` is any member (`["/duration_ms", "/results/*/at"]`).
        #[arg(long, value_name = "FILE")]
        fixture: Option<PathBuf>,
        /// Where to write what came of it as JUnit XML.
        #[arg(long, value_name = "FILE")]
        junit: Option<PathBuf>,
    },
    /// Write manifests for operations of an OpenAPI 3.0 or 3.1 document, to be read and changed.
    #[command(
        name = "from-openapi",
        after_help = "Examples:\n  \
        toolcrib manifest from-openapi ./api.json --operation getItem listItems"
    )]
    FromOpenapi(FromOpenapi),
    /// Print the JSON Schema of a manifest.
    Schema,
}
