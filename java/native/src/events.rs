//! Decisions in the form of [`wire`](crate::wire): a byte for the kind, then what it is about.

use capsched::api::{AppEnd, EndCause, Event};

use crate::records::{write_amounts, write_application, write_container, write_node};
use crate::wire::Writer;

const ALLOCATED: u8 = 1;
const ENDED: u8 = 2;
const APP_ENDED: u8 = 3;

/// Writes the decisions that the ResourceManager records. Reservations stay within the engine, as do the auxiliary
/// containers by which others grow: the answer to the application carries the change. The master's part is the
/// ResourceManager's own.
pub fn write_all(writer: &mut Writer, decisions: &[Event], types: usize) {
    let carried: Vec<&Event> = decisions.iter().filter(|one| is_carried(one)).collect();
    writer.list(&carried, |writer, decision| write(writer, decision, types));
}

fn is_carried(decision: &Event) -> bool {
    match decision {
        Event::Allocated { key, .. } => key.increases().is_none(),
        other => matches!(other, Event::Ended { .. } | Event::AppEnded { .. }),
    }
}

fn write(writer: &mut Writer, decision: &Event, types: usize) {
    match decision {
        Event::Allocated {
            container,
            node,
            size,
            key,
            ..
        } => {
            writer.byte(ALLOCATED);
            write_container(writer, container);
            write_node(writer, node);
            write_amounts(writer, size, types);
            writer.signed(key.priority);
            writer.long(key.request_id);
        }
        Event::Ended {
            container, cause, ..
        } => {
            writer.byte(ENDED);
            write_container(writer, container);
            writer.text(cause.name());
            writer.flag(*cause == EndCause::Released);
            writer.signed(cause.exit_status().unwrap_or(0));
        }
        Event::AppEnded { app, cause } => {
            writer.byte(APP_ENDED);
            write_application(writer, *app);
            writer.text(match cause {
                AppEnd::Lifetime => "its lifetime was over",
                AppEnd::QueueKilled => "all applications of its queue were ended",
                other => other.name(),
            });
        }
        // Left out before.
        _ => {}
    }
}
