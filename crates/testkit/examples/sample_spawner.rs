//! The spawner of confined programs for tests. With the name of a system call it does without that, so that a layer of the
//! sandbox is missing. As a worker it is a shell, so that tests can look around as one. Examples are built with the tests, so it is never older than they are.

#![expect(clippy::disallowed_methods, reason = "becomes the shell of a test, confined already")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use tool_api::Worker;

/// The calls that it can do without.
const CALLS: [(&str, i64); 2] =
    [("landlock", libc::SYS_landlock_restrict_self), ("sethostname", libc::SYS_sethostname)];

fn main() {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| Worker::of(word).is_some()).is_some() {
        panic!("no shell: {}", Command::new("sh").args(words).exec());
    }
    if let Some(denied) = words.next_if(|word| CALLS.iter().any(|(name, _)| word == name)) {
        let (_, call) = CALLS.iter().find(|(name, _)| denied == *name).expect("one of the calls");
        let processor = std::env::consts::ARCH.try_into().expect("a processor that is known");
        let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter =
            SeccompFilter::new([(*call, Vec::new())].into(), SeccompAction::Allow, refused, processor);
        let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
        seccompiler::apply_filter(&program).expect("applied");
    }
    std::process::exit(sandbox::confine::spawner_main(words));
}
