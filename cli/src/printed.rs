//! What ratatui's widgets draw, printed as text: for output that is no screen.

use std::io::{self, IsTerminal};

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::widgets::{Sparkline, Widget};

/// Whether the environment asks for no colours.
pub(crate) fn is_plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Whether standard output takes colours.
pub(crate) fn takes_colours() -> bool {
    io::stdout().is_terminal() && !is_plain()
}

/// The cells of a buffer as lines without blanks at their ends, with their colours where asked.
pub(crate) fn text(buffer: &Buffer, colours: bool) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let mut out = String::new();
    for row in buffer.content.chunks(width) {
        let last = row.iter().rposition(|cell| cell.symbol() != " ");
        let shown = &row[..last.map_or(0, |at| at + 1)];
        for same in shown.chunk_by(|a, b| a.fg == b.fg) {
            let symbols: String = same.iter().map(Cell::symbol).collect();
            let code = if colours { code(same[0].fg) } else { None };
            out.push_str(&coded(code, &symbols));
        }
        out.push('\n');
    }
    out
}

/// A text in a colour.
pub(crate) fn ink(colour: Color, text: &str, colours: bool) -> String {
    coded(if colours { code(colour) } else { None }, text)
}

fn coded(code: Option<u8>, text: &str) -> String {
    code.map_or_else(
        || text.to_owned(),
        |code| format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    )
}

/// The terminal's number of a colour that a chart uses.
const fn code(colour: Color) -> Option<u8> {
    match colour {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Blue => Some(34),
        Color::Magenta => Some(35),
        Color::Cyan => Some(36),
        _ => None,
    }
}

/// Eighths of the height of a character.
const EIGHTHS: u64 = 8;

/// A line of bars. The highest has the height of `most`, and any amount but 0 is seen.
pub(crate) fn sparkline(values: &[u64], most: u64) -> String {
    let eighths = |value: &u64| {
        let scaled = u128::from(*value) * u128::from(EIGHTHS);
        let eighths = scaled.div_ceil(u128::from(most.max(1)));
        u64::try_from(eighths).map_or(EIGHTHS, |height| height.min(EIGHTHS))
    };
    let width = u16::try_from(values.len()).unwrap_or(u16::MAX);
    let area = Rect::new(0, 0, width, 1);
    let mut buffer = Buffer::empty(area);
    let bars = Sparkline::default().max(EIGHTHS);
    bars.data(values.iter().map(eighths))
        .render(area, &mut buffer);
    buffer.content.iter().map(Cell::symbol).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    #[test]
    fn heights_are_eighths_and_the_least_amount_is_seen() {
        assert_eq!(sparkline(&[0, 1, 8, 9, 63, 64], 64), " ▁▁▂██");
        assert_eq!(sparkline(&[1, u64::MAX], 1), "██");
        assert_eq!(sparkline(&[u64::MAX / 2, u64::MAX], u64::MAX), "▄█");
        assert_eq!(sparkline(&[0], 0), " ");
        assert_eq!(sparkline(&[], 5), "");
    }

    #[test]
    fn colours_stand_around_what_they_colour_and_only_where_they_are_asked_for() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        buffer.set_string(0, 0, "a", Style::new());
        buffer.set_string(1, 0, "bc", Style::new().fg(Color::Blue));
        assert_eq!(text(&buffer, false), "abc\n\n");
        assert_eq!(text(&buffer, true), "a\u{1b}[34mbc\u{1b}[0m\n\n");
        assert_eq!(ink(Color::Red, "x", false), "x");
        assert_eq!(ink(Color::Red, "x", true), "\u{1b}[31mx\u{1b}[0m");
    }
}
