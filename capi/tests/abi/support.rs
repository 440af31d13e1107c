//! A host in C, as the tests play it.

use std::ffi::c_char;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::ptr::null;

use capsched_c::calls::{apps::*, engine::*, events::*, nodes::*, requests::*, views::*};
use capsched_c::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Two queues.
pub(crate) const QUEUES: &str = "<configuration>\
    <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>\
    <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>60</value></property>\
    <property><name>yarn.scheduler.capacity.root.b.capacity</name><value>40</value></property>\
    </configuration>";

/// Makes a call whose pointers point to what they should, or are null.
macro_rules! c {
    ($call:expr) => {{
        // SAFETY: each pointer is null or points to as many elements as the call says.
        unsafe { $call }
    }};
}
pub(crate) use c;

pub(crate) fn bytes(text: &[u8]) -> TextRef {
    TextRef {
        data: text.as_ptr().cast(),
        length: text.len(),
    }
}

pub(crate) fn text(text: &str) -> TextRef {
    bytes(text.as_bytes())
}

pub(crate) fn texts(all: &[&str]) -> Vec<TextRef> {
    all.iter().map(|one| text(one)).collect()
}

pub(crate) fn amounts(memory: i64, vcores: i64) -> [i64; CAPSCHED_TYPES] {
    let mut amounts = [0; CAPSCHED_TYPES];
    amounts[..2].copy_from_slice(&[memory, vcores]);
    amounts
}

/// The size field of a struct.
pub(crate) fn size<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("a small struct")
}

const NO_TEXT: TextRef = TextRef {
    data: null(),
    length: 0,
};

/// Options with files of the scheduler; the files have to live as long as they do.
pub(crate) fn options_of(files: &[TextRef]) -> (OptionsRecord, Vec<SourceRecord>) {
    let source = |bytes: &TextRef| SourceRecord {
        size: size::<SourceRecord>(),
        layer: CAPSCHED_LAYER_SCHEDULER,
        name: text("capacity-scheduler.xml"),
        bytes: *bytes,
    };
    let sources: Vec<_> = files.iter().map(source).collect();
    let options = OptionsRecord {
        size: size::<OptionsRecord>(),
        mode: CAPSCHED_MODE_HEARTBEAT,
        threads: 1,
        hand_out: CAPSCHED_HAND_OUT_REPLY,
        hadoop: CAPSCHED_HADOOP_DEFAULT,
        recovering: 0,
        allocation_expiry_ms: 0,
        sources: sources.as_ptr(),
        source_count: sources.len(),
        partitions: null(),
        partition_count: 0,
        daemon: NO_TEXT,
    };
    (options, sources)
}

pub(crate) fn node_of(name: &str, memory: i64, vcores: i64) -> NodeRecord {
    NodeRecord {
        size: size::<NodeRecord>(),
        reserved: 0,
        name: text(name),
        rack: NO_TEXT,
        partition: NO_TEXT,
        total: amounts(memory, vcores),
        attributes: null(),
        attribute_count: 0,
    }
}

pub(crate) fn app_of(app: u32, queue: &str, user: &str) -> AppRecord {
    AppRecord {
        size: size::<AppRecord>(),
        app,
        flags: 0,
        priority: 0,
        user: text(user),
        queue: text(queue),
        placement_parent: NO_TEXT,
        master_partition: NO_TEXT,
        partition: NO_TEXT,
        master: [0; CAPSCHED_TYPES],
        tags: null(),
        tag_count: 0,
    }
}

pub(crate) fn ask_of(count: i32, memory: i64) -> AskRecord {
    AskRecord {
        size: size::<AskRecord>(),
        priority: 1,
        request_id: 0,
        count,
        flags: 0,
        place: text("*"),
        partition: NO_TEXT,
        amounts: amounts(memory, 1),
    }
}

pub(crate) fn submitted() -> SubmittedRecord {
    SubmittedRecord {
        size: size::<SubmittedRecord>(),
        queue: 0,
        stage: 0,
        has_master: 0,
        master: [0; CAPSCHED_TYPES],
    }
}

pub(crate) fn call_of(app: u32) -> CallRecord {
    CallRecord {
        size: size::<CallRecord>(),
        app,
        asks: null(),
        ask_count: 0,
        constrained: null(),
        constrained_count: 0,
        release: null(),
        release_count: 0,
        blacklist_add: null(),
        blacklist_add_count: 0,
        blacklist_remove: null(),
        blacklist_remove_count: 0,
        updates: null(),
        update_count: 0,
    }
}

pub(crate) fn update_of(container: u32, version: u32, change: u32, memory: i64) -> UpdateRecord {
    UpdateRecord {
        size: size::<UpdateRecord>(),
        container,
        version,
        change,
        amounts: amounts(memory, i64::from(memory > 0)),
    }
}

