//! `doctor`: is every layer of the sandbox there, and does it hold? Tries it, instead of looking at versions. And how jobs stand.

mod browser_report;
mod jobs_report;
mod search_report;

use std::time::{Duration, Instant};

use daemon::own_program::{PROBE, SPAWNER, confinement};
use daemon::self_test::{HoldsFor, Remembered, recall};
use sandbox::confine::{
    ConfineError, Confiner, Cost, Held, Layer, Machine, MemoryKeeper, Profile, StartedBy, Tested,
    Unavailable, bwrap, pooled_cost, self_test, spawn_cost, start_with_network,
};
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print, runtime, times};

use self::browser_report::BrowserReport;
use self::jobs_report::JobsReport;
use self::search_report::SearchReport;
use super::load::load_resting;
use crate::cli::Cli;

pub(super) fn run(cli: &Cli, asks_net: bool) -> Result<Ending, Trouble> {
    let loaded = load_resting(cli)?;
    super::start::begin_resting(&loaded)?;
    let (waived, store) = (&loaded.settings.sandbox.waived, loaded.settings.kept.store());
    let remembered = store::wait(recall(&**store)).map_err(Trouble::because)?;
    let report = runtime::run(async {
        let jobs = JobsReport::new(&loaded.settings).await;
        let search = match asks_net {
            true => Some(SearchReport::new(&loaded.settings).await?),
            false => None,
        };
        let browser = BrowserReport::new(&loaded.settings).await?;
        Ok::<_, Trouble>(Report {
            search,
            browser: Some(browser),
            ..Report::new(waived, remembered, jobs).await?
        })
    })??;
    let is_good = report.is_good();
    if cli.json {
        print::json(&report.to_json())?;
    } else {
        print::line(&report.to_text())?;
    }
    Ok(if is_good { Ending::Good } else { Ending::Failed })
}

/// All that was found out.
struct Report {
    machine: Machine,
    layers: Vec<(Layer, State, String)>,
    /// Nothing if the sandbox is not there.
    tried: Option<Tried>,
    /// The last test that was made because a program was confined, and whether another one is due.
    remembered: Option<(Remembered, bool)>,
    jobs: JobsReport,
    browser: Option<BrowserReport>,
    /// Nothing if nobody was to be asked.
    search: Option<SearchReport>,
}

struct Tried {
    tested: Tested,
    took_ms: u128,
    cost: Cost,
    /// Of a start from a pool of empty sandboxes.
    pooled: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Missing,
    Waived,
    /// As an ordinary user.
    NotNeeded,
    /// Init looks at it, since no control group can be made.
    Degraded,
    /// `bwrap` leaves it out.
    LeftOut,
    /// One before it is missing.
    NotTried,
}

impl Report {
    async fn new(
        waived: &[Layer],
        remembered: Option<Remembered>,
        jobs: JobsReport,
    ) -> Result<Report, Trouble> {
        let confiner = Confiner::new(confinement(SPAWNER)?).without_pool();
        let probe = confinement(PROBE)?;
        let machine = Machine::here();
        let mut missing: Vec<Unavailable> = Vec::new();
        let (tested, took_ms) = loop {
            // Whoever lacks one layer wants to know whether it is the only one.
            let without: Vec<Layer> = missing.iter().map(|missing| missing.layer).collect();
            let start = Instant::now();
            match self_test(&confiner, &probe, Profile::write(), &without).await {
                Ok(tested) => break (Some(tested), start.elapsed().as_millis()),
                Err(ConfineError::Unavailable(found)) => {
                    let goes_on = found.layer.may_be_waived() && !without.contains(&found.layer);
                    missing.push(found);
                    if !goes_on {
                        break (None, 0);
                    }
                }
                Err(error) => return Err(Trouble::because(error)),
            }
        };
        let without: Vec<Layer> = missing.iter().map(|missing| missing.layer).collect();
        let tried = match tested {
            Some(tested) => {
                let cost = spawn_cost(&confiner, &without).await.map_err(Trouble::because)?;
                let pooling = Confiner::new(confinement(SPAWNER)?);
                let pooled = pooled_cost(&pooling, &without).await.map_err(Trouble::because)?;
                Some(Tried { tested, took_ms, cost, pooled })
            }
            None => None,
        };
        let has_network = match tried {
            Some(_) => lacks_nothing(start_with_network(&confiner, &without).await, &mut missing)?,
            None => false,
        };
        let is_watched = tried.as_ref().is_some_and(|tried| tried.cost.memory == MemoryKeeper::Watchdog);
        let by = tried.as_ref().map(|tried| tried.cost.by);
        let layers = Layer::ALL.into_iter().map(|layer| {
            let found = missing.iter().find(|missing| missing.layer == layer);
            let why = found.map(|found| found.why.clone()).unwrap_or_default();
            let state = match layer {
                Layer::Memory if found.is_none() && is_watched => State::Degraded,
                Layer::SelfTest => match &tried {
                    Some(tried) if tried.not_held().is_empty() => State::Ok,
                    Some(_) => State::Missing,
                    None => State::NotTried,
                },
                Layer::Names if by == Some(StartedBy::Bwrap) => State::LeftOut,
                // They are there only where there is a network.
                Layer::Proxy | Layer::Names if found.is_none() && !has_network => State::NotTried,
                _ => state(layer, found.is_some(), &machine, tried.is_some(), waived),
            };
            (layer, state, why)
        });
        let here = HoldsFor::here(waived);
        let remembered = remembered.map(|test| {
            let is_due = here.as_ref() != Some(&test.at);
            (test, is_due)
        });
        Ok(Report { layers: layers.collect(), machine, tried, remembered, jobs, browser: None, search: None })
    }

