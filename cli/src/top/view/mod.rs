//! The screen: a line of figures, a table with what belongs beside it, a line of keys.

mod queues;
mod tables;

use anyhow::Result;
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::model::{Model, Tab};
use crate::moments::Moment;
use crate::output::escaped;
use crate::play::{grouped, virtual_time};
use crate::printed::{is_plain, sparkline, text};

/// Columns and rows of a printed picture.
const PRINTED: (u16, u16) = (80, 24);

/// Columns of the boxes on the right.
const SIDE: u16 = 28;

/// Spans of the sparkline.
const RATES: usize = 6;

const KEYS: &str = " [q]ueues [a]pps [n]odes [e]vents [s]cheduler  / filter  Enter why  ? help";

const HELP: &[&str] = &[
    "q a n e s       queues, applications, nodes, events, scheduler",
    "left, right     the moment before, the moment after; [ and ] ten of them",
    "Home, End       the beginning, the end as far as it is played",
    "space, + -      play or stop, faster, slower",
    "up, down        choose a row; PageUp, PageDown ten of them",
    "Enter           a queue's applications; why an application waits",
    "/               filter; Enter keeps it, Esc removes it",
    "p               the next partition",
    "x, Ctrl-C, Esc  end; Esc first closes what lies on top",
    "",
    "min|max   guarantee and maximum in percent of the partition",
    "\u{2502} in a bar the guarantee; ! above it",
    "run/wait  active applications and those that wait for room for their master",
];

/// Draws one picture.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model<'_>) {
    let rows = [
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(head(model, top.width)).style(reversed), top);
    frame.render_widget(Paragraph::new(foot(model)).style(reversed), bottom);
    let columns = [Constraint::Min(48), Constraint::Length(SIDE)];
    let [left, right] = Layout::horizontal(columns).areas(middle);
    match model.tab() {
        Tab::Queues => {
            queues::draw(frame, left, model);
            boxed(frame, right, "pending by reason", queues::reasons(model));
        }
        Tab::Nodes => {
            boxed(frame, left, "nodes", tables::nodes(model, left));
            boxed(frame, right, "nodes by use", tables::fullness(model));
        }
        Tab::Applications => {
            let title = "applications";
            boxed(frame, middle, title, tables::applications(model, middle));
        }
        Tab::Events => boxed(frame, middle, "events", tables::events(model, middle)),
        Tab::Scheduler => boxed(frame, middle, "scheduler", tables::scheduler(model)),
        Tab::Help => boxed(
            frame,
            middle,
            "keys",
            HELP.iter().map(|text| Line::from(*text)).collect(),
        ),
    }
    if let Some(why) = model.why() {
        frame.render_widget(Clear, middle);
        let text = Paragraph::new(tables::why(why)).wrap(Wrap { trim: false });
        frame.render_widget(text.block(Block::bordered().title(" why ")), middle);
    }
}

/// One picture of 80 columns and 24 lines as text.
pub(super) fn picture(model: &Model<'_>) -> Result<String> {
    let (width, height) = PRINTED;
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| draw(frame, model))?;
    Ok(text(terminal.backend().buffer(), false))
}

