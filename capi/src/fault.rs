//! Codes with a word and a text; every exported call runs inside [`guarded`].

use std::any::Any;
use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use capsched::api::{
    AppError, AskError, CallError, NodeError, RefreshRefusal, StartError, SubmitAsError,
    SubmitError,
};
use capsched::config::Report;

use crate::abi;

/// Why a call was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    pub(crate) word: String,
    pub(crate) text: String,
}

pub(crate) type Answer<T = ()> = Result<T, Fault>;

impl Fault {
    pub(crate) fn new(code: i32, word: &str, text: impl Display) -> Self {
        let (word, text) = (word.to_owned(), text.to_string());
        Self { code, word, text }
    }

    pub(crate) fn invalid(what: &str, text: impl Display) -> Self {
        let text = format!("{what}: {text}");
        Self::new(abi::CAPSCHED_ERR_INVALID, "invalid", text)
    }

    /// The same about one of several calls.
    pub(crate) fn of_call(mut self, position: usize) -> Self {
        self.text = format!("call {position}: {}", self.text);
        self
    }
}

thread_local! {
    static LATEST: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// The latest fault of this thread.
pub(crate) fn latest() -> Option<Fault> {
    LATEST.with_borrow(Clone::clone)
}

/// Notes a fault as the latest one of this thread; its code.
pub(crate) fn note(fault: Fault) -> i32 {
    let code = fault.code;
    LATEST.with_borrow_mut(|latest| *latest = Some(fault));
    code
}

/// Runs a call: its code, or that of a panic.
pub(crate) fn guarded(call: impl FnOnce() -> Answer) -> i32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => abi::CAPSCHED_OK,
        Ok(Err(fault)) => note(fault),
        Err(payload) => note(Fault::new(
            abi::CAPSCHED_ERR_PANIC,
            "panic",
            panic_text(&*payload),
        )),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
}

fn code_of(word: &str) -> i32 {
    match word {
        "closed" => abi::CAPSCHED_ERR_CLOSED,
        "unknown_application" | "unknown_queue" => abi::CAPSCHED_ERR_UNKNOWN,
        "duplicate" | "duplicate_application" => abi::CAPSCHED_ERR_DUPLICATE,
        _ => abi::CAPSCHED_ERR_REFUSED,
    }
}

macro_rules! coded {
    ($($error:ty),*) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                let word = error.code();
                Self::new(code_of(word), word, &error)
            }
        })*
    };
}

coded!(SubmitError, AskError, AppError);

impl From<CallError> for Fault {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed => Self::new(abi::CAPSCHED_ERR_CLOSED, "closed", error),
            _ => Self::new(abi::CAPSCHED_ERR_REFUSED, "reentrant", error),
        }
    }
}

impl From<NodeError> for Fault {
    fn from(error: NodeError) -> Self {
        let (code, word) = match &error {
            NodeError::Closed => (abi::CAPSCHED_ERR_CLOSED, "closed"),
            NodeError::Name(_) => (abi::CAPSCHED_ERR_REFUSED, "node_name"),
            NodeError::Duplicate(_) => (abi::CAPSCHED_ERR_DUPLICATE, "duplicate_node"),
            NodeError::Unknown(_) => (abi::CAPSCHED_ERR_UNKNOWN, "unknown_node"),
            NodeError::Total(_) => (abi::CAPSCHED_ERR_REFUSED, "total"),
            NodeError::Label(_) => (abi::CAPSCHED_ERR_REFUSED, "label"),
            NodeError::Attribute(_) => (abi::CAPSCHED_ERR_REFUSED, "attribute"),
            NodeError::Rack(_) => (abi::CAPSCHED_ERR_REFUSED, "rack"),
            _ => (abi::CAPSCHED_ERR_REFUSED, "refused"),
        };
        Self::new(code, word, error)
    }
}

impl From<StartError> for Fault {
    fn from(error: StartError) -> Self {
        match &error {
            StartError::Settings(refused) => {
                Self::new(abi::CAPSCHED_ERR_CONFIG, refused.code(), &error)
            }
            _ => Self::new(abi::CAPSCHED_ERR_SYSTEM, "thread", error),
        }
    }
}

impl From<Report> for Fault {
    fn from(report: Report) -> Self {
        let word = report
            .first_error()
            .map_or("configuration", |error| error.code);
        Self::new(
            abi::CAPSCHED_ERR_CONFIG,
            word,
            report.to_string().trim_end(),
        )
    }
}

impl From<SubmitAsError> for Fault {
    fn from(error: SubmitAsError) -> Self {
        match error {
            SubmitAsError::Submit(error) => error.into(),
            SubmitAsError::NoRules => Self::new(abi::CAPSCHED_ERR_REFUSED, "no_rules", error),
            _ => Self::new(abi::CAPSCHED_ERR_REFUSED, "admission", error),
        }
    }
}

impl From<RefreshRefusal> for Fault {
    fn from(refusal: RefreshRefusal) -> Self {
        match refusal {
            RefreshRefusal::Configuration(report) => report.into(),
            RefreshRefusal::Live(error) => {
                Self::new(abi::CAPSCHED_ERR_REFUSED, error.code(), error)
            }
            _ => Self::new(abi::CAPSCHED_ERR_CONFIG, "rules", refusal),
        }
    }
}
