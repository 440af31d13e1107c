//! The elements of an allocation file, with their lines.

use anyhow::{Result, anyhow};
use roxmltree::{Document, Node};

use crate::output::Problem;

/// Parses a file; `name` stands in errors.
pub(super) fn parse<'a>(text: &'a str, name: &str) -> Result<Document<'a>> {
    Document::parse(text).map_err(|error| {
        let at = error.pos();
        let problem = format!("{name}:{}:{}: the file is no XML: {error}", at.row, at.col);
        anyhow!(Problem(problem))
    })
}

/// The line of an element, from 1.
pub(super) fn line(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

/// The text of an element, trimmed.
pub(super) fn text(node: Node<'_, '_>) -> String {
    let own = node.children().filter(Node::is_text);
    let parts = own.filter_map(|child| child.text());
    parts.collect::<String>().trim().to_owned()
}

/// The elements directly below one.
pub(super) fn elements<'a, 'i: 'a>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}
