//! The order in which jobs begin: fair between callers, fair between a caller's tools, the urgent ones of each first, and no
//! more at once than there may be. A plain structure; it starts nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::id::JobId;
use crate::of_caller::{OfCaller, Place};

/// How many may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub running: usize,
    /// Of one caller.
    pub per_caller: usize,
    /// Of one tool.
    pub per_tool: usize,
}

/// A job that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The job.
    pub id: JobId,
    /// Whose it is.
    pub caller: Arc<str>,
    /// Its tool.
    pub tool: Arc<str>,
    /// More comes first.
    pub priority: i8,
}

/// The jobs of one process that wait or run. What it costs to find the next one does not grow with how many wait.
#[derive(Debug, Default)]
pub struct Queue {
    jobs: HashMap<JobId, Known>,
    of_caller: HashMap<Arc<str>, OfCaller>,
    /// Callers, the one whose turn was longest ago first.
    turns: VecDeque<Arc<str>>,
    /// How many jobs of each tool run.
    of_tool: HashMap<Arc<str>, usize>,
    running: usize,
    /// How many jobs came so far.
    came: u64,
}

/// A job that waits or runs.
#[derive(Debug)]
struct Known {
    caller: Arc<str>,
    tool: Arc<str>,
    /// Where it waits; nothing if it runs.
    place: Option<Place>,
}

impl Queue {
    /// Has a job wait behind those that are as urgent. One that waits or runs already stays where it is.
    pub fn push(&mut self, job: Waiting) {
        let Waiting { id, caller, tool, priority } = job;
        if self.jobs.contains_key(&id) {
            return;
        }
        let place = (Reverse(priority), self.came);
        self.came += 1;
        self.of(&caller).push(&tool, place, id.clone());
        self.jobs.insert(id, Known { caller, tool, place: Some(place) });
    }

    /// The job that begins next, which runs from now on; nothing if none may.
    pub fn next(&mut self, limits: Limits) -> Option<JobId> {
        if self.running >= limits.running {
            return None;
        }
        let is_free = |tool: &str| self.of_tool.get(tool).is_none_or(|running| *running < limits.per_tool);
        let (turn, line) = self.turns.iter().enumerate().find_map(|(turn, caller)| {
            let of = self.of_caller.get(caller).filter(|of| of.running < limits.per_caller)?;
            Some((turn, of.next(is_free)?))
        })?;
        let caller = self.turns.remove(turn)?;
        self.turns.push_back(caller.clone());
        let (tool, id) = self.of_caller.get_mut(&caller)?.take(line)?;
        self.begins(id.clone(), caller, tool);
        Some(id)
    }

    /// Takes a job out, whether it waited or ran; false if it did neither.
    pub fn remove(&mut self, id: &JobId) -> bool {
        let Some(Known { caller, tool, place }) = self.jobs.remove(id) else { return false };
        let of = self.of(&caller);
        match place {
            Some(place) => of.remove(&tool, place),
            None => of.running -= 1,
        }
        if of.is_done() {
            self.of_caller.remove(&caller);
            self.turns.retain(|of| *of != caller);
        }
        if place.is_none() {
            self.running -= 1;
            if let Some(running) = self.of_tool.get_mut(&tool) {
                *running -= 1;
            }
            self.of_tool.retain(|_, running| *running > 0);
        }
        true
    }

    /// Notes a job that runs already, whatever the limits say.
    pub fn runs(&mut self, job: Waiting) {
        self.remove(&job.id);
        self.of(&job.caller);
        self.begins(job.id, job.caller, job.tool);
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.jobs.len() - self.running
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.running
    }

    fn begins(&mut self, id: JobId, caller: Arc<str>, tool: Arc<str>) {
        self.of(&caller).running += 1;
        *self.of_tool.entry(tool.clone()).or_default() += 1;
        self.running += 1;
        self.jobs.insert(id, Known { caller, tool, place: None });
    }

