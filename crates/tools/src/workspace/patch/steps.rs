//! The steps of a patch, done in order; when one cannot be done, those before it are undone. Each is whole by itself; a
//! process that dies in the middle leaves some done.

use tool_api::{Expect, Inside, ToolError, Trashed};

use super::super::file_error::refused;
use super::super::mover::Mover;
use super::super::writer::Writer;

/// One change of one file.
pub(super) enum Step {
    Write {
        path: Inside,
        content: Vec<u8>,
        /// What it is before: that there is none, or its content.
        expect: Expect,
    },
    Delete {
        path: Inside,
    },
    Move {
        from: Inside,
        to: Inside,
    },
    Mode {
        path: Inside,
        is_executable: bool,
    },
}

/// How a step is undone.
enum Undo {
    Rewrite { path: Inside, before: Vec<u8>, left: String },
    Delete(Inside),
    Restore(Box<Trashed>),
    Move { from: Inside, to: Inside },
    Mode { path: Inside, mode: u32 },
}

/// Does all steps, or none; a dry run tells them. From the first step on nobody can cancel: neither the steps nor the undoing
/// may end in the middle.
pub(super) fn done(steps: Vec<Step>, writer: &Writer, mover: Mover) -> Result<(), ToolError> {
    writer.check_cancel()?;
    let mover = &mover.never_cancelled();
    if writer.dry_run.is_some() {
        return told(steps, writer, mover);
    }
    check_writable(&steps, writer)?;
    let mut undo = Vec::new();
    for step in steps {
        match one(step, writer, mover) {
            Ok(how) => undo.extend(how),
            Err(error) => {
                let left: Vec<String> = undo
                    .into_iter()
                    .rev()
                    .filter_map(|how| undone(how, writer, mover).err())
                    .map(|error| error.to_string())
                    .collect();
                let code = error.code().clone();
                let message = match left.is_empty() {
                    true => format!("{error}; nothing was changed"),
                    false => format!("{error}; not all that was done could be undone: {}", left.join("; ")),
                };
                return Err(ToolError::new(code, message));
            }
        }
    }
    Ok(())
}

/// Refuses what may not be written before anything is.
fn check_writable(steps: &[Step], writer: &Writer) -> Result<(), ToolError> {
    for step in steps {
        let (path, other) = match step {
            Step::Write { path, .. } | Step::Delete { path } | Step::Mode { path, .. } => (path, None),
            Step::Move { from, to } => (from, Some(to)),
        };
        for path in std::iter::once(path).chain(other) {
            writer.files.check_writable(path).map_err(|error| {
                let error = refused(error);
                ToolError::new(error.code().clone(), format!("{error}; nothing was changed"))
            })?;
        }
    }
    Ok(())
}

fn one(step: Step, writer: &Writer, mover: &Mover) -> Result<Option<Undo>, ToolError> {
    Ok(Some(match step {
        Step::Write { path, content, expect } => {
            let left = writer.put(&path, &content, &expect)?.sha256;
            match expect {
                Expect::Content(before) => Undo::Rewrite { path, before, left },
                Expect::Anything | Expect::Absent | Expect::Sha256(_) => Undo::Delete(path),
            }
        }
        Step::Delete { path } => return Ok(mover.delete(&path, false)?.map(Box::new).map(Undo::Restore)),
        Step::Move { from, to } => {
            mover.move_to(&from, &to)?;
            Undo::Move { from: to, to: from }
        }
        Step::Mode { path, is_executable } => {
            let mode = writer.files.set_executable(&path, is_executable).map_err(refused)?;
            Undo::Mode { path, mode }
        }
    }))
}

fn undone(how: Undo, writer: &Writer, mover: &Mover) -> Result<(), ToolError> {
    match how {
        // As it was, whatever is in it: no look for what stands in place of secrets.
        Undo::Rewrite { path, before, left } => {
            writer.files.take_back(&path, &before, &left).map(drop).map_err(refused)
        }
        Undo::Delete(path) => mover.delete(&path, false).map(drop),
        Undo::Restore(trashed) => mover.restore(&trashed),
        Undo::Move { from, to } => mover.move_to(&from, &to),
        Undo::Mode { path, mode } => writer.files.set_permissions(&path, mode).map_err(refused),
    }
}

/// Tells what would change. What is renamed and changed goes and comes with its new content; modes alone are not told.
fn told(steps: Vec<Step>, writer: &Writer, mover: &Mover) -> Result<(), ToolError> {
    let mut steps = steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        match (step, steps.peek_mut()) {
            (Step::Move { from, to }, Some(Step::Write { path, expect, .. })) if *path == to => {
                mover.delete(&from, false)?;
                *expect = Expect::Absent;
            }
            (Step::Move { from, to }, _) => mover.move_to(&from, &to)?,
            (Step::Write { path, content, expect }, _) => writer.put(&path, &content, &expect).map(drop)?,
            (Step::Delete { path }, _) => mover.delete(&path, false).map(drop)?,
            (Step::Mode { .. }, _) => {}
        }
    }
    Ok(())
}
