//! Threads and memory of this process, as the kernel of Linux lists them.
// As proc(5): stat has the name in parentheses, then the state; fields 14 and 15 are ticks of 10 ms.

use std::fs;
use std::io;
use std::path::Path;

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) name: String,
    /// `R` runs, `S` sleeps, `D` waits for the disk.
    pub(super) state: char,
    /// Processor time in user and system mode, in hundredths of a second.
    pub(super) cpu_cs: u64,
}

/// All threads, those with the most processor time first.
pub(super) fn all() -> io::Result<Vec<Thread>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        // A thread that has just ended is no thread any more.
        let read = fs::read_to_string(entry?.path().join("stat"));
        found.extend(read.ok().as_deref().and_then(thread));
    }
    found.sort_by(|a, b| b.cpu_cs.cmp(&a.cpu_cs).then_with(|| a.name.cmp(&b.name)));
    Ok(found)
}

fn thread(stat: &str) -> Option<Thread> {
    let (start, end) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat
        .get(start + 1..end)?
        .chars()
        .flat_map(char::escape_default)
        .collect();
    let mut fields = stat.get(end + 1..)?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // Fields 4 to 13 lie between the state and the user time.
    let mut times = fields
        .skip(10)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().ok());
    let cpu_cs = times.next()?? + times.next()??;
    Some(Thread {
        name,
        state,
        cpu_cs,
    })
}

/// The lines about memory and threads in the status of the process.
pub(super) fn memory() -> io::Result<String> {
    let text = fs::read_to_string(Path::new("/proc/self/status"))?;
    let about = |line: &&str| {
        line.starts_with("Vm") || line.starts_with("Rss") || line.starts_with("Threads")
    };
    Ok(text
        .lines()
        .filter(about)
        .map(|line| format!("{line}\n"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name() {
        let line = "42 (a) b (c)) R 1 2 3 4 5 6 7 8 9 10 120 30 0 0 20 0 1";
        let found = thread(line).unwrap();
        assert_eq!(
            (found.name.as_str(), found.state, found.cpu_cs),
            ("a) b (c)", 'R', 150)
        );
        for broken in ["", "42", "42 (a", "42 (a)", "42 (a) R 1", "42 )a( R"] {
            assert_eq!(thread(broken), None, "{broken}");
        }
    }
}