    fn escaped(&self) -> Vec<&'static str> {
        self.tried.iter().flat_map(Tried::not_held).collect()
    }

    /// What starts programs, and which it is if not we ourselves.
    fn launcher(&self) -> Option<(&'static str, Option<String>)> {
        let by = self.tried.as_ref()?.cost.by;
        let which = (by == StartedBy::Bwrap).then(bwrap);
        Some((by.name(), which.map(|(path, version)| format!("{path}, {version}"))))
    }

    fn is_good(&self) -> bool {
        self.is_confining() && self.jobs.is_good()
    }

    fn is_confining(&self) -> bool {
        self.tried.is_some()
            && self.escaped().is_empty()
            && self.layers.iter().all(|(_, state, _)| *state != State::Missing)
    }

    fn to_json(&self) -> Value {
        let layers = self.layers.iter().map(|(layer, state, why)| {
            let mut told = json!({ "layer": layer.name(), "state": state.name() });
            if !why.is_empty() {
                told["why"] = json!(why);
                told["fix"] = json!(layer.fix());
            }
            told
        });
        let programs = self.machine.programs.iter().map(|(name, path)| (*name, path));
        let mut told = json!({
            "ok": self.is_good(),
            "kernel": self.machine.kernel,
            "landlock": self.machine.landlock,
            "cgroups": self.machine.cgroups,
            "root": self.machine.is_root,
            "layers": layers.collect::<Vec<_>>(),
            "name_servers": self.machine.name_servers,
            "programs": programs.collect::<std::collections::BTreeMap<_, _>>(),
            "jobs": self.jobs.to_json(),
        });
        if let Some(browser) = &self.browser {
            told["browser"] = browser.to_json();
        }
        if let Some(search) = &self.search {
            told["search"] = search.to_json();
        }
        if let Some((launcher, which)) = self.launcher() {
            told["launcher"] = json!(launcher);
            if let Some(which) = which {
                told["bwrap"] = json!(which);
            }
        }
        if let Some(tried) = &self.tried {
            told["attempts"] = json!({
                "made": tried.tested.attempts.len(), "escaped": self.escaped(), "ms": tried.took_ms,
            });
            let micros = |time: Duration| time.as_micros();
            told["start"] = json!({
                "bare_us": micros(tried.cost.bare), "confined_us": micros(tried.cost.confined),
                "ratio": tried.cost.confined.as_secs_f64() / tried.cost.bare.as_secs_f64(),
                "pooled_us": tried.pooled.map(micros),
            });
        }
        if let Some((test, is_due)) = &self.remembered {
            told["remembered"] = json!({ "at_ms": test.made_at_ms, "escaped": test.escaped, "due": is_due });
        }
        if !self.is_confining() {
            told["advice"] = json!(self.machine.advice);
        }
        told
    }

    fn to_text(&self) -> String {
        let Machine { kernel, landlock, cgroups, is_root, advice, name_servers, programs } = &self.machine;
        let user = if *is_root { "root: each program gets a user of its own" } else { "an ordinary user" };
        let mut lines = vec![
            format!("kernel      {kernel}"),
            format!("landlock    {landlock}"),
            format!("cgroups     {cgroups}"),
            format!("running as  {user}"),
            format!(
                "name server {}",
                if name_servers.is_empty() { "none".to_owned() } else { name_servers.join(", ") }
            ),
        ];
        if let Some((launcher, which)) = self.launcher() {
            let which = which.map(|which| format!(" ({which})")).unwrap_or_default();
            lines.push(format!("launcher    {launcher}{which}"));
        }
        for (name, path) in programs {
            let place = path.as_ref().map_or("not found".to_owned(), |path| path.display().to_string());
            lines.push(format!("{name:<11} {place}"));
        }
        lines.extend(self.browser.iter().flat_map(BrowserReport::lines));
        lines.extend(self.jobs.lines());
        if let Some(search) = &self.search {
            lines.push(String::new());
            lines.extend(search.lines());
        }
        lines.push(String::new());
        for (layer, state, why) in &self.layers {
            lines.push(format!("{:<20} {}", layer.name(), state.name()));
            if !why.is_empty() {
                lines.push(format!("    {why}; {}", layer.fix()));
            }
        }
        lines.push(String::new());
        lines.push(match &self.tried {
            None => "programs cannot be confined here, so none is run confined".to_owned(),
            Some(tried) => {
                let Cost { bare, confined, .. } = tried.cost;
                let ratio = confined.as_secs_f64() / bare.as_secs_f64();
                format!(
                    "{} attempts to escape in {} ms, {}\na start takes {:.1} ms, {ratio:.1} times a bare one; {}",
                    tried.tested.attempts.len(),
                    tried.took_ms,
                    match self.escaped()[..] {
                        [] => "all held".to_owned(),
                        ref escaped => format!("NOT HELD: {}", escaped.join(", ")),
                    },
                    confined.as_secs_f64() * 1000.0,
                    match tried.pooled {
                        Some(pooled) => format!("{:.1} ms from the pool", pooled.as_secs_f64() * 1000.0),
                        None => "there is no pool".to_owned(),
                    },
                )
            }
        });
        lines.push(self.remembered_line());
        if !self.is_confining() {
            lines.extend(advice.iter().map(|advice| (*advice).to_owned()));
        }
        lines.join("\n")
    }
}

