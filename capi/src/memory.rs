//! All reading and writing by pointers of callers.
//!
//! Pointers may be unaligned: everything is copied byte by byte. Nothing of a caller is kept after its call.

use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, offset_of, size_of};
use std::ptr;

use crate::abi::{self, TextRef};
use crate::fault::{Answer, Fault};

/// Bytes of a flat record in version 1 of the interface.
const FIRST_FLAT: usize = offset_of!(abi::FlatRecord, update);

/// No struct is larger; a larger size is garbage.
const LARGEST: usize = 4096;

/// A struct that crosses the border.
///
/// # Safety
///
/// Every bit pattern is a value of the type: it has integers and raw pointers alone.
pub(crate) unsafe trait Plain: Copy {}

/// A struct that begins with its size in bytes as a `u32`.
///
/// # Safety
///
/// As [`Plain`], and the first four bytes are the size.
pub(crate) unsafe trait Sized32: Plain {
    /// Its name in C, for messages.
    const NAME: &'static str;
    /// Its size in version 1 of the interface.
    const FIRST: usize = size_of::<Self>();
}

macro_rules! plain {
    ($($record:ty),*) => {
        $(
            // SAFETY: integers and raw pointers only.
            unsafe impl Plain for $record {}
        )*
    };
}

macro_rules! sized {
    ($($record:ident = $name:literal $(before $added:ident)?),*) => {
        plain!($(abi::$record),*);
        $(
            // SAFETY: the first field is `size: u32`.
            unsafe impl Sized32 for abi::$record {
                const NAME: &'static str = $name;
                $(const FIRST: usize = offset_of!(abi::$record, $added);)?
            }
        )*
    };
}

plain!(
    u32,
    i32,
    u64,
    i64,
    usize,
    TextRef,
    abi::ContainerKey,
    abi::FlatRecord
);
sized!(
    SourceRecord = "capsched_source",
    PartitionRecord = "capsched_partition",
    OptionsRecord = "capsched_options",
    AttributeRecord = "capsched_attribute",
    NodeRecord = "capsched_node",
    RunningRecord = "capsched_running" before version,
    AppRecord = "capsched_app",
    SubmittedRecord = "capsched_submitted",
    AskRecord = "capsched_ask",
    ConstrainedRecord = "capsched_constrained",
    UpdateRecord = "capsched_update",
    GangRecord = "capsched_gang",
    CallRecord = "capsched_call" before updates,
    AnswerRecord = "capsched_answer",
    ReportRecord = "capsched_report",
    BufferRecord = "capsched_buffer"
);

/// What a caller promises with its call: each pointer that is not null points to as many elements as the call
/// says, for the length of the call, and nobody else writes to them meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory(());

fn null(what: &str) -> Fault {
    Fault::new(
        abi::CAPSCHED_ERR_NULL,
        "null",
        format_args!("{what} is null"),
    )
}

fn too_many(what: &str, count: usize, limit: usize) -> Fault {
    let text = format_args!("{what}: {count} is above the limit of {limit}");
    Fault::new(abi::CAPSCHED_ERR_LIMIT, "limit", text)
}

fn of_no_version(name: &str, size: usize) -> Fault {
    let text = format_args!("{name}: a size of {size} bytes is none of a known version");
    Fault::new(abi::CAPSCHED_ERR_VERSION, "version", text)
}

impl Memory {
    /// # Safety
    ///
    /// The caller keeps the promise of this type for all pointers that are given to its methods.
    pub(crate) const unsafe fn trusted() -> Self {
        Self(())
    }

    /// A value without a size; from an address that need not be aligned.
    fn copy<T: Plain>(self, from: *const T) -> T {
        // SAFETY: promised; every bit pattern is a value.
        unsafe { from.read_unaligned() }
    }

    fn bytes<'a>(self, from: *const u8, length: usize) -> &'a [u8] {
        // SAFETY: promised, and a byte is always aligned; no slice outlives the call.
        unsafe { std::slice::from_raw_parts(from, length) }
    }

    /// A struct by the size that it says it has.
    pub(crate) fn read<T: Sized32>(self, from: *const T) -> Answer<T> {
        if from.is_null() {
            return Err(null(T::NAME));
        }
        let size = self.size_of(from);
        if !(T::FIRST..=LARGEST).contains(&size) {
            return Err(of_no_version(T::NAME, size));
        }
        let given = self.bytes(from.cast(), size);
        let (known, unknown) = given.split_at(size.min(size_of::<T>()));
        if unknown.iter().any(|&byte| byte != 0) {
            let text = format_args!("{}: fields that are unknown here are not zero", T::NAME);
            return Err(Fault::new(abi::CAPSCHED_ERR_VERSION, "version", text));
        }
        let mut value = MaybeUninit::<T>::zeroed();
        // SAFETY: both are at least as long, and the one is new.
        unsafe { ptr::copy_nonoverlapping(known.as_ptr(), value.as_mut_ptr().cast(), known.len()) };
        // SAFETY: all of it is written, by zero first; every bit pattern is a value.
        Ok(unsafe { value.assume_init() })
    }

    fn size_of<T: Sized32>(self, from: *const T) -> usize {
        usize::try_from(self.copy(from.cast::<u32>())).unwrap_or(usize::MAX)
    }

