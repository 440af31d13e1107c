//! The examples run to their end; each checks itself.

#[path = "../../examples/async_host.rs"]
mod async_host;
#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/gang.rs"]
mod gang;
#[path = "../../examples/recovery.rs"]
mod recovery;

#[test]
fn a_resource_manager_embeds_the_engine() {
    embed::main().unwrap();
}

#[test]
fn workers_that_need_each_other_start_at_once() {
    gang::main().unwrap();
}

#[test]
fn a_resource_manager_starts_again() {
    recovery::main().unwrap();
}

#[test]
fn tasks_of_an_asynchronous_host_wait_for_containers() {
    async_host::main().unwrap();
}
