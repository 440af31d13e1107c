//! Looks of callers at the ledger: what their closures may do, and what comes of their panics.
#![expect(clippy::unwrap_used, reason = "test code")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use capsched::api::{
    AppError, AppSpec, ApplicationId, AskCall, AskError, CallError, ContainerId, Engine, EngineEnd,
    NodeError, NodeName, NodeReport, NodeSpec, ResourceVector, SubmitError, Threaded,
};

use crate::engines::{MODES, settings};

const APP: ApplicationId = ApplicationId::new(1);

fn node() -> NodeName {
    NodeName::new("n0", 1).unwrap()
}

/// Makes a call of the engine from inside a look; what it came to.
fn inside<T: Send + 'static>(
    engine: &Arc<Engine>,
    call: impl FnOnce(&Threaded) -> T + Send + 'static,
) -> T {
    let within = Arc::clone(engine);
    engine.inspect(move |_| call(&within)).unwrap()
}

/// Each call that would wait for the committer from the thread that has it.
#[test]
fn every_call_from_inside_a_look_is_refused_as_a_value() {
    for mode in MODES {
        let engine = Arc::new(Engine::builder(settings()).mode(mode).start().unwrap());
        let spec = || NodeSpec::new(node(), ResourceVector::of(&[1024, 1]));
        engine.add_node(spec()).unwrap();
        engine.submit(AppSpec::new(APP, "root.a", "u")).unwrap();
        let of_node = Err(NodeError::Reentrant);
        assert_eq!(inside(&engine, move |e| e.add_node(spec())), of_node);
        assert_eq!(inside(&engine, |e| e.remove_node(node())), of_node);
        assert_eq!(inside(&engine, move |e| e.update_node(spec())), of_node);
        assert_eq!(inside(&engine, |e| e.decommission_node(node())), of_node);
        let beat = inside(&engine, |e| e.heartbeat(node(), NodeReport::AsExpected));
        assert_eq!(beat, Err(NodeError::Reentrant));
        let reports = vec![(node(), NodeReport::AsExpected); 2];
        let beats = inside(&engine, move |e| e.heartbeat_all(reports));
        assert_eq!(beats, vec![Err(NodeError::Reentrant); 2]);
        let again = AppSpec::new(APP, "root.a", "u");
        let submitted = inside(&engine, move |e| e.submit(again));
        assert_eq!(submitted, Err(SubmitError::Reentrant));
        let asked = inside(&engine, |e| e.ask(APP, AskCall::default()));
        assert_eq!(asked, Err(AskError::Reentrant));
        let of_app = Err(AppError::Reentrant);
        assert_eq!(inside(&engine, |e| e.finish_app(APP)), of_app);
        let moved = inside(&engine, |e| e.move_app(APP, "root.b".to_owned()));
        assert_eq!(moved, of_app);
        let changed = inside(&engine, |e| e.change_priority(APP, 1));
        assert_eq!(changed, Err(AppError::Reentrant));
        let refreshed = inside(&engine, |e| e.reconfigure(settings()));
        assert_eq!(refreshed.map_err(|error| error.code()), Err("reentrant"));
        let looked = inside(&engine, |e| e.inspect(|_| ()));
        assert_eq!(looked, Err(CallError::Reentrant));
        assert_eq!(inside(&engine, |e| e.state()), Err(CallError::Reentrant));
        let container = ContainerId::new(APP, 1);
        assert!(!inside(&engine, move |e| e.container_finished(container)));
        assert_eq!(inside(&engine, |e| e.preempt_now()), None);
        assert_eq!(inside(&engine, |e| e.preempt_if_due()), None);
        assert!(!inside(&engine, |e| e.notify_monitor(Box::new(()))));
        inside(&engine, |e| e.quiesce());
        inside(&engine, |e| drop(e.take_events()));
        inside(&engine, |e| drop(e.snapshot()));
        // Nothing of it was carried out, and the engine runs on.
        let state = engine.state().unwrap();
        assert_eq!((state.nodes.len(), state.apps.len()), (1, 1));
        assert_eq!(Arc::into_inner(engine).unwrap().stop(), EngineEnd::Stopped);
    }
}

/// A thread beside the one that looks is not refused: it waits for its turn.
#[test]
fn other_threads_call_while_a_closure_looks() {
    let engine = Engine::builder(settings()).start().unwrap();
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let look = |_: &_| std::thread::sleep(Duration::from_millis(20));
            (0..10).all(|_| engine.inspect(look).is_ok())
        });
        while !looks.is_finished() {
            assert_eq!(engine.inspect(|_| ()), Ok(()));
        }
        assert!(looks.join().unwrap());
    });
}

#[test]
fn a_panic_inside_a_look_goes_to_its_caller_alone() {
    for mode in MODES {
        let engine = Engine::builder(settings()).mode(mode).start().unwrap();
        let look = || engine.inspect(|_| -> u32 { panic!("as planned") });
        let payload = catch_unwind(AssertUnwindSafe(look)).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"as planned"));
        assert!(engine.is_running(), "{mode:?}");
        assert_eq!(engine.inspect(|_| 7), Ok(7), "{mode:?}");
        assert_eq!(engine.worker_panics().count, 0, "{mode:?}");
        assert_eq!(engine.stop(), EngineEnd::Stopped, "{mode:?}");
    }
}
