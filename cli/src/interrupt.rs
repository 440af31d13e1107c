//! Signals that end the process: temporary files go, and folders of runs say that they were cut short.
//!
//! A signal that the process ignores, as after `nohup`, stays ignored.

use std::path::{Path, PathBuf};

use capsched::sync::{Mutex, MutexGuard};

/// The file that a run leaves in its folder when a signal ends it.
pub(crate) const INTERRUPTED: &str = "interrupted.json";

/// Files that mark a folder as complete.
pub(crate) const MARKERS: [&str; 2] = ["run.json", "compare.json"];

static OPEN: Mutex<Open> = Mutex::new(Open {
    temporaries: Vec::new(),
    folders: Vec::new(),
    watched: false,
});

/// Held while a file becomes complete, and for ever once a signal ends the process. Taken before
/// [`OPEN`] where both are.
static ENDING: Mutex<()> = Mutex::new(());

/// What a signal has to deal with.
#[derive(Debug)]
struct Open {
    temporaries: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Whether the thread that waits for signals runs.
    watched: bool,
}

/// A path that is dealt with when a signal comes, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Guarded {
    path: PathBuf,
}

/// A file that is removed when a signal ends the process.
pub(crate) fn temporary(path: &Path) -> Guarded {
    guarded(path, |open| &mut open.temporaries)
}

/// A folder of a run that gets the file [`INTERRUPTED`] when a signal ends the process.
pub(crate) fn run_folder(path: &Path) -> Guarded {
    guarded(path, |open| &mut open.folders)
}

fn guarded(path: &Path, list: impl FnOnce(&mut Open) -> &mut Vec<PathBuf>) -> Guarded {
    let mut open = locked();
    if !open.watched {
        open.watched = true;
        watch();
    }
    list(&mut open).push(path.to_owned());
    Guarded {
        path: path.to_owned(),
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let mut open = locked();
        open.temporaries.retain(|path| *path != self.path);
        open.folders.retain(|path| *path != self.path);
    }
}

/// The registry. A panic while it was held left it whole: every change is one call on a vector.
fn locked() -> MutexGuard<'static, Open> {
    OPEN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Starts the thread that waits for signals. Without it, signals end the process as they always do.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored_signals();
    let wanted = [SIGHUP, SIGINT, SIGTERM];
    let wanted = wanted
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else {
        return;
    };
    let waiting = std::thread::Builder::new().name("signals".to_owned());
    let _unwatched = waiting.spawn(move || {
        for signal in &mut signals {
            end(signal);
        }
    });
}

#[cfg(not(unix))]
fn watch() {}

/// Signals that the process ignores, one bit each, from the lowest for signal 1.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Cleans up and ends the process by the signal. No file becomes complete meanwhile.
#[cfg(unix)]
fn end(signal: i32) {
    let _ending = ending();
    let open = locked();
    for path in &open.temporaries {
        let _gone = std::fs::remove_file(path);
    }
    for folder in &open.folders {
        let complete = MARKERS.iter().any(|name| folder.join(name).exists());
        if !complete {
            let _unsaid = say_interrupted(folder, signal);
        }
    }
    let _ended = signal_hook::low_level::emulate_default_handler(signal);
    std::process::exit(128 + signal);
}

#[cfg(unix)]
fn say_interrupted(folder: &Path, signal: i32) -> std::io::Result<()> {
    use std::io::Write as _;
    let path = folder.join(INTERRUPTED);
    let _absent = std::fs::remove_file(&path);
    let mut file = std::fs::File::create_new(path)?;
    let name = signal_hook::low_level::signal_name(signal).unwrap_or("unknown");
    let text = serde_json::json!({"interrupted_by": name, "complete": false});
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// Runs a change that makes a file complete, so that no signal comes in between.
pub(crate) fn undisturbed<T>(change: impl FnOnce() -> T) -> T {
    let _ending = ending();
    change()
}

fn ending() -> MutexGuard<'static, ()> {
    ENDING
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
