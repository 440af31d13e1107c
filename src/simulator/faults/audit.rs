//! The full check: every figure that the engine states against the books.

use std::collections::BTreeMap;

use super::books::{BookedContainer, Books, NodeBook};
use super::{Violation, fault};
use crate::api::{Pipeline, ResourceVector, UnsettledView};
use crate::id::{NodeName, NodeSlot};

/// Compares nodes (N2, N3, N5), partitions (N6), queues (Q1, Q2, Q3), users (U1), applications (K3) and
/// their reservations (R6). What the books have and the engine has no row for is a difference, too.
pub(super) fn full_check(books: &Books, pipeline: &Pipeline) -> Result<(), Violation> {
    let view = pipeline.engine().view();
    queues(books, view)?;
    nodes(books, view)?;
    partitions(books, view)?;
    users(books, view)?;
    apps(books, view)
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

fn nodes(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    let known = view.node_count();
    if known != books.nodes.len() {
        return fault("N4", format!("the engine has {known} nodes"));
    }
    for (name, book) in &books.nodes {
        let Some(slot) = view.node(name) else {
            return fault("N4", format!("the engine does not know {name}"));
        };
        node(book, name, view, slot)?;
    }
    Ok(())
}

/// Compares one node.
fn node(
    book: &NodeBook,
    name: &NodeName,
    view: UnsettledView<'_>,
    slot: NodeSlot,
) -> Result<(), Violation> {
    let row = &view.nodes()[slot];
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
    let label = &*view.partitions()[row.partition].name;
    if label != book.label {
        return fault(
            "N9",
            format!("{name} is on `{label}`, not `{}`", book.label),
        );
    }
    let holds = row
        .reserved
        .map(|held| (view.apps()[held.app].id, held.number));
    if holds != book.reserved.map(|id| (id.app, id.number)) {
        return fault("N5", format!("{name} is reserved for {holds:?}"));
    }
    Ok(())
}

fn partitions(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    let mut sum = ResourceVector::NONE;
    for partition in view.partitions().iter() {
        let label = &*partition.name;
        let own = books.total(label);
        sum += own;
        same("N6", || format!("total of `{label}`"), partition.total, own)?;
    }
    same(
        "N6",
        || "total of the cluster".to_owned(),
        view.cluster(),
        sum,
    )
}

/// What containers and reservations come to, by the path of a queue, or a leaf and a user, and a label.
type Sums<K> = BTreeMap<K, ResourceVector>;

/// Adds what is held to its leaf and every queue above it.
fn add_upwards<'a>(
    sums: &mut Sums<(&'a str, &'a str)>,
    (leaf, label): (&'a str, &'a str),
    size: ResourceVector,
) {
    let mut path = leaf;
    loop {
        *sums.entry((path, label)).or_default() += size;
        match path.rsplit_once('.') {
            Some((parent, _)) => path = parent,
            None => break,
        }
    }
}

/// Sums for which the engine has no row: all that is left after each row took its own.
fn all_found<K: std::fmt::Debug>(id: &'static str, left: &Sums<K>) -> Result<(), Violation> {
    match left.iter().find(|(_, sum)| !sum.is_none()) {
        Some((place, sum)) => fault(id, format!("the engine has no row for {sum} of {place:?}")),
        None => Ok(()),
    }
}

/// What the containers and the reservations of every queue come to, in one walk for all queues.
fn sums_of_queues(books: &Books) -> [Sums<(&str, &str)>; 2] {
    let (mut used, mut reserved) = (Sums::new(), Sums::new());
    for (app, held) in books.charged() {
        let label = books.nodes[&held.node].label;
        add_upwards(&mut used, (&app.leaf, label), held.size);
    }
    for (app, held) in books.waiting() {
        let label = books.nodes[&held.node].label;
        add_upwards(&mut reserved, (&app.leaf, label), held.size);
    }
    [used, reserved]
}

fn queues(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    let [mut used, mut reserved] = sums_of_queues(books);
    for queue in view.queues().filter(|queue| !queue.is_removed()) {
        let path = &*queue.settings().path;
        for partition in view.partition_ids() {
            let label = &*view.partitions()[partition].name;
            let own = used.remove(&(path, label)).unwrap_or_default();
            same(
                "Q1",
                || format!("use of {path} on `{label}`"),
                queue.used(partition),
                own,
            )?;
            let waiting = reserved.remove(&(path, label)).unwrap_or_default();
            let what = || format!("reservations of {path} on `{label}`");
            // With an application that moves, its reservations stay behind in one of these figures, and
            // those of other partitions move in the other, as in the reference.
            if !books.reservations_moved {
                same("Q2", what, queue.reserved(partition), waiting)?;
                if label.is_empty() {
                    same("Q2", what, queue.reserved_by_present(), waiting)?;
                }
            }
            let pending = queue.pending(partition);
            if (0..view.settings().calculator.types()).any(|i| pending[i] < 0) {
                return fault("Q3", format!("{path} waits for {pending} on `{label}`"));
            }
        }
    }
    all_found("Q1", &used)?;
    all_found("Q2", &reserved)
}

fn users(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    let mut used = Sums::new();
    for (app, held) in books.charged() {
        let label = books.nodes[&held.node].label;
        *used.entry((&*app.leaf, &*app.user, label)).or_default() += held.size;
    }
    for user in view.users().filter(|user| !user.is_removed()) {
        let (name, leaf) = (user.name(), &*view.queue(user.leaf()).settings().path);
        for partition in view.partition_ids() {
            let label = &*view.partitions()[partition].name;
            let own = used.remove(&(leaf, name, label));
            let what = || format!("use of {name} in {leaf} on `{label}`");
            same("U1", what, user.used(partition), own.unwrap_or_default())?;
        }
    }
    all_found("U1", &used)
}

fn apps(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    let stated = view.apps_by_id();
    let known = books.apps.keys().copied();
    if !stated.iter().map(|&(id, _)| id).eq(known) {
        return fault(
            "U8",
            format!("the engine has {} applications", stated.len()),
        );
    }
    let live = stated
        .iter()
        .flat_map(|&(_, slot)| view.live_containers(slot));
    let live = live.map(|container| {
        let node = &view.nodes()[container.node].name;
        (container.id, node, container.size.get())
    });
    let own = books.live.iter();
    if !live.eq(own.map(|(id, held)| (*id, &held.node, held.size))) {
        return fault("K3", "the engine has other live containers".to_owned());
    }
    reservations(books, view)
}

/// What each application has reserved, by partition and by key (R6).
fn reservations(books: &Books, view: UnsettledView<'_>) -> Result<(), Violation> {
    for (id, slot) in view.apps_by_id() {
        let app = &view.apps()[slot];
        for partition in view.partition_ids() {
            let label = &*view.partitions()[partition].name;
            let on_it = |held: &&BookedContainer| books.nodes[&held.node].label == label;
            let own = books.reserved_by(id).map(|(_, held)| held).filter(on_it);
            let own = own.fold(ResourceVector::NONE, |sum, held| sum + held.size);
            let what = || format!("reservations of {id} on `{label}`");
            same("R6", what, app.part(partition).reserved.get(), own)?;
        }
        let listed: usize = app.keys.iter().map(|asks| asks.reserved.len()).sum();
        let own = books.reserved_by(id).count();
        if listed != own {
            return fault("R6", format!("{id} lists {listed} reservations of {own}"));
        }
    }
    Ok(())
}
