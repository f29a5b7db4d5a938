//! Measures several programs side by side: short slices in turn, A B C, then B C A, so that a neighbour's load
//! falls on all of them alike. What one slice does is each lane's own business.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::client::Client;
use super::message::Request;
use super::proc_figures;
use super::stats::{median, percentile};

/// How long and how often to measure.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Slices per lane.
    pub(crate) slices: usize,
    /// A slice ends at this time or at [`CALLS_MAX`], whichever comes first.
    pub(crate) slice_time: Duration,
    /// Calls that only warm a lane up before its first slice; ended early by the time of one slice.
    pub(crate) warm_up_calls: usize,
}

/// Bounds the memory of one slice's times; a bare pipe reaches it in half a second.
const CALLS_MAX: usize = 100_000;
/// A slow program still gets this many calls, so that its median is one.
const CALLS_MIN: usize = 5;

/// What one slice found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Slice {
    /// Microseconds.
    pub(crate) p50_us: f64,
    /// Microseconds.
    pub(crate) p99_us: f64,
    /// Finished calls a second.
    pub(crate) calls_per_second: f64,
    /// Processor time of the measured program and its children, microseconds a call; not a number where not asked for.
    pub(crate) cpu_us: f64,
}

/// Measures one slice that lasts about as long as it is told.
pub(crate) type SliceFn<'a> = Box<dyn FnMut(Duration) -> anyhow::Result<Slice> + 'a>;

/// One program in the round, or the reason why it did not start.
pub(crate) struct Lane<'a> {
    /// What the tables call it.
    pub(crate) name: String,
    /// How it is measured.
    pub(crate) slice: anyhow::Result<SliceFn<'a>>,
}

/// All slices of one lane.
pub(crate) struct Series {
    /// The lane's name.
    pub(crate) name: String,
    /// In the order they were measured; empty where the lane failed.
    pub(crate) slices: Vec<Slice>,
    /// Why the lane gave up.
    pub(crate) failure: Option<String>,
}

impl Series {
    /// The median over slices.
    pub(crate) fn median(&self, of: impl Fn(&Slice) -> f64) -> f64 {
        median(self.slices.iter().map(of))
    }

    /// The smallest slice: what the program does when nobody disturbs it.
    pub(crate) fn least(&self, of: impl Fn(&Slice) -> f64) -> f64 {
        self.slices.iter().map(of).fold(f64::NAN, f64::min)
    }

    /// The largest slice.
    pub(crate) fn most(&self, of: impl Fn(&Slice) -> f64) -> f64 {
        self.slices.iter().map(of).fold(f64::NAN, f64::max)
    }

    /// The median of `join` over pairs of slices measured in the same round.
    pub(crate) fn paired(
        &self,
        other: &Series,
        of: impl Fn(&Slice) -> f64,
        join: impl Fn(f64, f64) -> f64,
    ) -> f64 {
        median(self.slices.iter().zip(&other.slices).map(|(ours, theirs)| join(of(ours), of(theirs))))
    }
}

/// Goes round the lanes. A lane that fails drops out with its reason; the others go on.
pub(crate) fn interleave(mut lanes: Vec<Lane<'_>>, budget: Budget) -> Vec<Series> {
    let mut all: Vec<Series> = lanes
        .iter()
        .map(|lane| Series {
            name: lane.name.clone(),
            slices: Vec::new(),
            failure: lane.slice.as_ref().err().map(|error| format!("{error:#}")),
        })
        .collect();
    for round in 0..budget.slices {
        for turn in 0..lanes.len() {
            let place = (round + turn) % lanes.len();
            let (lane, series) = (&mut lanes[place], &mut all[place]);
            let Ok(slice) = &mut lane.slice else { continue };
            match slice(budget.slice_time) {
                Ok(slice) => series.slices.push(slice),
                Err(error) => {
                    series.failure = Some(format!("{error:#}"));
                    lane.slice = Err(error);
                }
            }
        }
    }
    all
}

