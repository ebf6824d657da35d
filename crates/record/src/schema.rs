//! The schema of a table's columns. Cells that are lists are as Parquet's logical type LIST wants them
//! (Parquet format, LogicalTypes.md, "Lists"): a group of repeated elements.

use crate::column::ColumnData;
use parquet::basic::{LogicalType, Repetition};
use parquet::errors::Result;
use parquet::schema::types::{ColumnPath, Type};
use std::sync::Arc;

const LIST: &str = "list";
const ELEMENT: &str = "element";

/// The schema of a column called `name`.
pub(crate) fn field(name: &str, column: &dyn ColumnData) -> Result<Type> {
    let (physical, logical) = column.parquet_type();
    let repetition = if column.nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let name_of_values = if column.lists() { ELEMENT } else { name };
    let values = Type::primitive_type_builder(name_of_values, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()?;
    if column.lists() { field_of_lists(name, values) } else { Ok(values) }
}

/// Where the values of the column are in the schema.
pub(crate) fn path(name: &str, column: &dyn ColumnData) -> ColumnPath {
    if column.lists() {
        ColumnPath::new([name, LIST, ELEMENT].map(String::from).to_vec())
    } else {
        ColumnPath::from(name)
    }
}

/// The schema of lists of values.
fn field_of_lists(name: &str, values: Type) -> Result<Type> {
    let list = Type::group_type_builder(LIST)
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(values)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
}
