//! That memory which large messages needed goes back to the system.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(clippy::disallowed_methods, reason = "looks at what the system says of this process")]

/// Each like a large message, in bytes; together more than anything else in this process takes.
const LARGE_BYTES: usize = 8 * 1024 * 1024;
const COUNT: usize = 12;

/// What is kept of each, in bytes: enough to keep the heap from shrinking.
const KEPT_BYTES: usize = 4 * 1024;

/// The bytes of this process that are in memory.
fn resident() -> usize {
    let said = std::fs::read_to_string("/proc/self/status").expect("the system says");
    let kib = said.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB")).expect("a size");
    kib.trim().parse::<usize>().expect("a number") * 1024
}

#[test]
fn large_buffers_go_back_though_small_ones_stay_between_them() {
    sandbox::give_back_large_buffers();
    // By this one the library would learn to take the next ones from its heap.
    drop(vec![1_u8; 2 * LARGE_BYTES]);
    let before = resident();
    let (large, kept): (Vec<_>, Vec<_>) =
        (0..COUNT).map(|_| (vec![1_u8; LARGE_BYTES], vec![1_u8; KEPT_BYTES])).unzip();
    let most = resident();
    assert!(most >= before + COUNT * LARGE_BYTES, "{before} {most}");
    drop(large);
    let after = resident();
    assert!(after < before + LARGE_BYTES, "{before} {most} {after}");
    drop(kept);
}
