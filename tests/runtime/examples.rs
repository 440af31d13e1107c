//! The examples run to their end; each checks itself.

#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/recovery.rs"]
mod recovery;

#[test]
fn a_resource_manager_embeds_the_engine() {
    embed::main().unwrap();
}

#[test]
fn a_resource_manager_starts_again() {
    recovery::main().unwrap();
}
