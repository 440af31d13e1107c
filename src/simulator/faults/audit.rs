//! The full check: every figure that the engine states against the books.

use std::collections::BTreeMap;

use super::books::Books;
use super::{Violation, fault};
use crate::api::{Pipeline, ResourceVector, Sequential};
use crate::id::QueueSlot;

/// Compares nodes (N2, N3, N5), partitions (N6), queues (Q1, Q3), users (U1) and applications (K3).
pub(super) fn full_check(books: &Books, pipeline: &Pipeline) -> Result<(), Violation> {
    let engine = pipeline.engine();
    nodes(books, engine)?;
    partitions(books, engine)?;
    queues(books, engine)?;
    users(books, engine)?;
    apps(books, engine)
}

fn same(
    id: &'static str,
    what: impl FnOnce() -> String,
    stated: ResourceVector,
    own: ResourceVector,
) -> Result<(), Violation> {
    if stated == own {
        return Ok(());
    }
    fault(
        id,
        format!("{}: the engine says {stated}, the books {own}", what()),
    )
}

fn nodes(books: &Books, engine: &Sequential) -> Result<(), Violation> {
    let ledger = engine.ledger();
    let state = ledger.state();
    if state.node_count != books.nodes.len() {
        return fault("N4", format!("the engine has {} nodes", state.node_count));
    }
    for (name, book) in &books.nodes {
        let Some(slot) = ledger.node(name) else {
            return fault("N4", format!("the engine does not know {name}"));
        };
        let row = &state.nodes[slot];
        same(
            "N3",
            || format!("space on {name}"),
            row.allocated.get(),
            book.space,
        )?;
        same(
            "N2",
            || format!("total of {name}"),
            row.total.get(),
            book.total,
        )?;
        let free = book.total - book.space;
        same("N2", || format!("free of {name}"), row.free.get(), free)?;
        let label = &*state.partitions[row.partition].name;
        if label != book.label {
            return fault(
                "N9",
                format!("{name} is on `{label}`, not `{}`", book.label),
            );
        }
        let holds = row
            .reserved
            .map(|held| (state.apps[held.app].id, held.number));
        if holds != book.reserved.map(|id| (id.app, id.number)) {
            return fault("N5", format!("{name} is reserved for {holds:?}"));
        }
    }
    Ok(())
}

fn partitions(books: &Books, engine: &Sequential) -> Result<(), Violation> {
    let state = engine.ledger().state();
    let mut sum = ResourceVector::NONE;
    for partition in state.partitions.iter() {
        let label = &*partition.name;
        let own = books.total(label);
        sum += own;
        same("N6", || format!("total of `{label}`"), partition.total, own)?;
    }
    same(
        "N6",
        || "total of the cluster".to_owned(),
        state.cluster,
        sum,
    )
}

fn queues(books: &Books, engine: &Sequential) -> Result<(), Violation> {
    let state = engine.ledger().state();
    // One walk over the containers for all queues.
    let mut used: BTreeMap<(&str, &str), ResourceVector> = BTreeMap::new();
    for (app, held) in books.charged() {
        let label = books.nodes[&held.node].label;
        let mut path = app.leaf.as_str();
        loop {
            *used.entry((path, label)).or_default() += held.size;
            match path.rsplit_once('.') {
                Some((parent, _)) => path = parent,
                None => break,
            }
        }
    }
    for (slot, queue) in state.queues.iter().enumerate() {
        if queue.removed {
            continue;
        }
        let path = &*queue.settings.path;
        for (part, partition) in queue.parts.iter().zip(queue.parts.partitions()) {
            let label = &*state.partitions[partition].name;
            let own = used.get(&(path, label)).copied().unwrap_or_default();
            same(
                "Q1",
                || format!("use of {path} on `{label}`"),
                engine.ledger().use_of(QueueSlot::at(slot), partition),
                own,
            )?;
            let types = state.calculator.types();
            if (0..types).any(|i| part.pending.get()[i] < 0) {
                return fault(
                    "Q3",
                    format!("{path} waits for {} on `{label}`", part.pending.get()),
                );
            }
        }
    }
    Ok(())
}

fn users(books: &Books, engine: &Sequential) -> Result<(), Violation> {
    let state = engine.ledger().state();
    let mut used: BTreeMap<(&str, &str, &str), ResourceVector> = BTreeMap::new();
    for (app, held) in books.charged() {
        let label = books.nodes[&held.node].label;
        *used.entry((&app.leaf, &app.user, label)).or_default() += held.size;
    }
    for user in state.users.iter().filter(|user| !user.removed) {
        let leaf = &*state.queues[user.leaf].settings.path;
        for (part, partition) in user.parts.iter().zip(state.partitions.iter()) {
            let label = &*partition.name;
            let own = used.get(&(leaf, &*user.name, label)).copied();
            let what = || format!("use of {} in {leaf} on `{label}`", user.name);
            same("U1", what, part.used.get(), own.unwrap_or_default())?;
        }
    }
    Ok(())
}

fn apps(books: &Books, engine: &Sequential) -> Result<(), Violation> {
    let ledger = engine.ledger();
    let stated = ledger.apps_by_id();
    let known = books.apps.keys().copied();
    if !stated.iter().map(|&(id, _)| id).eq(known) {
        return fault(
            "U8",
            format!("the engine has {} applications", stated.len()),
        );
    }
    let live = stated
        .iter()
        .flat_map(|&(_, slot)| ledger.live_containers(slot));
    if !live
        .map(|container| container.id)
        .eq(books.live.keys().copied())
    {
        return fault("K3", "the engine has other live containers".to_owned());
    }
    Ok(())
}
