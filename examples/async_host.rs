//! An asynchronous host: tasks wait for their containers, and no thread waits for the engine.
//!
//! `cargo run --example async_host`
#![expect(clippy::print_stdout, reason = "the example shows what happened")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use capsched::api::{
    AppSpec, ApplicationId, Ask, AskCall, ContainerId, Engine, EngineEnd, Event, EventStream,
    HandOut, Mode, NodeSpec, ResourceVector, example,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Applications, and the containers that each asks for.
const APPS: u32 = 4;
const CONTAINERS: usize = 25;

/// What tasks may fail with.
type Failure = Box<dyn Error + Send + Sync>;

/// Where the containers of each application go.
type Senders = BTreeMap<ApplicationId, UnboundedSender<ContainerId>>;

pub(crate) fn main() -> Result<(), Failure> {
    let host = tokio::runtime::Builder::new_current_thread().build()?;
    let placed = host.block_on(run())?;
    println!("{placed} containers were placed");
    assert_eq!(placed, CONTAINERS * usize::try_from(APPS)?);
    Ok(())
}

async fn run() -> Result<usize, Failure> {
    let engine = Engine::builder(example::settings())
        .mode(Mode::Global { threads: 1 })
        .hand_out(HandOut::Event)
        .start()?;
    for i in 0..10 {
        let total = ResourceVector::of(&[16_384, 16]);
        engine.add_node(NodeSpec::new(format!("n{i}:8041").parse()?, total))?;
    }
    let events = engine.event_stream().ok_or("the events were taken")?;
    let engine = Arc::new(engine);
    let (mut senders, mut masters) = (Senders::new(), Vec::new());
    for app in (1..=APPS).map(ApplicationId::new) {
        let (sender, containers) = unbounded_channel();
        senders.insert(app, sender);
        masters.push(tokio::spawn(master(Arc::clone(&engine), app, containers)));
    }
    let reader = tokio::spawn(read_events(events, senders));
    let mut placed = 0;
    for master in masters {
        placed += master.await??;
    }
    engine.request_stop();
    reader.await?;
    let engine = Arc::into_inner(engine).ok_or("a task kept the engine")?;
    assert_eq!(engine.stop(), EngineEnd::Stopped);
    Ok(placed)
}

/// One application: it asks, waits for what it asked for, and ends.
async fn master(
    engine: Arc<Engine>,
    app: ApplicationId,
    mut containers: UnboundedReceiver<ContainerId>,
) -> Result<usize, Failure> {
    let spec = AppSpec::new(app, "root.a", "ann");
    engine.submit_async(spec).await?;
    let count = i32::try_from(CONTAINERS)?;
    let ask = Ask::anywhere(ResourceVector::of(&[1024, 1]), count);
    engine.ask_async(app, AskCall::asking(vec![ask])).await?;
    let mut got = 0;
    while got < CONTAINERS && containers.recv().await.is_some() {
        got += 1;
    }
    engine.finish_app_async(app).await?;
    Ok(got)
}

/// Passes containers on to their applications, until the engine ends.
async fn read_events(mut events: EventStream, senders: Senders) {
    while let Some(event) = events.next_event().await {
        if let Event::Allocated { container, .. } = event
            && let Some(sender) = senders.get(&container.app)
        {
            // An application that ended reads no more.
            sender.send(container).ok();
        }
    }
}