pub(crate) fn gang_of(minimum: u32, memory: i64) -> GangRecord {
    GangRecord {
        size: size::<GangRecord>(),
        priority: 7,
        request_id: 3,
        minimum,
        elastic: 0,
        within_ms: 60_000,
        close: CAPSCHED_CLOSE_ANYWHERE,
        flags: 0,
        attribute: NO_TEXT,
        partition: NO_TEXT,
        amounts: amounts(memory, 1),
    }
}

pub(crate) fn report_of(node: u32) -> ReportRecord {
    ReportRecord {
        size: size::<ReportRecord>(),
        node,
        flags: 0,
        reserved: 0,
        launched: null(),
        launched_count: 0,
        exited: null(),
        exited_count: 0,
    }
}

pub(crate) fn answer() -> AnswerRecord {
    AnswerRecord {
        size: size::<AnswerRecord>(),
        code: 0,
        records: 0,
        headroom: [0; CAPSCHED_TYPES],
    }
}

/// Room for records.
#[derive(Debug)]
pub(crate) struct Records {
    room: Vec<FlatRecord>,
    buffer: BufferRecord,
}

impl Records {
    pub(crate) fn new(capacity: usize) -> Self {
        let mut room = vec![FlatRecord::default(); capacity];
        let buffer = BufferRecord {
            size: size::<BufferRecord>(),
            record_size: size::<FlatRecord>(),
            records: room.as_mut_ptr().cast(),
            capacity,
            written: 0,
            rest: 0,
        };
        Self { room, buffer }
    }

    pub(crate) fn buffer(&mut self) -> *mut BufferRecord {
        &raw mut self.buffer
    }

    pub(crate) fn record(&self) -> BufferRecord {
        self.buffer
    }

    pub(crate) fn written(&self) -> &[FlatRecord] {
        &self.room[..self.buffer.written]
    }

    pub(crate) fn rest(&self) -> u64 {
        self.buffer.rest
    }
}

/// A call that writes a text.
type TextCall = unsafe extern "C" fn(u64, *mut c_char, usize, *mut usize) -> i32;
/// A call that writes the name behind a number.
type NameCall = unsafe extern "C" fn(u64, u32, *mut c_char, usize, *mut usize) -> i32;

/// A text that a call writes; it is asked for its length first.
pub(crate) fn written(call: impl Fn(*mut c_char, usize, *mut usize) -> i32) -> String {
    let mut length = 0;
    assert_eq!(call(std::ptr::null_mut(), 0, &raw mut length), CAPSCHED_OK);
    let mut room = vec![0_u8; length];
    if length > 1 {
        let code = call(room.as_mut_ptr().cast(), length - 1, &raw mut length);
        assert_eq!((code, length), (CAPSCHED_ERR_BUFFER, room.len()));
    }
    let code = call(room.as_mut_ptr().cast(), room.len(), &raw mut length);
    assert_eq!((code, length), (CAPSCHED_OK, room.len()));
    String::from_utf8(room).expect("a text")
}

/// The word of the latest error of this thread.
pub(crate) fn error_word() -> String {
    written(|room, capacity, length| c!(capsched_last_error_word(room, capacity, length)))
}

/// The text of the latest error of this thread.
pub(crate) fn error_text() -> String {
    written(|room, capacity, length| c!(capsched_last_error(room, capacity, length)))
}

/// Whether a descriptor can be read within some time.
pub(crate) fn readable(descriptor: i32, millis: i64) -> bool {
    // SAFETY: the engine of the test owns it, and lives.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let mut polled = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: millis / 1000,
        tv_nsec: millis % 1000 * 1_000_000,
    };
    poll(&mut polled, Some(&limit)).expect("it can be polled") == 1
}

/// An engine of a test; the test's end ends it.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) engine: u64,
}

impl Drop for Host {
    fn drop(&mut self) {
        // A test may have ended it before.
        let _code = capsched_engine_stop(self.engine);
    }
}

impl Host {
    pub(crate) fn start(mode: u32) -> Self {
        Self::start_with(|options| options.mode = mode)
    }

    pub(crate) fn start_with(change: impl FnOnce(&mut OptionsRecord)) -> Self {
        let files = [text(QUEUES)];
        let (mut options, _sources) = options_of(&files);
        change(&mut options);
        let mut engine = 0;
        let code = c!(capsched_engine_start(&raw const options, &raw mut engine));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        Self { engine }
    }

    pub(crate) fn add_node(&self, name: &str, memory: i64, vcores: i64) -> u32 {
        let (node, mut number) = (node_of(name, memory, vcores), 0);
        let code = c!(capsched_node_add(
            self.engine,
            &raw const node,
            &raw mut number
        ));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        number
    }

    pub(crate) fn submit(&self, app: u32, queue: &str, user: &str) -> i32 {
        let (app, mut answer) = (app_of(app, queue, user), submitted());
        c!(capsched_submit(
            self.engine,
            &raw const app,
            &raw mut answer
        ))
    }

    /// One call of an application: its code and its records.
    pub(crate) fn call(&self, call: &CallRecord) -> (i32, Vec<FlatRecord>) {
        let (mut answer, mut room) = (answer(), Records::new(64));
        let code = c!(capsched_asks(
            self.engine,
            &raw const *call,
            1,
            &raw mut answer,
            room.buffer()
        ));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        (answer.code, room.written().to_vec())
    }

