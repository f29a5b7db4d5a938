//! The rules in force: read when first needed, and again when a file has changed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use globset::GlobSet;

use crate::call::Call;
use crate::config::Settings;
use crate::files::{self, FileLocation, Found, Layer, Stamp};
use crate::finding::{Finding, Stop};
use crate::in_force::InForce;
use crate::judge::{self, Surroundings};
use crate::judgement::Judgement;
use crate::rule::Rule;
use crate::workspace::Workspace;

/// How often files are looked at, at most. A change is in effect after that, with the first call.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The name by which records know that a file could not be used.
const UNUSABLE: &str = "rules-file";

/// The rules of one workspace.
#[derive(Debug)]
pub struct Rules(Option<Box<Inner>>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    workspace: Workspace,
    locations: Vec<FileLocation>,
    state: ArcSwapOption<State>,
    /// Milliseconds from `begun` on at which files are looked at again.
    look_at_ms: AtomicU64,
    begun: Instant,
    reading: Mutex<()>,
}

/// What the files said when they were last read.
#[derive(Debug)]
struct State {
    stamps: Vec<Stamp>,
    files: Vec<Found>,
    /// For each location the rules that it had when it was last good.
    good: Vec<Option<Arc<[Rule]>>>,
    /// Those that concern this project.
    rules: Vec<InForce>,
    /// Why no call can be judged.
    unusable: Option<Arc<str>>,
}

impl Rules {
    /// No rules, whatever files there are.
    pub fn none() -> Rules {
        Rules(None)
    }

    /// The rules that these settings name. Nothing is read yet.
    pub fn new(settings: Settings) -> Rules {
        let locations = files::locations(&settings);
        Rules(Some(Box::new(Inner {
            workspace: Workspace::new(&settings.workspace, &settings.spellings)
                .with_home(settings.home.clone()),
            settings,
            locations,
            state: ArcSwapOption::empty(),
            look_at_ms: AtomicU64::new(0),
            begun: Instant::now(),
            reading: Mutex::new(()),
        })))
    }

    /// Whether calls are held against anything now; so they are where no rule can be read.
    pub fn are_any(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| {
            let state = inner.now();
            state.unusable.is_some() || !state.rules.is_empty()
        })
    }

    /// Judges a call by the rules in force now. Looks at the files, and reads them, if it is time.
    pub fn judge(&self, call: &Call<'_>) -> Judgement {
        let Some(inner) = &self.0 else { return Judgement::default() };
        let state = inner.now();
        if let Some(why) = &state.unusable {
            let finding =
                Finding { rule: UNUSABLE.into(), layer: Layer::Project, effect: "block".into(), acts: true };
            let stop = Some(Stop { rule: UNUSABLE.into(), why: why.clone() });
            return Judgement { findings: vec![finding], stop, ..Judgement::default() };
        }
        if state.rules.is_empty() {
            return Judgement::default();
        }
        judge::judge(&state.rules, call, inner.surroundings(call))
    }

    /// Whether a rule that blocks, asks, strikes out or keeps here is about a path that this call names.
    pub fn concern_paths(&self, call: &Call<'_>) -> bool {
        self.0.as_ref().is_some_and(|inner| {
            let state = inner.now();
            state.unusable.is_some() || judge::concern_paths(&state.rules, call, inner.surroundings(call))
        })
    }

    /// Shows every file that is there, or should be, and whether each of its rules concerns this project.
    pub fn show<T>(&self, show: impl FnOnce(&[Found], &dyn Fn(&Rule, Layer) -> bool) -> T) -> T {
        match &self.0 {
            None => show(&[], &|_, _| false),
            Some(inner) => show(&inner.now().files, &|rule, layer| inner.concerns(rule, layer)),
        }
    }

    /// What is wrong with the files: `file:line:column: what`, one line each.
    pub fn problems(&self) -> Vec<String> {
        self.show(|files, _| files.iter().flat_map(lines).collect())
    }

    /// Every file that may hold rules, whether it is there or not.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flat_map(|inner| inner.locations.iter().map(|location| &*location.path))
    }
}

impl Settings {
    /// The files that are named, and no tool may write.
    pub fn named_files(&self) -> Vec<PathBuf> {
        files::locations(self).into_iter().map(|location| location.path).collect()
    }
}

/// The lines about one file.
fn lines(file: &Found) -> Vec<String> {
    let line = |problem: &crate::Problem| {
        let place = problem.place.map(|place| format!(":{}:{}", place.line, place.column));
        format!("{}{}: {}", file.path.display(), place.unwrap_or_default(), problem.what)
    };
    file.rules.as_ref().err().into_iter().flatten().map(line).collect()
}

