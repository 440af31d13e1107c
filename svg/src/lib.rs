//! Pictures as SVG: plain shapes and text, no script, nothing loaded from elsewhere.
//!
//! Everything that draws charts into files draws on a [`Canvas`]. Positions are pixels from the upper left corner, and are
//! written with at most one decimal, so that equal figures give equal bytes.
#![expect(
    clippy::float_arithmetic,
    reason = "positions in a picture; nothing is decided by them"
)]

use std::fmt::Write as _;

/// Colours that people with any colour vision distinguish (Okabe and Ito), and a dark grey.
pub const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444",
];

/// The colour of text and axes.
pub const INK: &str = "#222222";

/// The colour of lines behind a chart.
pub const GRID: &str = "#dddddd";

/// A position in pixels: right, down.
pub type Point = (f64, f64);

/// Which end of a text stands at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A picture while it is drawn.
///
/// ```
/// use capsched_svg::{Anchor, COLOURS, Canvas};
///
/// let mut canvas = Canvas::new((100.0, 40.0), "a < b");
/// canvas.polyline(&[(0.0, 40.0), (50.26, 0.0)], &format!("stroke=\"{}\"", COLOURS[0]));
/// canvas.text((50.0, 20.0), Anchor::Middle, "R&D", "");
/// let picture = canvas.finish();
/// assert!(picture.contains("<title>a &lt; b</title>") && picture.contains("points=\"0,40 50.3,0\""));
/// ```
#[derive(Clone, Debug)]
pub struct Canvas {
    out: String,
}

impl Canvas {
    /// A white picture of a width and a height, with a title that readers of the file are given.
    #[must_use]
    pub fn new((width, height): Point, title: &str) -> Self {
        let (width, height) = (number(width), number(height));
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" \
             font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"13\">\n\
             <title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        );
        Self { out }
    }

    /// A text; `more` are further attributes.
    pub fn text(&mut self, (x, y): Point, anchor: Anchor, text: &str, more: &str) {
        self.coloured((x, y), (anchor, INK), text, more);
    }

    /// A text in a colour.
    pub fn coloured(
        &mut self,
        (x, y): Point,
        (anchor, colour): (Anchor, &str),
        text: &str,
        more: &str,
    ) {
        let (x, y, anchor, text) = (number(x), number(y), anchor.name(), escaped(text));
        self.element(&format!(
            r#"<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}" {more}>{text}</text>"#
        ));
    }

    /// A text that is read from below to above, with its middle at a position.
    pub fn upright(&mut self, (x, y): Point, text: &str) {
        let turned = format!("transform=\"rotate(-90 {} {})\"", number(x), number(y));
        self.text((x, y), Anchor::Middle, text, &turned);
    }

    /// A line; `style` are attributes such as `stroke`.
    pub fn line(&mut self, from: Point, to: Point, style: &str) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.element(&format!(
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style}/>"#
        ));
    }

    /// Lines from point to point.
    pub fn polyline(&mut self, points: &[Point], style: &str) {
        let points = joined(points);
        self.element(&format!(
            r#"<polyline points="{points}" fill="none" {style}/>"#
        ));
    }

    /// A filled shape.
    pub fn polygon(&mut self, points: &[Point], style: &str) {
        let points = joined(points);
        self.element(&format!(r#"<polygon points="{points}" {style}/>"#));
    }

    /// A dot.
    pub fn dot(&mut self, (x, y): Point, radius: f64, colour: &str) {
        let [x, y, radius] = [x, y, radius].map(number);
        self.element(&format!(
            r#"<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}"/>"#
        ));
    }

    /// What `draw` draws, moved by so much.
    pub fn moved(&mut self, (x, y): Point, draw: impl FnOnce(&mut Self)) {
        let (x, y) = (number(x), number(y));
        self.element(&format!(r#"<g transform="translate({x},{y})">"#));
        draw(self);
        self.element("</g>");
    }

    /// The text of the file.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    fn element(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{text}");
    }
}

/// A scale: values between two ends on positions between two others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The values at the ends; with `log` their decimal exponents.
    pub values: (f64, f64),
    /// The positions of the ends.
    pub positions: (f64, f64),
    /// Whether it is logarithmic.
    pub log: bool,
}

impl Axis {
    /// Where a value stands; values beyond an end stand at that end.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.log {
            value.max(1e-9).log10()
        } else {
            value
        };
        let (low, high) = self.values;
        let share = (value - low) / (high - low);
        let (from, to) = self.positions;
        from + share.clamp(0.0, 1.0) * (to - from)
    }
}

/// A position with at most one decimal.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn joined(points: &[Point]) -> String {
    let pair = |(x, y): &Point| format!("{},{}", number(*x), number(*y));
    let points: Vec<String> = points.iter().map(pair).collect();
    points.join(" ")
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('"', "&quot;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_one_decimal_at_most_and_text_is_escaped() {
        assert_eq!(
            [0.0, 12.0, 3.25, -0.5].map(number),
            ["0", "12", "3.2", "-0.5"]
        );
        assert_eq!(escaped("a<b & \"c\">"), "a&lt;b &amp; &quot;c&quot;&gt;");
    }

    #[test]
    fn an_axis_places_values_between_its_ends() {
        let axis = Axis {
            values: (0.0, 3.0),
            positions: (100.0, 10.0),
            log: true,
        };
        let places = [1.0, 10.0, 1_000.0, 1e9].map(|value| number(axis.place(value)));
        assert_eq!(places, ["100", "70", "10", "10"]);
    }

    #[test]
    fn what_is_moved_is_one_group() {
        let mut canvas = Canvas::new((10.0, 10.0), "t");
        canvas.moved((5.0, 0.0), |inner| inner.dot((1.0, 1.0), 2.5, COLOURS[1]));
        let text = canvas.finish();
        let (open, close) = (text.find("<g "), text.find("</g>"));
        assert!(open < text.find("<circle") && text.find("<circle") < close);
    }
}
