//! The page of tables: goals first, then what each phase found. It formats, and judges only goals.

use std::fmt::Write as _;

/// What a number counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Microseconds.
    Micros,
    /// Calls a second.
    PerSecond,
    /// Bytes, shown as MiB.
    Bytes,
    /// Bytes, shown as KiB.
    SmallBytes,
    /// A plain number.
    Count,
}

/// When a goal is reached.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// At most so many times the yardstick.
    TimesAtMost(f64),
    /// At least so many times the yardstick.
    TimesAtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// At least this value.
    AtLeast(f64),
}

/// One goal and what was measured for it; a value that was not measured is not a number.
pub(crate) struct Goal {
    /// What was measured.
    pub(crate) what: String,
    /// The product's figure.
    pub(crate) ours: f64,
    /// What it is measured against, with its figure.
    pub(crate) yardstick: (String, f64),
    /// Our figure by the yardstick's, the median over pairs of slices.
    pub(crate) ratio: f64,
    /// What both figures count.
    pub(crate) unit: Unit,
    /// The goal.
    pub(crate) limit: Limit,
}

/// One table.
pub(crate) struct Section {
    /// Its heading.
    pub(crate) title: String,
    /// How it was measured.
    pub(crate) about: String,
    /// Column heads; the first column is text, the others are numbers.
    pub(crate) columns: Vec<String>,
    /// As many cells as columns.
    pub(crate) rows: Vec<Vec<String>>,
}

/// The page while it grows.
pub(crate) struct Report {
    machine: Vec<String>,
    goals: Vec<Goal>,
    sections: Vec<Section>,
}

impl Report {
    /// A page about this machine.
    pub(crate) fn new(machine: Vec<String>) -> Self {
        Self { machine, goals: Vec::new(), sections: Vec::new() }
    }

    pub(crate) fn goal(&mut self, goal: Goal) {
        self.goals.push(goal);
    }

    pub(crate) fn section(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Adds what is known only at the end.
    pub(crate) fn finish(&mut self, load: String) {
        self.machine.push(format!("Load average at the end: {load}"));
    }

    /// The page as Markdown.
    pub(crate) fn page(&self) -> String {
        let mut page = String::from(
            "# Benchmarks\n\nWritten by `cargo xtask bench`. All programs of a table were measured in the same run, in turn, in short \
             slices; figures are medians over slices, ratios are medians over pairs of slices. On a shared machine trust the ratios.\n\n",
        );
        for line in &self.machine {
            writeln!(page, "- {line}").expect("writing to memory cannot fail");
        }
        if !self.goals.is_empty() {
            page.push_str("\n## Goals\n\n");
            let columns = ["what", "ours", "yardstick", "its figure", "ratio", "goal", "reached"];
            table(
                &mut page,
                &columns.map(str::to_owned),
                &self.goals.iter().map(Goal::row).collect::<Vec<_>>(),
            );
        }
        for section in &self.sections {
            write!(page, "\n## {}\n\n{}\n\n", section.title, section.about)
                .expect("writing to memory cannot fail");
            table(&mut page, &section.columns, &section.rows);
        }
        page
    }
}

impl Goal {
    fn row(&self) -> Vec<String> {
        let (goal, reached) = match self.limit {
            Limit::TimesAtMost(limit) => (format!("≤ {limit} ×"), self.ratio <= limit),
            Limit::TimesAtLeast(limit) => (format!("≥ {limit} ×"), self.ratio >= limit),
            Limit::AtMost(limit) => (format!("≤ {}", self.unit.show(limit)), self.ours <= limit),
            Limit::AtLeast(limit) => (format!("≥ {}", self.unit.show(limit)), self.ours >= limit),
        };
        let verdict = match (self.ours.is_nan(), reached) {
            (true, _) => "not measured",
            (false, true) => "yes",
            (false, false) => "**no**",
        };
        let (name, figure) = &self.yardstick;
        let cells = [
            &self.what,
            &self.unit.show(self.ours),
            name,
            &self.unit.show(*figure),
            &times(self.ratio),
            &goal,
        ];
        cells.into_iter().cloned().chain([verdict.to_owned()]).collect()
    }
}

impl Unit {
    /// A figure with its unit, as precise as it deserves.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            _ if value.is_nan() => "–".into(),
            Self::Micros if value.abs() >= 1_000.0 => format!("{} ms", significant(value / 1_000.0)),
            Self::Micros => format!("{} µs", significant(value)),
            Self::PerSecond => format!("{}/s", grouped(value)),
            Self::Bytes => format!("{:.1} MiB", value / (1024.0 * 1024.0)),
            Self::SmallBytes => format!("{:.1} KiB", value / 1024.0),
            Self::Count if value.fract() == 0.0 => grouped(value),
            Self::Count => format!("{value:.2}"),
        }
    }
}

/// A ratio.
pub(crate) fn times(ratio: f64) -> String {
    if ratio.is_nan() { "–".into() } else { format!("{ratio:.2} ×") }
}

/// Three digits that mean something.
fn significant(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A Markdown table; the first column is aligned to the left, the others to the right.
fn table(page: &mut String, columns: &[String], rows: &[Vec<String>]) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
    page.push_str(&line(columns));
    page.push_str("|---|");
    page.push_str(&"--:|".repeat(columns.len() - 1));
    page.push('\n');
    for row in rows {
        page.push_str(&line(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_precise_as_they_deserve() {
        let shown = [4.567, 45.67, 456.7, 4_567.0, f64::NAN].map(|value| Unit::Micros.show(value));
        assert_eq!(shown, ["4.57 µs", "45.7 µs", "457 µs", "4.57 ms", "–"]);
        assert_eq!(Unit::PerSecond.show(1_234_567.0), "1,234,567/s");
        assert_eq!(Unit::Bytes.show(8.0 * 1024.0 * 1024.0), "8.0 MiB");
        assert_eq!([4.0, 4.25].map(|value| Unit::Count.show(value)), ["4", "4.25"]);
    }

    fn check(ours: f64, ratio: f64, limit: Limit, expected: &str) {
        let yardstick = ("floor".to_owned(), 4.0);
        let row = Goal { what: "ping".into(), ours, yardstick, ratio, unit: Unit::Micros, limit }.row();
        assert_eq!(row[5..].join(" "), expected);
    }

    #[test]
    fn a_goal_is_judged_by_what_it_limits() {
        check(4.8, 1.2, Limit::TimesAtMost(1.2), "≤ 1.2 × yes");
        check(5.2, 1.3, Limit::TimesAtMost(1.2), "≤ 1.2 × **no**");
        check(16.0, f64::NAN, Limit::AtMost(15.0), "≤ 15.0 µs **no**");
        check(16.0, f64::NAN, Limit::AtLeast(15.0), "≥ 15.0 µs yes");
        check(f64::NAN, f64::NAN, Limit::AtMost(15.0), "≤ 15.0 µs not measured");
    }
}
