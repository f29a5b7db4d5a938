//! What becomes of jobs when a process ends, in whichever way.

use super::scene::*;

/// Does this in a process that is gone afterwards, without having been asked to end.
fn in_a_process_that_dies<T>(scene: &Scene, work: impl AsyncFnOnce(&Process) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (done, process) = runtime.block_on(async {
        let process = scene.process();
        (work(&process).await, process)
    });
    // Its tasks go first, and what they hold.
    drop(runtime);
    drop(process);
    done
}

fn in_the_next<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

#[test]
fn a_restart_resumes_what_may_be_done_twice_and_says_so_of_the_rest() {
    let scene = Scene::new();
    let jobs = in_a_process_that_dies(&scene, async |process| {
        process.jobs.govern(Config { running: 2, ..Config::default() });
        let mut jobs = Vec::new();
        for (caller, tool, does) in
            [("a", "work", "waits"), ("b", "look", "fails once"), ("a", "work", "says")]
        {
            jobs.push(process.submit(&holder(caller, "k"), tool, does).await.unwrap());
        }
        process.until(&jobs[0], State::Running).await;
        process.has_told(&jobs[0], "output a line").await;
        jobs
    });
    let before = scene.ran();
    in_the_next(async {
        // A command that only looks tells the truth already.
        let command = scene.idle();
        let interrupted = command.jobs.get(Whose::Anyone, jobs[0].id.as_str()).await.unwrap();
        assert_eq!(
            (interrupted.state, interrupted.code.as_deref()),
            (State::Interrupted, Some("interrupted"))
        );
        let process = scene.process();
        let (over, said) = process.over(&jobs[0]).await;
        assert_eq!((over.state, said.as_str()), (State::Interrupted, "interrupted"));
        let events = process.events(&jobs[0]).await;
        // With what it had said until then.
        assert_eq!(events, ["started 1", "output a line", "progress 1", "finished interrupted"]);
        assert_eq!(process.over(&jobs[2]).await.0.state, State::Succeeded);
        assert!(scene.ran() > before);
        assert_eq!(
            process.cancel(Whose::Anyone, jobs[0].id.as_str()).await.unwrap().state,
            State::Interrupted
        );
    });
}

#[test]
fn what_may_be_done_twice_begins_anew() {
    let scene = Scene::new();
    let job = in_a_process_that_dies(&scene, async |process| {
        let job = process.submit(&local(), "look", "waits").await.unwrap();
        process.until(&job, State::Running).await
    });
    in_the_next(async {
        let process = scene.process();
        let again = process.until(&job, State::Running).await;
        assert_eq!(again.id, job.id);
        let until = async {
            while process.jobs.get(Whose::Anyone, job.id.as_str()).await.unwrap().attempt < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, until).await.unwrap();
        process.cancel(Whose::Anyone, job.id.as_str()).await.unwrap();
        let events = process.events(&job).await;
        assert_eq!(events.last().unwrap(), "finished cancelled");
        assert!(events.contains(&"started 2".to_owned()), "{events:?}");
    });
}

#[test]
fn what_had_been_answered_is_asked_again_however_the_process_ended() {
    for in_order in [false, true] {
        let scene = Scene::new();
        let job = in_a_process_that_dies(&scene, async |process| {
            let job = process.submit(&local(), "look", "asks and waits").await.unwrap();
            process.until(&job, State::InputRequired).await;
            let (id, answer) = (job.id.as_str(), Bytes::from_static(br#"{"k":{"roots":[]}}"#));
            let asked = process.jobs.asked(&local(), id).await.unwrap();
            process.jobs.answer(&local(), id, asked.number, &answer).await.unwrap();
            process.has_told(&job, "output a line").await;
            if in_order {
                process.jobs.end().await;
            }
            job
        });
        in_the_next(async {
            let process = scene.process();
            process.until(&job, State::InputRequired).await;
        });
    }
}

#[test]
fn a_process_that_ends_in_order_leaves_nothing_running() {
    let scene = Scene::new();
    let jobs = in_a_process_that_dies(&scene, async |process| {
        process.jobs.govern(Config { running: 2, ..Config::default() });
        let mut jobs = Vec::new();
        for (caller, tool) in [("a", "work"), ("b", "look")] {
            let job = process.submit(&holder(caller, "k"), tool, "waits").await.unwrap();
            jobs.push(process.until(&job, State::Running).await);
        }
        // What waits is left to others meanwhile.
        for _ in 0..9 {
            process.submit(&holder("a", "k"), "work", "waits").await.unwrap();
        }
        process.jobs.end().await;
        jobs
    });
    in_the_next(async {
        let command = scene.idle();
        let states = [&jobs[0], &jobs[1]].map(|job| command.jobs.get(Whose::Anyone, job.id.as_str()));
        let [work, look] = states;
        assert_eq!(
            (work.await.unwrap().state, look.await.unwrap().state),
            (State::Interrupted, State::Queued)
        );
        // What was interrupted is over, and under way no more.
        let over = jobs[0].id.as_str();
        command.jobs.purge(Whose::Anyone, over).await.unwrap();
        assert!(command.jobs.get(Whose::Anyone, over).await.is_err());
    });
}

#[test]
fn a_command_leaves_a_job_to_whoever_serves_the_workspace() {
    let scene = Scene::new();
    let job = in_the_next(async {
        let command = scene.idle();
        let job = command.submit(&local(), "work", "says").await.unwrap();
        assert_eq!((command.jobs.under_way(), scene.ran()), (0, 0));
        job
    });
    in_the_next(async {
        let process = scene.process();
        assert_eq!(process.over(&job).await.0.state, State::Succeeded);
    });
}

#[tokio::test]
async fn a_process_that_was_there_before_the_first_job_runs_what_others_leave() {
    let scene = Scene::new();
    let process = scene.process();
    // It begins to wait.
    tokio::task::yield_now().await;
    let job = scene.idle().submit(&local(), "work", "says").await.unwrap();
    assert_eq!(process.jobs.under_way(), 0);
    // The next time that it asks comes at once.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::time::resume();
    assert_eq!(process.over(&job).await.0.state, State::Succeeded);
}

#[test]
fn all_that_waited_is_taken_over_at_once_however_much_it_is() {
    let scene = Scene::new();
    in_a_process_that_dies(&scene, async |process| {
        process.jobs.govern(Config { running: 0, per_caller: 500, ..Config::default() });
        let callers: Vec<_> = (0..50).map(|nth| holder(&format!("key:{nth}"), "k")).collect();
        for nth in 0..450 {
            process.submit(&callers[nth / 9], "look", "says").await.unwrap();
        }
    });
    in_the_next(async {
        let process = scene.idle();
        process.jobs.govern(Config { running: 0, ..Config::default() });
        process.jobs.serve(&process.gate);
        let all = async {
            while process.jobs.under_way() < 450 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // Sooner than the next look at what others have left.
        tokio::time::timeout(Duration::from_secs(4), all).await.unwrap();
    });
}
