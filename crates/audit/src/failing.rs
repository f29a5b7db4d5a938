//! A disk that stops to work at a chosen moment, for the tests of those who write in the audit log.

use std::{
    fs::File,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use redact::Redactor;

use crate::{
    audit_log::AuditLog,
    clock::Clock,
    config::Config,
    file_ops::{FileOps, SystemFiles},
};

/// Which of the changes that an audit log makes on its disk do not work.
#[derive(Debug)]
pub struct Faults {
    made: AtomicU64,
    first: u64,
    /// The last one that does not work.
    last: AtomicU64,
    kind: io::ErrorKind,
}

impl Faults {
    /// The changes from the `first` (counted from 1) to the `last` fail with this error.
    pub fn new(first: u64, last: u64, kind: io::ErrorKind) -> Arc<Self> {
        Arc::new(Self { made: AtomicU64::new(0), first, last: AtomicU64::new(last), kind })
    }

    /// Changes that were tried, those in vain included.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// From now on everything works.
    pub fn mend(&self) {
        self.last.store(0, Ordering::SeqCst);
    }

    fn next(&self) -> io::Result<()> {
        let nth = self.made.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = (self.first..=self.last.load(Ordering::SeqCst)).contains(&nth);
        if fails { Err(self.kind.into()) } else { Ok(()) }
    }
}

impl AuditLog {
    /// An audit log on a disk with these faults.
    pub fn failing(
        dir: &Path,
        clock: Clock,
        config: Config,
        redactor: Option<Redactor>,
        faults: &Arc<Faults>,
    ) -> Self {
        Self::new(dir, clock, config, redactor, Arc::<Faults>::clone(faults))
    }
}

impl FileOps for Faults {
    fn before_change(&self) -> io::Result<()> {
        self.next()
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let works = self.next();
        // Half of it arrives all the same.
        SystemFiles.write(file, if works.is_ok() { bytes } else { &bytes[..bytes.len() / 2] })?;
        works
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let works = self.next();
        SystemFiles.write_at(file, if works.is_ok() { bytes } else { &bytes[..bytes.len() / 2] }, at)?;
        works
    }
}