impl Inner {
    fn surroundings(&self, call: &Call<'_>) -> Surroundings<'_> {
        Surroundings {
            is_local: self.is_local(call),
            workspace: &self.workspace,
            vocabulary: &self.settings.vocabulary,
        }
    }

    fn is_local(&self, call: &Call<'_>) -> bool {
        match call.upstream {
            Some(upstream) => self.settings.local_upstreams.contains(upstream),
            None => !call.open_world,
        }
    }

    /// The state of the files, not older than [`LOOK_EVERY`].
    fn now(&self) -> Arc<State> {
        let now_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now_ms < self.look_at_ms.load(Ordering::Acquire)
            && let Some(state) = &*self.state.load()
        {
            return state.clone();
        }
        self.look(now_ms)
    }

    /// Looks at the files, and reads them if one of them may have changed.
    fn look(&self, now_ms: u64) -> Arc<State> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let stamps: Vec<Stamp> =
            self.locations.iter().map(|location| Stamp::of(&location.path, now)).collect();
        let known = self.state.load_full();
        let is_same =
            |state: &Arc<State>| state.stamps.iter().zip(&stamps).all(|(known, stamp)| known.is_same(*stamp));
        let state = match known.clone().filter(is_same) {
            Some(state) => state,
            None => {
                let state = Arc::new(self.read(stamps, known.as_deref()));
                if let Some(why) = state
                    .unusable
                    .as_ref()
                    .filter(|why| known.is_none_or(|known| known.unusable.as_ref() != Some(why)))
                {
                    tracing::error!(%why, "the AI rules cannot be used, so every call is refused");
                }
                self.state.store(Some(state.clone()));
                state
            }
        };
        let every = u64::try_from(LOOK_EVERY.as_millis()).unwrap_or(u64::MAX);
        self.look_at_ms.store(now_ms.saturating_add(every), Ordering::Release);
        state
    }

    /// Reads the files. The rules of one that is gone stay: whatever takes a file away, a program that saves it, a change of
    /// branches or an agent, is nobody's word that its rules are to end. An empty list of rules in it is.
    fn read(&self, stamps: Vec<Stamp>, known: Option<&State>) -> State {
        let (mut files, mut good) = (Vec::new(), Vec::new());
        for (nth, location) in self.locations.iter().enumerate() {
            let before = known.and_then(|known| known.good[nth].clone());
            let found = match (location.read(&self.workspace), &before) {
                (None, Some(rules)) => {
                    if known.is_some_and(|known| known.stamps[nth] != Stamp::Absent) {
                        let file = location.path.display();
                        tracing::error!(%file, "a rules file is gone; its rules stay in force until a reload");
                    }
                    Some(Found {
                        layer: location.layer,
                        path: location.path.clone(),
                        rules: Ok(rules.to_vec()),
                    })
                }
                (found, _) => found,
            };
            good.push(match found.as_ref().map(|found| &found.rules) {
                Some(Ok(rules)) => (!rules.is_empty()).then(|| Arc::from(&**rules)),
                Some(Err(_)) | None => before,
            });
            files.extend(found);
        }
        let problems: Vec<String> = files.iter().flat_map(lines).collect();
        let unusable = problems.first().map(|first| {
            let more = match problems.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let why = format!(
                "cannot be held against the rules for AI: {first}{more}; a person must correct the file"
            );
            Arc::from(why)
        });
        let rules = files.iter().flat_map(|file| {
            let rules = file.rules.as_deref().unwrap_or_default();
            rules.iter().filter(|rule| self.concerns(rule, file.layer)).map(|rule| {
                let mut rule = rule.clone();
                // Nobody but the organisation takes the teeth out of its rules.
                if file.layer != Layer::Organisation {
                    rule.mode = rule.mode.or_more_lenient(self.settings.mode);
                }
                let own_servers = self.settings.own_servers.clone().filter(|_| file.layer == Layer::Project);
                if own_servers.is_some() {
                    rule.action.forget_placeholder();
                }
                InForce { rule: Arc::new(rule), layer: file.layer, own_servers }
            })
        });
        State { stamps, rules: rules.collect(), unusable, good, files }
    }

    /// Whether a rule is about this project, or about all.
    fn concerns(&self, rule: &Rule, layer: Layer) -> bool {
        let Some(projects) = &rule.matches.projects else { return true };
        let is_workspace = || is_end_of(projects, &self.settings.workspace);
        let is_folder = || {
            is_workspace() || self.settings.project_folder.iter().any(|folder| is_end_of(projects, folder))
        };
        match (&self.settings.project_name, layer) {
            (None, _) => is_folder(),
            (Some(name), Layer::Project) => projects.is_match(name),
            // A project that calls itself something else is none the less where it is.
            (Some(name), Layer::Organisation | Layer::User) => projects.is_match(name) || is_folder(),
        }
    }
}

/// Whether a pattern fits the last names of a path, or all of it.
fn is_end_of(patterns: &GlobSet, path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    patterns.is_match(path) || (0..names.len()).any(|from| patterns.is_match(names[from..].join("/")))
}