    pub(crate) fn ask(&self, app: u32, count: i32, memory: i64) -> (i32, Vec<FlatRecord>) {
        let ask = ask_of(count, memory);
        self.call(&CallRecord {
            asks: &raw const ask,
            ask_count: 1,
            ..call_of(app)
        })
    }

    pub(crate) fn release(&self, app: u32, numbers: &[u32]) -> (i32, Vec<FlatRecord>) {
        self.call(&CallRecord {
            release: numbers.as_ptr(),
            release_count: numbers.len(),
            ..call_of(app)
        })
    }

    pub(crate) fn change(&self, app: u32, updates: &[UpdateRecord]) -> (i32, Vec<FlatRecord>) {
        self.call(&CallRecord {
            updates: updates.as_ptr(),
            update_count: updates.len(),
            ..call_of(app)
        })
    }

    pub(crate) fn gang(&self, app: u32, gang: &GangRecord) -> i32 {
        c!(capsched_ask_gang(self.engine, app, &raw const *gang))
    }

    pub(crate) fn heartbeat(&self, node: u32) -> (i32, Vec<FlatRecord>) {
        self.report(&report_of(node))
    }

    pub(crate) fn report(&self, report: &ReportRecord) -> (i32, Vec<FlatRecord>) {
        let (mut code, mut room) = (1, Records::new(64));
        let whole = c!(capsched_heartbeats(
            self.engine,
            &raw const *report,
            1,
            &raw mut code,
            room.buffer()
        ));
        assert_eq!(whole, CAPSCHED_OK, "{}", error_text());
        (code, room.written().to_vec())
    }

    pub(crate) fn finished(&self, keys: &[ContainerKey]) -> Vec<i32> {
        let mut codes = vec![1; keys.len()];
        let (first, count) = (keys.as_ptr(), keys.len());
        let code = c!(capsched_containers_finished(
            self.engine,
            first,
            count,
            codes.as_mut_ptr()
        ));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        codes
    }

    pub(crate) fn killed(&self, keys: &[ContainerKey]) -> Vec<i32> {
        let mut codes = vec![1; keys.len()];
        let (first, count) = (keys.as_ptr(), keys.len());
        let code = c!(capsched_containers_kill(
            self.engine,
            first,
            count,
            codes.as_mut_ptr()
        ));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        codes
    }

    /// Events; without a time to wait, all of the calls before. A call may return before its events are delivered.
    pub(crate) fn events(&self, timeout_ms: i64) -> Vec<FlatRecord> {
        if timeout_ms == 0 {
            assert_eq!(capsched_quiesce(self.engine), CAPSCHED_OK);
        }
        let mut room = Records::new(64);
        let code = c!(capsched_events(self.engine, timeout_ms, room.buffer()));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        room.written().to_vec()
    }

    pub(crate) fn events_waiting(&self) -> u64 {
        let mut waiting = 0;
        let code = c!(capsched_events_waiting(self.engine, &raw mut waiting));
        assert_eq!(code, CAPSCHED_OK, "{}", error_text());
        waiting
    }

    pub(crate) fn events_code(&self, timeout_ms: i64) -> i32 {
        let mut room = Records::new(64);
        c!(capsched_events(self.engine, timeout_ms, room.buffer()))
    }

    pub(crate) fn json(&self, call: TextCall) -> String {
        written(|room, capacity, length| c!(call(self.engine, room, capacity, length)))
    }

    pub(crate) fn name_of(&self, call: NameCall, number: u32) -> String {
        written(|room, capacity, length| c!(call(self.engine, number, room, capacity, length)))
    }

    pub(crate) fn reason(&self, kind: u32, reason: u32) -> String {
        written(|room, capacity, length| c!(capsched_reason(kind, reason, room, capacity, length)))
    }

    pub(crate) fn hash(&self) -> u64 {
        let mut hash = 0;
        assert_eq!(
            c!(capsched_state_hash(self.engine, &raw mut hash)),
            CAPSCHED_OK
        );
        hash
    }
}

/// An engine with a node and an application that holds a container.
pub(crate) fn busy() -> (Host, u32) {
    let host = Host::start(CAPSCHED_MODE_HEARTBEAT);
    let node = host.add_node("n0:8041", 8192, 8);
    host.submit(1, "root.a", "ann");
    host.ask(1, 2, 1024);
    host.heartbeat(node);
    host.heartbeat(node);
    host.ask(1, 0, 1024);
    host.heartbeat(node);
    (host, node)
}

/// Has a refusal checked: its code, a text, and the state.
pub(crate) fn refused(host: &Host, expected: i32, what: &str, call: impl FnOnce() -> i32) {
    let before = host.hash();
    assert_eq!(call(), expected, "{what}: {}", error_text());
    assert!(
        !error_text().is_empty() && !error_word().is_empty(),
        "{what}"
    );
    assert_eq!(host.hash(), before, "{what}");
}
