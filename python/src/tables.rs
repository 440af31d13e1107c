//! Tables for data frames: columns in Arrow's memory, handed over by its stream interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::refusal;

/// A table whose columns data frames take over without a copy: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`, or `table.to_pandas()`.
#[pyclass(frozen, module = "capsched")]
#[derive(Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    /// A table of named columns of one length.
    pub(crate) fn of(columns: Vec<(String, ArrayRef)>) -> PyResult<Self> {
        let field = |(name, column): &(String, ArrayRef)| {
            Field::new(name, column.data_type().clone(), column.is_nullable())
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        let batch = RecordBatch::try_new(schema, columns).map_err(refusal)?;
        Ok(Self { batch })
    }
}

#[pymethods]
impl Table {
    /// Arrow's stream interface: a capsule that a data frame library takes over.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows to pass over a wish that cannot be met without a conversion.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!(
            "<capsched.Table of {} rows: {columns}>",
            self.batch.num_rows()
        )
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// As `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py()
            .import("polars")?
            .getattr("DataFrame")?
            .call1((slf,))
    }

    /// As `pyarrow.Table`.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// As `pandas.DataFrame`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::to_arrow(slf)?.call_method0("to_pandas")
    }
}