    fn check_count<T>(from: *const T, count: usize, what: &str) -> Answer {
        if count > abi::CAPSCHED_MAX_COUNT {
            return Err(too_many(what, count, abi::CAPSCHED_MAX_COUNT));
        }
        if count > 0 && from.is_null() {
            return Err(null(what));
        }
        Ok(())
    }

    /// Structs behind one another, each of the size of the first.
    pub(crate) fn read_all<T: Sized32>(self, from: *const T, count: usize) -> Answer<Vec<T>> {
        Self::check_count(from, count, T::NAME)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let step = self.size_of(from);
        let one = |at: usize| {
            let address = from.cast::<u8>().wrapping_add(at * step).cast();
            if self.size_of(address) != step {
                return Err(of_no_version(T::NAME, self.size_of(address)));
            }
            self.read(address)
        };
        // The first one says whether the step is a size at all.
        self.read(from)?;
        (0..count).map(one).collect()
    }

    /// Values without sizes behind one another.
    pub(crate) fn copy_all<T: Plain>(
        self,
        from: *const T,
        count: usize,
        what: &str,
    ) -> Answer<Vec<T>> {
        Self::check_count(from, count, what)?;
        Ok((0..count)
            .map(|at| self.copy(from.wrapping_add(at)))
            .collect())
    }

    /// Bytes of any kind.
    pub(crate) fn raw(self, text: TextRef, what: &str) -> Answer<Vec<u8>> {
        if text.length == 0 {
            return Ok(Vec::new());
        }
        if text.data.is_null() {
            return Err(null(what));
        }
        if text.length > abi::CAPSCHED_MAX_TEXT {
            return Err(too_many(what, text.length, abi::CAPSCHED_MAX_TEXT));
        }
        Ok(self.bytes(text.data.cast(), text.length).to_vec())
    }

    /// A text.
    pub(crate) fn text(self, text: TextRef, what: &str) -> Answer<String> {
        String::from_utf8(self.raw(text, what)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let text = format_args!("{what} is no UTF-8 at byte {at}");
            Fault::new(abi::CAPSCHED_ERR_UTF8, "utf8", text)
        })
    }

    /// Texts behind one another.
    pub(crate) fn texts(
        self,
        from: *const TextRef,
        count: usize,
        what: &str,
    ) -> Answer<Vec<String>> {
        let texts = self.copy_all(from, count, what)?;
        texts
            .into_iter()
            .map(|text| self.text(text, what))
            .collect()
    }

    /// Refuses a place for an answer before the call is carried out.
    pub(crate) fn expects<T>(self, to: *mut T, what: &str) -> Answer {
        if to.is_null() {
            return Err(null(what));
        }
        Ok(())
    }

    /// Writes an answer to a place that was expected.
    pub(crate) fn write<T: Plain>(self, to: *mut T, value: T) {
        // SAFETY: promised, and it is not null.
        unsafe { to.write_unaligned(value) };
    }

    /// Writes an answer into a struct of the caller's size, which stays as the caller set it.
    pub(crate) fn write_sized<T: Sized32>(self, to: *mut T, value: &T) {
        let size = self.size_of(to.cast_const());
        let length = size.min(size_of::<T>()).saturating_sub(size_of::<u32>());
        let from = ptr::from_ref(value)
            .cast::<u8>()
            .wrapping_add(size_of::<u32>());
        let to = to.cast::<u8>().wrapping_add(size_of::<u32>());
        // SAFETY: promised as far as the caller's size says; the value is at least as long, and ours.
        unsafe { ptr::copy_nonoverlapping(from, to, length) };
    }

    /// The place of a struct within an array of the caller's size of one.
    pub(crate) fn place_of<T: Sized32>(self, first: *mut T, at: usize) -> *mut T {
        let step = self.size_of(first.cast_const());
        first.cast::<u8>().wrapping_add(at * step).cast()
    }

    /// Writes a flat record as number `at` of a buffer whose records have a size of the caller's; what the caller
    /// knows and this library does not is zero.
    pub(crate) fn write_flat(
        self,
        to: *mut c_void,
        at: usize,
        size: usize,
        value: &abi::FlatRecord,
    ) {
        let to = to.cast::<u8>().wrapping_add(at * size);
        let known = size.min(size_of::<abi::FlatRecord>());
        // SAFETY: promised; the record is ours.
        unsafe { ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), to, known) };
        // SAFETY: promised: the record has `size` bytes.
        unsafe { ptr::write_bytes(to.wrapping_add(known), 0, size - known) };
    }

    /// Refuses a size of flat records that none of a known version has.
    pub(crate) fn expects_flat(self, records: *mut c_void, capacity: usize, size: usize) -> Answer {
        if !(FIRST_FLAT..=LARGEST).contains(&size) {
            return Err(of_no_version("capsched_record", size));
        }
        Self::check_count(records.cast_const(), capacity, "the buffer of records")
    }

    /// Writes a text to a buffer, without a NUL, and its length. With no room at all only the length.
    pub(crate) fn write_text(
        self,
        text: &str,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> Answer {
        self.expects(length, "the length of the text")?;
        if capacity > 0 {
            self.expects(buffer, "the buffer of the text")?;
        }
        self.write(length, text.len());
        if capacity == 0 {
            return Ok(());
        }
        if capacity < text.len() {
            let text = format_args!("the text has {} bytes, the buffer {capacity}", text.len());
            return Err(Fault::new(abi::CAPSCHED_ERR_BUFFER, "buffer", text));
        }
        // SAFETY: promised, and there is room.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len()) };
        Ok(())
    }
}
