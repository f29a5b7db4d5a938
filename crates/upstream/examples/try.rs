//! Throw-away.
use std::sync::Arc;
use std::time::{Duration, Instant};
use upstream::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|a| a == "guard") { std::process::exit(sandbox::guard::main(std::env::args_os().skip(2))); }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config: Config = toml::from_str(&args[1]).unwrap();
        let settings = config.settle("it", Duration::from_secs(30), &|_| Err("no".into())).unwrap();
        let world = World { launcher: sandbox::Launcher { guard: std::env::current_exe().unwrap(), guard_args: vec!["guard".into()] }, client: sandbox::Client::new(), ourselves: wire::initialize::Ourselves { name: "try", version: "0" } };
        let it = Upstream::new(settings, world);
        let begun = Instant::now();
        println!("{:?} {:?}", it.connect().await, begun.elapsed());
        let offer = it.offers().borrow().clone();
        println!("{} {} tools {:?}", offer.state, offer.tools.len(), offer.withheld);
        let Some(name) = args.get(2) else { it.end().await; println!("ended {:?}", begun.elapsed()); return };
        let tool = offer.tools.iter().find(|t| t.definition().name.as_str() == name).unwrap().clone();
        let root = sandbox::Root::open(std::path::Path::new("/tmp"), sandbox::Access::Read).unwrap();
        #[allow(clippy::disallowed_methods)]
        let cx = tool_api::Context::new(tool_api::Permit::issue(tool_api::CallId::next()), root, tool_api::Cancel::new(), None);
        let n: usize = args.get(4).and_then(|n| n.parse().ok()).unwrap_or(1);
        let mut times = Vec::new();
        for i in 0..n {
            let arguments = tool_api::Arguments::parse(Some(args[3].clone().into())).unwrap();
            let begun = Instant::now();
            let out = tool.run(arguments, &cx).await;
            times.push(begun.elapsed());
            if i == 0 { let s = format!("{out:?}"); println!("{}", &s[..s.len().min(600)]); if let Ok(o) = out { if let tool_api::Payload::Relayed{result,..} = o.payload { println!("{}", String::from_utf8_lossy(&result[..result.len().min(500)])); } } }
        }
        times.sort();
        println!("p50 {:?} p99 {:?}", times[n / 2], times[n * 99 / 100]);
        let begun = Instant::now();
        it.end().await;
        println!("ended {:?}", begun.elapsed());
    });
    let _ = Arc::new(1);
}