impl Report {
    /// What serving processes go by.
    fn remembered_line(&self) -> String {
        let Some((test, is_due)) = &self.remembered else {
            return "no test is remembered: one is made when a program is first confined".to_owned();
        };
        let outcome = match &test.escaped[..] {
            [] => "all held".to_owned(),
            escaped => format!("NOT HELD: {}", escaped.join(", ")),
        };
        let due = match is_due {
            true => {
                "; another boot, program, user or `sandbox.waive` than now, so the next program has it made anew"
            }
            false => "",
        };
        format!("the test that is remembered was made {}: {outcome}{due}", times::shown(test.made_at_ms))
    }
}

impl Tried {
    /// The attempts that succeeded, or of which nothing is known.
    fn not_held(&self) -> Vec<&'static str> {
        let attempts = self.tested.attempts.iter().filter(|attempt| attempt.held != Held::Held);
        attempts.map(|attempt| attempt.name).collect()
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Waived => "waived",
            State::NotNeeded => "not needed",
            State::Degraded => "degraded: watched, not limited",
            State::LeftOut => "left out: bwrap starts programs, which find hosts only through the proxy",
            State::NotTried => "not tried",
        }
    }
}

/// Whether the program has run; the layer that it lacks is missing, unless that is known.
fn lacks_nothing(ran: Result<(), ConfineError>, missing: &mut Vec<Unavailable>) -> Result<bool, Trouble> {
    match ran {
        Ok(()) => Ok(true),
        Err(ConfineError::Unavailable(found)) => {
            if missing.iter().all(|known| known.layer != found.layer) {
                missing.push(found);
            }
            Ok(false)
        }
        Err(error) => Err(Trouble::because(error)),
    }
}

fn state(layer: Layer, is_missing: bool, machine: &Machine, is_whole: bool, waived: &[Layer]) -> State {
    match layer {
        _ if is_missing && waived.contains(&layer) => State::Waived,
        _ if is_missing => State::Missing,
        Layer::RunUser | Layer::Idmap if !machine.is_root => State::NotNeeded,
        _ if is_whole => State::Ok,
        _ => State::NotTried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_program_with_a_network_lacks_is_missing_too() {
        let lacks = |layer| Unavailable { layer, why: "why".to_owned() };
        let mut missing = vec![lacks(Layer::NetworkNamespace)];
        let layers = |missing: &[Unavailable]| missing.iter().map(|one| one.layer).collect::<Vec<_>>();
        for (ran, has_network, expected) in [
            (Ok(()), true, vec![Layer::NetworkNamespace]),
            (Err(lacks(Layer::NetworkNamespace).into()), false, vec![Layer::NetworkNamespace]),
            (Err(lacks(Layer::Proxy).into()), false, vec![Layer::NetworkNamespace, Layer::Proxy]),
        ] {
            assert_eq!(lacks_nothing(ran, &mut missing).expect("known"), has_network);
            assert_eq!(layers(&missing), expected);
        }
        assert!(lacks_nothing(Err(std::io::Error::other("x").into()), &mut missing).is_err());
    }
}