fn boxed(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>) {
    let block = Block::bordered().title(format!(" {title} "));
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The line of figures; those that do not fit are left out.
fn head(model: &Model<'_>, width: u16) -> String {
    let mut out = format!(" capsched top  {}", escaped(model.title()));
    let Some(now) = model.now() else {
        let why = model.failure();
        return format!(
            "{out}  {}",
            why.map_or_else(|| "reads the run".to_owned(), escaped)
        );
    };
    for part in figures(model, now) {
        let with = out.chars().count() + 2 + part.chars().count();
        if with <= usize::from(width) {
            out.push_str("  ");
            out.push_str(&part);
        }
    }
    out
}

/// Time, pace, containers placed, proposals refused.
fn figures(model: &Model<'_>, now: &Moment) -> [String; 4] {
    let (last_ms, live) = model.last();
    let more = if live { "+" } else { "" };
    let plays = if model.plays() {
        format!("x{}", model.pace())
    } else {
        "stopped".to_owned()
    };
    let tally = &now.tally;
    let (tried, refused) = (tally.placed + tally.conflicts, tally.conflicts);
    let permille = refused
        .saturating_mul(1_000)
        .checked_div(tried)
        .unwrap_or(0);
    let time = virtual_time(model.now_ms());
    let rates = model.rates(RATES);
    let rates = sparkline(&rates, rates.iter().copied().max().unwrap_or(0));
    [
        format!("{time} of {}{more}", virtual_time(last_ms)),
        plays,
        format!("placed {} {rates}", grouped(tally.placed)),
        format!("conflicts {}.{} %", permille / 10, permille % 10),
    ]
}

fn foot(model: &Model<'_>) -> String {
    if let Some(why) = model.failure() {
        return format!(" error: {}", escaped(why));
    }
    if model.is_editing() || !model.filter().is_empty() {
        let cursor = if model.is_editing() {
            "_"
        } else {
            "  (Esc removes it)"
        };
        return format!(" filter: {}{cursor}", escaped(model.filter()));
    }
    KEYS.to_owned()
}

/// The end of a name that is too long, which is the part that differs.
fn tail(name: &str, room: usize) -> String {
    let name = escaped(name);
    let count = name.chars().count();
    if count <= room || room == 0 {
        return name;
    }
    let end = name.chars().skip(count - room + 1);
    std::iter::once('\u{2026}').chain(end).collect()
}

/// The beginning of a text that is too long.
fn start(text: &str, room: usize) -> String {
    let text = escaped(text);
    if text.chars().count() <= room {
        return text;
    }
    let begin = text.chars().take(room.saturating_sub(1));
    begin.chain(['\u{2026}']).collect()
}

/// The rows around the selected one that fit.
fn window<T>(rows: &[T], selected: usize, room: usize) -> impl Iterator<Item = (bool, &T)> {
    let from = selected.saturating_sub(room.saturating_sub(1));
    let rows = rows.iter().enumerate().skip(from).take(room);
    rows.map(move |(at, row)| (at == selected, row))
}

/// How a row looks; the selected one is reversed.
fn row_style(selected: bool) -> Style {
    if selected {
        Style::new().add_modifier(Modifier::REVERSED)
    } else {
        Style::new()
    }
}

/// A colour, unless the environment asks for none.
fn coloured(colour: Color) -> Style {
    if is_plain() {
        Style::new()
    } else {
        Style::new().fg(colour)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use capsched::api::{ApplicationId, Reason};
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;
    use crate::moments::{AppAt, Count, Film, Free, NodeAt, PartAt, QueueAt, Tally};
    use crate::top::{About, keys};

    fn queue(path: &str, permille: [u32; 3], apps: Option<(u64, u64)>) -> QueueAt {
        let [guaranteed_permille, maximum_permille, used_permille] = permille;
        let (running, pending) = apps.unwrap_or((0, 0));
        QueueAt {
            path: path.into(),
            is_leaf: apps.is_some(),
            running,
            pending,
            parts: vec![PartAt {
                partition: "".into(),
                used_permille,
                guaranteed_permille,
                maximum_permille,
                used_mib: 0,
                guaranteed_mib: 0,
                maximum_mib: 0,
            }],
        }
    }

    fn app(id: u32, queue: &str, waiting: u64, reason: Option<Reason>) -> AppAt {
        AppAt {
            id: ApplicationId::new(id),
            queue: queue.into(),
            user: "ann".into(),
            submitted_ms: 1_000,
            running: 2,
            waiting,
            reason,
        }
    }

    fn moment(at_ms: u64, placed: u64) -> Moment {
        let node = |name: &str, memory_permille: u32| NodeAt {
            name: name.into(),
            partition: "".into(),
            used_permille: memory_permille,
            memory_permille,
            containers: 3,
            reserved: memory_permille > 900,
        };
        Moment {
            at_ms,
            queues: vec![
                queue("root", [1_000, 1_000, 910], None),
                queue("root.prod", [600, 1_000, 574], Some((41, 6))),
                queue("root.dev", [300, 600, 510], Some((88, 71))),
                queue("root.adhoc", [100, 200, 80], Some((3, 0))),
            ],
            nodes: vec![node("n1", 0), node("n2", 430), node("n3", 950)],
            apps: vec![
                app(7, "root.dev", 40, Some(Reason::UserLimit)),
                app(9, "root.dev", 3, Some(Reason::Fragmented)),
                app(2, "root.prod", 0, None),
            ],
            further_apps: 0,
            phases: Vec::new(),
            reasons: [
                (
                    Reason::UserLimit,
                    Count {
                        apps: 38,
                        containers: 40,
                    },
                ),
                (
                    Reason::QueueMaxCapacity,
                    Count {
                        apps: 1_061,
                        containers: 3,
                    },
                ),
            ]
            .into(),
            free: Some(Free {
                all: 10_240,
                unusable: 2_560,
            }),
            tally: Tally {
                placed,
                conflicts: placed / 100,
                ..Tally::default()
            },
        }
    }

    /// What two moments look like after some keys.
    fn after(codes: &[KeyCode]) -> String {
        let film = Film::default();
        film.push(moment(60_000, 400));
        film.push(moment(120_000, 1_000));
        film.note(
            61_000,
            "application_1_0004 refused: QUEUE_STOPPED".to_owned(),
        );
        film.end();
        let about = About {
            title: "global",
            jobs: None,
            latencies: &[],
        };
        let mut model = Model::new(about, &film);
        model.go_to(u64::MAX);
        for code in codes {
            keys::press(&mut model, KeyEvent::new(*code, KeyModifiers::NONE));
        }
        if let Some(question) = model.take_question() {
            assert_eq!(question.at_ms, 120_000);
            model.answer(question.job.app, "USER_LIMIT\n  ann may use 128 GB");
        }
        picture(&model).unwrap()
    }

    fn keys_of(text: &str) -> Vec<KeyCode> {
        text.chars().map(KeyCode::Char).collect()
    }

    #[test]
    fn the_first_picture_has_queues_with_bars_and_reasons_in_80_columns_and_24_lines() {
        let text = after(&[]);
        assert_eq!(text.lines().count(), 24);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        assert_eq!(text, include_str!("first.txt"));
    }

    #[test]
    fn applications_are_filtered_and_explained_and_closed_again() {
        let mut codes = keys_of("a");
        let text = after(&codes);
        assert!(text.contains("application_1_0007") && text.contains("119.0 s USER_LIMIT"));
        codes.extend(keys_of("/FRAG"));
        codes.push(KeyCode::Enter);
        let text = after(&codes);
        assert!(text.contains("application_1_0009") && !text.contains("application_1_0007"));
        assert!(text.contains("filter: FRAG"), "{text}");
        let text = after(&[
            KeyCode::Char('a'),
            KeyCode::Down,
            KeyCode::Up,
            KeyCode::Enter,
        ]);
        assert!(
            text.contains("\u{250c} why") && text.contains("ann may use 128 GB"),
            "{text}"
        );
        codes = vec![KeyCode::Char('a'), KeyCode::Enter, KeyCode::Esc];
        let text = after(&codes);
        assert!(text.contains("\u{250c} applications"), "{text}");
    }

    #[test]
    fn enter_on_a_queue_shows_its_applications() {
        let text = after(&[KeyCode::Down, KeyCode::Enter]);
        assert!(text.contains("filter: root.prod"), "{text}");
        assert!(text.contains("application_1_0002") && !text.contains("application_1_0007"));
    }

    #[test]
    fn nodes_events_scheduler_and_help_have_their_pictures() {
        let text = after(&keys_of("n"));
        assert!(
            text.contains("n3") && text.contains("95 %         3R"),
            "{text}"
        );
        assert!(
            text.contains("25 % where nothing fits") && text.contains("empty"),
            "{text}"
        );
        let text = after(&keys_of("e"));
        assert!(
            text.contains("application_1_0004 refused: QUEUE_STOPPED"),
            "{text}"
        );
        let text = after(&keys_of("s"));
        assert!(
            text.contains("containers placed            1,000"),
            "{text}"
        );
        assert!(text.contains("no latency was measured"), "{text}");
        assert!(after(&keys_of("?")).contains("the next partition"));
    }

    #[test]
    fn time_moves_by_moments_and_plays_to_the_end() {
        assert!(after(&[KeyCode::Left]).contains("60.0 s of 120.0 s"));
        assert!(after(&[KeyCode::Home, KeyCode::Right]).contains("120.0 s of 120.0 s"));
        let film = Film::default();
        film.push(moment(0, 0));
        film.push(moment(1_000, 5));
        film.end();
        let about = About {
            title: "x",
            jobs: None,
            latencies: &[],
        };
        let mut model = Model::new(about, &film);
        model.play();
        (0..3).for_each(|_| model.tick());
        assert_eq!(model.now().map(|now| now.at_ms), Some(1_000));
        assert!(!model.plays());
        keys::press(
            &mut model,
            KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE),
        );
        assert!(model.is_over());
    }

    #[test]
    fn input_cannot_hurt_a_terminal_and_names_of_other_sizes_fit() {
        let film = Film::default();
        let mut odd = moment(0, 0);
        odd.queues
            .push(queue("root.a\u{1b}[2J", [0, 0, 0], Some((0, 0))));
        odd.nodes[0].name = Arc::from("x".repeat(200));
        film.push(odd);
        let about = About {
            title: "y\u{9b}31m",
            jobs: None,
            latencies: &[],
        };
        let mut model = Model::new(about, &film);
        model.go_to(0);
        for key in "qnaes?".chars() {
            keys::press(
                &mut model,
                KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE),
            );
            let text = picture(&model).unwrap();
            assert!(!text.contains(['\u{1b}', '\u{9b}']), "{text}");
            for (width, height) in [(20, 5), (1, 1), (200, 60)] {
                let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
                terminal.draw(|frame| draw(frame, &model)).unwrap();
            }
        }
    }
}
