//! What each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{Model, Tab};

/// Rows of a page.
const PAGE: i64 = 10;

/// Carries out a key.
pub(super) fn press(model: &mut Model<'_>, key: KeyEvent) {
    if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
        model.end();
    } else if model.is_editing() {
        edit(model, key.code);
    } else {
        command(model, key.code);
    }
}

/// Keys of the filter.
fn edit(model: &mut Model<'_>, code: KeyCode) {
    match code {
        KeyCode::Enter => model.end_filter(true),
        KeyCode::Esc => model.end_filter(false),
        KeyCode::Backspace => model.shorten_filter(),
        KeyCode::Char(c) => model.lengthen_filter(c),
        _ => {}
    }
}

fn command(model: &mut Model<'_>, code: KeyCode) {
    match code {
        KeyCode::Char('x') => model.end(),
        KeyCode::Esc => model.close(),
        KeyCode::Left => model.step(-1),
        KeyCode::Right => model.step(1),
        KeyCode::Char('[') => model.step(-PAGE),
        KeyCode::Char(']') => model.step(PAGE),
        KeyCode::Home => model.go_to(0),
        KeyCode::End => model.go_to(u64::MAX),
        KeyCode::Char(' ') => model.play(),
        KeyCode::Char('+' | '=') => model.faster(),
        KeyCode::Char('-') => model.slower(),
        KeyCode::Char('q') => model.show(Tab::Queues),
        KeyCode::Char('a') => model.show(Tab::Applications),
        KeyCode::Char('n') => model.show(Tab::Nodes),
        KeyCode::Char('e') => model.show(Tab::Events),
        KeyCode::Char('s') => model.show(Tab::Scheduler),
        KeyCode::Char('?') => model.show(Tab::Help),
        KeyCode::Char('p') => model.next_partition(),
        KeyCode::Char('/') => model.begin_filter(),
        KeyCode::Up => model.select(-1),
        KeyCode::Down => model.select(1),
        KeyCode::PageUp => model.select(-PAGE),
        KeyCode::PageDown => model.select(PAGE),
        KeyCode::Enter => model.open(),
        _ => {}
    }
}