    fn of(&mut self, caller: &Arc<str>) -> &mut OfCaller {
        self.of_caller.entry(caller.clone()).or_insert_with(|| {
            self.turns.push_back(caller.clone());
            OfCaller::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ONE_AT_A_TIME: Limits = Limits { running: 1, per_caller: 9, per_tool: 9 };

    /// Jobs as `caller/tool` or `caller/tool+priority`, numbered from 1.
    fn queue(jobs: &str) -> (Queue, BTreeMap<JobId, usize>) {
        let (mut queue, mut numbers) = (Queue::default(), BTreeMap::new());
        for (nth, job) in jobs.split_whitespace().enumerate() {
            let (job, priority) = job.split_once('+').unwrap_or((job, "0"));
            let (caller, tool) = job.split_once('/').expect("caller/tool");
            let id = JobId::parse(&format!("{:032x}", nth + 1)).expect("an id");
            numbers.insert(id.clone(), nth + 1);
            let priority = priority.parse().expect("a priority");
            queue.push(Waiting { id, caller: caller.into(), tool: tool.into(), priority });
        }
        (queue, numbers)
    }

    /// The order in which jobs begin if each ends before the next begins.
    #[track_caller]
    fn check(jobs: &str, limits: Limits, expected: &[usize]) {
        let (mut queue, numbers) = queue(jobs);
        let mut order = Vec::new();
        while let Some(job) = queue.next(limits) {
            order.push(numbers[&job]);
            assert!(queue.remove(&job));
        }
        assert_eq!(order, expected, "{jobs}");
        let Queue { jobs: left, of_caller, turns, of_tool, running, .. } = queue;
        let is_empty = left.is_empty() && of_caller.is_empty() && turns.is_empty() && of_tool.is_empty();
        assert!(is_empty && running == 0, "nobody is remembered for nothing");
    }

    /// Those that begin if none ends.
    #[track_caller]
    fn check_at_once(jobs: &str, limits: Limits, expected: &[usize]) {
        let (mut queue, numbers) = queue(jobs);
        let begun = std::iter::from_fn(|| queue.next(limits)).map(|job| numbers[&job]);
        assert_eq!(begun.collect::<Vec<_>>(), expected, "{jobs}");
        assert_eq!(queue.running(), expected.len());
    }

    #[test]
    fn callers_take_turns_whoever_came_with_more() {
        check("a/x a/x a/x b/x", ONE_AT_A_TIME, &[1, 4, 2, 3]);
        check("a/x a/x b/x b/x c/x", ONE_AT_A_TIME, &[1, 3, 5, 2, 4]);
    }

    #[test]
    fn the_tools_of_a_caller_take_turns() {
        check("a/x a/x a/x a/y", ONE_AT_A_TIME, &[1, 4, 2, 3]);
        check("a/x a/x a/y b/z b/z", ONE_AT_A_TIME, &[1, 4, 3, 5, 2]);
    }

    #[test]
    fn the_urgent_ones_of_a_caller_come_first_and_of_others_no_sooner() {
        check("a/x a/x+5 a/x-1 a/x+9".replace("-1", "+-1").as_str(), ONE_AT_A_TIME, &[4, 2, 1, 3]);
        check("a/x b/x+10 b/x+10", ONE_AT_A_TIME, &[1, 2, 3]);
    }

    #[test]
    fn no_more_run_at_once_than_there_may() {
        let limits = Limits { running: 4, per_caller: 3, per_tool: 2 };
        check_at_once("a/x a/x a/x a/y b/x b/z", limits, &[1, 5, 4, 6]);
        check_at_once("a/x a/y a/z a/w", limits, &[1, 2, 3]);
        check_at_once("a/x a/x a/x", limits, &[1, 2]);
        check_at_once("a/x b/x c/x", limits, &[1, 2]);
        check_at_once("a/x", Limits { running: 0, ..limits }, &[]);
    }

    #[test]
    fn one_that_waits_or_runs_is_not_there_twice() {
        let (mut queue, _) = queue("a/x");
        let id = JobId::parse(&format!("{:032x}", 1)).expect("an id");
        let job = Waiting { id: id.clone(), caller: "a".into(), tool: "x".into(), priority: 0 };
        queue.push(job.clone());
        assert_eq!(queue.waiting(), 1);
        assert_eq!(queue.next(ONE_AT_A_TIME), Some(id.clone()));
        queue.push(job.clone());
        assert_eq!((queue.waiting(), queue.running()), (0, 1));
        assert!(queue.remove(&id) && !queue.remove(&id));
        for _ in 0..2 {
            queue.runs(job.clone());
            assert_eq!((queue.waiting(), queue.running()), (0, 1));
        }
        assert!(queue.remove(&id) && queue.running() == 0);
    }

    #[test]
    fn a_job_that_waited_is_taken_out_and_the_rest_keeps_its_order() {
        let (mut queue, numbers) = queue("a/x a/x a/y+3 b/x");
        let id =
            |nth: usize| numbers.iter().find(|(_, of)| **of == nth).map(|(id, _)| id.clone()).expect("a job");
        assert!(queue.remove(&id(1)) && queue.remove(&id(4)));
        let order: Vec<usize> = std::iter::from_fn(|| {
            let job = queue.next(ONE_AT_A_TIME)?;
            queue.remove(&job);
            Some(numbers[&job])
        })
        .collect();
        assert_eq!(order, [3, 2]);
    }
}
