//! Tests of what a journal comes to.

use super::*;

fn entry(at_ms: u64, command: Command) -> JournalEntry {
    JournalEntry {
        at_ms,
        user: "ann".to_owned(),
        command,
    }
}

fn id(number: u32) -> String {
    format!("application_1_{number:04}")
}

/// The command of a number, so that numbers without a pattern make all kinds of journals.
fn command(kind: u64, which: u32) -> Command {
    let application = id(which % 7);
    let node = format!("n{}:1", which % 3);
    let label = ["x", "y"][usize::try_from(which % 2).unwrap()].to_owned();
    match kind % 17 {
        0 => Command::RegisterNode(NodeRegistration {
            node,
            rack: format!("/{which}"),
            resource: vec![1, 1],
            http_port: 1,
            version: String::new(),
            labels: None,
        }),
        1 => Command::RemoveNode { node },
        2 => Command::DecommissionNode { node },
        3 => Command::NewApplication,
        4 => Command::Submit(Box::new(Submission {
            application,
            name: which.to_string(),
            ..Submission::default()
        })),
        5 => Command::RegisterMaster {
            application,
            host: which.to_string(),
            rpc_port: 1,
            tracking_url: String::new(),
        },
        6 => Command::Move {
            application,
            queue: format!("root.{which}"),
        },
        7 => Command::SetPriority {
            application,
            priority: 1,
        },
        8 => Command::AddLabels {
            labels: vec![LabelSpec {
                name: label,
                exclusive: which.is_multiple_of(2),
            }],
        },
        9 => Command::RemoveLabels {
            labels: vec![label],
        },
        10 => Command::ReplaceLabels {
            nodes: BTreeMap::from([(node, vec![label])]),
        },
        11 => Command::ReplaceLabels {
            nodes: BTreeMap::from([(format!("n{}", which % 3), vec![label])]),
        },
        fact => fact_of(fact, which),
    }
}

/// The fact of a number.
fn fact_of(kind: u64, which: u32) -> Command {
    let application = id(which % 7);
    match kind {
        12 => Command::MasterPlaced {
            application,
            attempt: which % 2 + 1,
            number: which,
            node: format!("n{}:1", which % 3),
        },
        13 => Command::AttemptStarted {
            application,
            attempt: which % 3 + 1,
        },
        14 => Command::ContainerChanged {
            application,
            attempt: which % 2 + 1,
            number: which % 3,
            form: ContainerForm {
                version: which,
                size: vec![512, i64::from(which)],
                opportunistic: which.is_multiple_of(2),
            },
        },
        15 => Command::ChangedContainerEnded {
            application,
            attempt: which % 2 + 1,
            number: which % 3,
        },
        _ => Command::Ended {
            application,
            state: AppState::Killed,
            status: FinalStatus::Killed,
            diagnostics: which.to_string(),
        },
    }
}

fn journal(seed: u64, length: u64) -> Vec<JournalEntry> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut made = |at_ms| {
        let which = u32::try_from(next() % 100).unwrap();
        entry(at_ms, command(next() >> 8, which))
    };
    (1..=length).map(&mut made).collect()
}

/// What matters of a history: who ended needs no commands to be carried out again.
fn shown(entries: &[JournalEntry]) -> String {
    let mut history = History::of(entries);
    for app in history.apps.values_mut().filter(|app| app.end.is_some()) {
        app.again.clear();
    }
    format!("{history:?}")
}

#[test]
fn what_is_compacted_says_the_same_before_and_after_more_commands() {
    for seed in 0..300 {
        let all = journal(seed, 120);
        for cut in [0, 1, 40, 120] {
            let mut short = compacted(&all[..cut], usize::MAX);
            short.extend_from_slice(&all[cut..]);
            assert_eq!(shown(&short), shown(&all), "seed {seed}, cut at {cut}");
        }
    }
}

#[test]
fn what_is_compacted_twice_stays_so() {
    let once = compacted(&journal(5, 500), 3);
    assert_eq!(compacted(&once, 3), once);
    assert!(once.len() < 60, "{}", once.len());
}

#[test]
fn applications_that_ended_first_are_forgotten_first() {
    let mut all = Vec::new();
    for number in 1..=5 {
        let submission = Submission {
            application: id(number),
            ..Submission::default()
        };
        all.push(entry(1, Command::NewApplication));
        all.push(entry(1, Command::Submit(Box::new(submission))));
    }
    for (number, at_ms) in [(1, 30), (2, 10), (3, 20)] {
        let ended = Command::Ended {
            application: id(number),
            state: AppState::Finished,
            status: FinalStatus::Succeeded,
            diagnostics: String::new(),
        };
        all.push(entry(at_ms, ended));
    }
    let history = History::of(&compacted(&all, 1));
    let left: Vec<String> = history.apps.keys().map(ToString::to_string).collect();
    assert_eq!(left, [id(1), id(4), id(5)]);
    assert_eq!(history.given_out, 5, "no id is given out twice");
}
