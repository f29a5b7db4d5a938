//! `Limits`: how much a confined program may use, and which limit ended one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much a program with everything it starts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From its start, by a clock that nobody sets.
    pub time: Duration,
    /// Processor time of each process.
    pub cpu: Duration,
    /// Processes and threads at once.
    pub processes: u64,
    /// Memory of all its processes together.
    pub memory_bytes: u64,
    /// The size of each file it writes.
    pub file_bytes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// What it writes in its temporary folder, and the same in its home folder; with a file for each 4 KiB of it.
    pub scratch_bytes: u64,
    /// What it prints on stdout and stderr together.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: Duration::from_secs(600),
            cpu: Duration::from_secs(300),
            // A build with a compiler for each core of a large machine.
            processes: 512,
            memory_bytes: 4 << 30,
            file_bytes: 4 << 30,
            open_files: 4096,
            scratch_bytes: 512 << 20,
            output_bytes: 64 << 20,
        }
    }
}

impl Limits {
    /// With less memory no interpreter starts.
    pub const MEMORY_BYTES_MIN: u64 = 16 << 20;

    /// With fewer open files a program cannot load its libraries.
    pub const OPEN_FILES_MIN: u64 = 16;

    /// A program is one process at least.
    pub const PROCESSES_MIN: u64 = 1;

    /// The kernel counts processor time in whole seconds.
    pub const TIME_MIN: Duration = Duration::from_secs(1);

    /// A few files: of none the kernel would make as many as there is memory.
    pub const SCRATCH_BYTES_MIN: u64 = 64 << 10;

    /// A line, and a small file.
    pub const OUTPUT_BYTES_MIN: u64 = 1 << 10;

    /// No more than a program of our own needs that computes with what it is sent and writes no file.
    #[must_use]
    pub fn computing(self) -> Limits {
        Limits {
            time: self.time.min(Duration::from_secs(30)),
            cpu: self.cpu.min(Duration::from_secs(20)),
            processes: self.processes.min(4),
            memory_bytes: self.memory_bytes.min(1 << 30),
            file_bytes: 0,
            open_files: self.open_files.min(16),
            scratch_bytes: self.scratch_bytes,
            output_bytes: self.output_bytes.min(16 << 20),
        }
    }

    /// The same for a program that is to last: no end by a clock, and it may say as much as it likes.
    #[must_use]
    pub fn lasting(self) -> Limits {
        Limits { time: Duration::MAX, cpu: Duration::MAX, output_bytes: u64::MAX, ..self }
    }
}

/// A limit that ended a program, or that was reached when one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`Limits::time`]
    Time,
    /// [`Limits::cpu`]
    Cpu,
    /// [`Limits::memory_bytes`]
    MemoryBytes,
    /// [`Limits::file_bytes`]
    FileBytes,
    /// [`Limits::output_bytes`]
    OutputBytes,
    /// [`Limits::processes`]
    Processes,
    /// [`Limits::scratch_bytes`]
    ScratchBytes,
}

impl Limit {
    /// As records and errors name it.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Time => "time",
            Limit::Cpu => "cpu",
            Limit::MemoryBytes => "memory_bytes",
            Limit::FileBytes => "file_bytes",
            Limit::OutputBytes => "output_bytes",
            Limit::Processes => "processes",
            Limit::ScratchBytes => "scratch_bytes",
        }
    }

    /// Whether a program ends with it. At the others it sees an error, as on a full machine.
    pub fn ends_programs(self) -> bool {
        !matches!(self, Limit::Processes | Limit::ScratchBytes)
    }
}
