//! The machine that a figure comes from: what the operating system reports about it.

use std::panic::resume_unwind;
use std::process::Command;
use std::sync::OnceLock;
use std::{fs, thread};

/// Model of the processor.
pub(crate) fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(": ")).map_or_else(
        || "unknown".to_owned(),
        |(_, model)| model.trim().to_owned(),
    )
}

/// Cores that this process may use, wherever the calling thread was moved to since.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Whether the allocator keeps what was freed as long as `.cargo/config.toml` sets.
pub(crate) fn keeps_memory() -> bool {
    std::env::var_os("MIMALLOC_PURGE_DELAY").is_some()
}

/// The allocator of this driver, and whether it runs as by itself.
pub(crate) fn allocator() -> &'static str {
    if keeps_memory() {
        "mimalloc"
    } else {
        "mimalloc, without MIMALLOC_PURGE_DELAY"
    }
}

/// Release of the kernel.
pub(crate) fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

/// Who sets the frequency of the first core, or `none` where the system does not say.
pub(crate) fn governor() -> String {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    fs::read_to_string(path).map_or_else(|_| "none".to_owned(), |name| name.trim().to_owned())
}

/// A name for the machine's file of results: processor and cores in lower case.
pub(crate) fn slug() -> String {
    let text = format!("{} {} cores", processor(), cores());
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

/// Present commit, and whether files other than recorded results differ from it.
pub(crate) fn commit() -> (String, bool) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":/",
        ":(top,exclude)perf/results",
    ]);
    (commit, changed.is_some_and(|changed| !changed.is_empty()))
}

/// Moves the calling thread to one of the cores that it may use, as measured engines do with theirs.
/// A refusal changes nothing but the speed.
pub(crate) fn stand_on(core: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if let Some(&core) = cores.get(core % cores.len().max(1)) {
        core_affinity::set_for_current(core);
    }
}

/// Runs a driver on a thread of its own: what it does about cores ends with it.
pub(crate) fn on_its_own<T: Send>(drive: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let driven = scope.spawn(drive).join();
        driven.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// A figure of `/proc/self/status` in KiB: `VmRSS` now, `VmHWM` at most so far.
pub(crate) fn status_kib(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// How often the operating system took a core from a thread of this process.
pub(crate) fn involuntary_switches() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let of_task = |task: std::io::Result<fs::DirEntry>| {
        let status = fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let line = status
            .lines()
            .find(|line| line.starts_with("nonvoluntary_ctxt_switches"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    tasks.filter_map(of_task).sum()
}

/// How often a thread of this process lost its core to another, and for how many hundredths of a second the
/// machine lost one to other machines, together: whether cores were lost between two looks.
pub(crate) fn core_losses() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    stolen(&stat) + involuntary_switches()
}

/// What all processors have lost to other machines, of a text as `/proc/stat` has it.
fn stolen(stat: &str) -> u64 {
    let all = stat.lines().find(|line| line.starts_with("cpu "));
    // user, nice, system, idle, iowait, irq, softirq, steal
    all.and_then(|line| line.split_whitespace().nth(8))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_file_has_a_plain_name() {
        let slug = slug();
        assert!(
            slug.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{slug}"
        );
        assert!(slug.ends_with("-cores"), "{slug}");
    }

    #[test]
    fn stolen_time_is_that_of_all_processors() {
        let stat = "cpu  10 0 25 165 2 1 28 13 0 0\ncpu0 4 0 1 8 2 0 8 4 0 0\n";
        assert_eq!((stolen(stat), stolen("intr 5")), (13, 0));
    }

    #[test]
    fn an_unknown_figure_of_the_status_is_nothing() {
        assert_eq!(status_kib("VmNoSuchThing"), 0);
    }
}