/// One slice of calls one after the other. `pid` names the program whose processor time is counted.
pub(crate) fn sequential(
    client: &mut dyn Client,
    request: &Request,
    time: Duration,
    pid: u32,
) -> anyhow::Result<Slice> {
    let cpu_before = proc_figures::cpu_ns_of_tree(pid);
    let start = Instant::now();
    let mut times_ns = Vec::with_capacity(CALLS_MAX);
    while times_ns.len() < CALLS_MIN || (start.elapsed() < time && times_ns.len() < CALLS_MAX) {
        times_ns.push(nanoseconds(client.call(request)?));
    }
    let elapsed = start.elapsed();
    let cpu_ns = proc_figures::cpu_ns_of_tree(pid).saturating_sub(cpu_before);
    Ok(from_times(times_ns, elapsed, Some(cpu_ns)))
}

/// Calls that are not counted: caches fill, compilers compile.
pub(crate) fn warm_up(client: &mut dyn Client, request: &Request, budget: Budget) -> anyhow::Result<()> {
    let start = Instant::now();
    for _ in 0..budget.warm_up_calls {
        client.call(request).context("the first calls failed")?;
        if start.elapsed() > budget.slice_time {
            break;
        }
    }
    Ok(())
}

/// Sums up the times of single calls; `cpu_ns` is that of all of them together.
pub(crate) fn from_times(mut times_ns: Vec<u64>, elapsed: Duration, cpu_ns: Option<u64>) -> Slice {
    times_ns.sort_unstable();
    let calls = times_ns.len() as f64;
    Slice {
        p50_us: percentile(&times_ns, 0.5) as f64 / 1e3,
        p99_us: percentile(&times_ns, 0.99) as f64 / 1e3,
        calls_per_second: calls / elapsed.as_secs_f64(),
        cpu_us: cpu_ns.map_or(f64::NAN, |cpu_ns| cpu_ns as f64 / 1e3 / calls),
    }
}

/// Sums up calls whose single times were not taken.
pub(crate) fn from_count(calls: u64, elapsed: Duration, cpu_ns: u64) -> Slice {
    let calls = calls as f64;
    let (p50_us, p99_us) = (f64::NAN, f64::NAN);
    Slice {
        p50_us,
        p99_us,
        calls_per_second: calls / elapsed.as_secs_f64(),
        cpu_us: cpu_ns as f64 / 1e3 / calls,
    }
}

/// A duration as whole nanoseconds; the bench ends long before they overflow.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const BUDGET: Budget = Budget { slices: 3, slice_time: Duration::ZERO, warm_up_calls: 0 };

    #[test]
    fn lanes_take_turns_and_a_broken_one_drops_out() {
        let order = RefCell::new(String::new());
        let lane = |name: &'static str, breaks: bool| {
            let order = &order;
            let slice: SliceFn<'_> = Box::new(move |_| {
                order.borrow_mut().push_str(name);
                anyhow::ensure!(!breaks, "it broke");
                Ok(Slice { p50_us: 2.0, ..Slice::default() })
            });
            Lane { name: name.into(), slice: Ok(slice) }
        };
        let unstarted = Lane { name: "D".into(), slice: Err(anyhow::anyhow!("not there")) };
        let all = interleave(vec![lane("A", false), lane("B", true), lane("C", false), unstarted], BUDGET);
        assert_eq!(*order.borrow(), "ABCCACA");
        assert_eq!(all.iter().map(|series| series.slices.len()).collect::<Vec<_>>(), [3, 0, 3, 0]);
        let failures: Vec<_> = all.iter().map(|series| series.failure.as_deref()).collect();
        assert_eq!(failures, [None, Some("it broke"), None, Some("not there")]);
        assert!((all[0].paired(&all[2], |slice| slice.p50_us, |a, b| a / b) - 1.0).abs() < f64::EPSILON);
    }
}
