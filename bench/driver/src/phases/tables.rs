//! The kinds of table that several phases share.

use crate::report::{Goal, Limit, Section, Unit, times};
use crate::round::Results;
use crate::slices::{Series, Slice};

/// The cells of what could not be measured: its reason, then nothing.
pub(crate) fn failed_row(what: String, columns: usize) -> Vec<String> {
    let mut row = vec![what.replace('|', "¦")];
    row.resize(columns, "–".into());
    row
}

fn failed(series: &Series, columns: usize) -> Option<Vec<String>> {
    let reason = series.failure.as_ref()?;
    Some(failed_row(format!("{}: {reason}", series.name), columns))
}

/// Latencies of one call at a time, beside the yardstick.
pub(crate) fn latencies(title: &str, about: &str, results: &Results, yardstick: &str) -> Section {
    let columns = ["program", "p50", "p99", "best p50", "× yardstick", "CPU per call"].map(str::to_owned);
    let row = |series: &Series| {
        failed(series, columns.len()).unwrap_or_else(|| {
            let ratio =
                series.paired(results.of(yardstick), |slice| slice.p50_us, |ours, theirs| ours / theirs);
            vec![
                series.name.clone(),
                Unit::Micros.show(series.median(|slice| slice.p50_us)),
                Unit::Micros.show(series.median(|slice| slice.p99_us)),
                Unit::Micros.show(series.least(|slice| slice.p50_us)),
                times(ratio),
                Unit::Micros.show(series.median(|slice| slice.cpu_us)),
            ]
        })
    };
    let rows = results.series.iter().map(row).collect();
    Section {
        title: title.into(),
        about: format!("{about} Yardstick: {yardstick}."),
        columns: columns.to_vec(),
        rows,
    }
}

/// Calls a second with many open at once, beside the yardstick; times too where they were taken.
pub(crate) fn throughputs(title: &str, about: &str, results: &Results, yardstick: &str) -> Section {
    let timed = results.series.iter().any(|series| !series.median(|slice| slice.p50_us).is_nan());
    let mut columns =
        ["program", "calls/s", "best", "× yardstick", "CPU per call"].map(str::to_owned).to_vec();
    if timed {
        columns.extend(["p50", "p99"].map(str::to_owned));
    }
    let row = |series: &Series| {
        failed(series, columns.len()).unwrap_or_else(|| {
            let rate = |slice: &Slice| slice.calls_per_second;
            let mut row = vec![
                series.name.clone(),
                Unit::PerSecond.show(series.median(rate)),
                Unit::PerSecond.show(series.most(rate)),
                times(series.paired(results.of(yardstick), rate, |ours, theirs| ours / theirs)),
                Unit::Micros.show(series.median(|slice| slice.cpu_us)),
            ];
            if timed {
                row.push(Unit::Micros.show(series.median(|slice| slice.p50_us)));
                row.push(Unit::Micros.show(series.median(|slice| slice.p99_us)));
            }
            row
        })
    };
    let rows = results.series.iter().map(row).collect();
    Section { title: title.into(), about: format!("{about} Yardstick: {yardstick}."), columns, rows }
}

/// The goal that one lane's p50 is at most so many times another's.
pub(crate) fn latency_goal(what: &str, results: &Results, ours: &str, yardstick: &str, limit: Limit) -> Goal {
    let p50 = |slice: &Slice| slice.p50_us;
    let (ours, theirs) = (results.of(ours), results.of(yardstick));
    Goal {
        what: what.into(),
        ours: ours.median(p50),
        yardstick: (theirs.name.clone(), theirs.median(p50)),
        ratio: ours.paired(theirs, p50, |ours, theirs| ours / theirs),
        unit: Unit::Micros,
        limit,
    }
}

/// The goal that one lane finishes enough calls a second.
pub(crate) fn rate_goal(what: &str, results: &Results, ours: &str, yardstick: &str, limit: Limit) -> Goal {
    let rate = |slice: &Slice| slice.calls_per_second;
    let (ours, theirs) = (results.of(ours), results.of(yardstick));
    Goal {
        what: what.into(),
        ours: ours.median(rate),
        yardstick: (theirs.name.clone(), theirs.median(rate)),
        ratio: ours.paired(theirs, rate, |ours, theirs| ours / theirs),
        unit: Unit::PerSecond,
        limit,
    }
}
