//! Where records of a reply go: into the caller's buffer, and the rest under a handle.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use capsched::sync::Mutex;

use crate::abi::{BufferRecord, FlatRecord};
use crate::fault::Answer;
use crate::handles::Handles;
use crate::memory::Memory;

static RESTS: Handles<Arc<Mutex<VecDeque<FlatRecord>>>> = Handles::new(2);

/// A buffer of a caller, looked at before the call is carried out.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Memory,
    place: *mut BufferRecord,
    given: BufferRecord,
    record_size: usize,
}

impl Buffer {
    /// # Errors
    ///
    /// When it is none, or of no known version.
    pub(crate) fn expect(memory: Memory, place: *mut BufferRecord) -> Answer<Self> {
        let given = memory.read(place.cast_const())?;
        let record_size = usize::try_from(given.record_size).unwrap_or(usize::MAX);
        memory.expects_flat(given.records, given.capacity, record_size)?;
        Ok(Self {
            memory,
            place,
            given,
            record_size,
        })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.given.capacity
    }

    fn write(&self, records: impl Iterator<Item = FlatRecord>) -> usize {
        let mut written = 0;
        for record in records.take(self.given.capacity) {
            let (to, size) = (self.given.records, self.record_size);
            self.memory.write_flat(to, written, size, &record);
            written += 1;
        }
        written
    }

    fn answer(&self, written: usize, rest: u64) {
        let answer = BufferRecord {
            written,
            rest,
            ..self.given
        };
        self.memory.write_sized(self.place, &answer);
    }

    /// Writes what there is room for; the rest gets a handle.
    ///
    /// # Errors
    ///
    /// When there are too many handles.
    pub(crate) fn fill(&self, records: Vec<FlatRecord>) -> Answer {
        let mut records = VecDeque::from(records);
        let number = records.len().min(self.given.capacity);
        let written = self.write(records.drain(..number));
        let rest = if records.is_empty() {
            0
        } else {
            RESTS.add(Arc::new(Mutex::new(records)))?
        };
        self.answer(written, rest);
        Ok(())
    }

    /// Writes more of a rest. Its handle goes with its last record.
    ///
    /// # Errors
    ///
    /// When there is no such rest.
    pub(crate) fn fill_from(&self, handle: u64) -> Answer {
        let rest = RESTS.get(handle)?;
        let mut records = rest.lock().unwrap_or_else(PoisonError::into_inner);
        let number = records.len().min(self.given.capacity);
        let written = self.write(records.drain(..number));
        let left = if records.is_empty() {
            drop(RESTS.take(handle)?);
            0
        } else {
            handle
        };
        self.answer(written, left);
        Ok(())
    }
}

/// Gives a rest up.
///
/// # Errors
///
/// When there is no such rest.
pub(crate) fn give_up(handle: u64) -> Answer {
    RESTS.take(handle).map(drop)
}
