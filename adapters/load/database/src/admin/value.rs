//! Values that go into statements and come out of them, as few kinds as loads need.

use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{FromSqlResult, ToSqlOutput, ValueRef};
use std::error::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
}

impl Value {
    /// The number; NULL and text are none.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Null | Self::Text(_) => None,
        }
    }

    pub(super) fn to_mysql(&self) -> mysql::Value {
        match self {
            Self::Null => mysql::Value::NULL,
            Self::Int(number) => mysql::Value::Int(*number),
            Self::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
        }
    }

    fn into_text(self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Int(number) => Some(number.to_string()),
            Self::Text(text) => Some(text),
        }
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

pub(super) fn text_row(row: Vec<Value>) -> Vec<Option<String>> {
    row.into_iter().map(Value::into_text).collect()
}

fn from_mysql(value: mysql::Value) -> Value {
    match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => match i64::try_from(number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Text(number.to_string()),
        },
        mysql::Value::Bytes(bytes) => Value::Text(String::from_utf8_lossy(&bytes).into_owned()),
        mysql::Value::Float(number) => Value::Text(number.to_string()),
        mysql::Value::Double(number) => Value::Text(number.to_string()),
        other => Value::Text(other.as_sql(true).trim_matches('\'').to_owned()),
    }
}

pub(super) fn of_mysql(row: mysql::Row) -> Vec<Value> {
    row.unwrap().into_iter().map(from_mysql).collect()
}

pub(super) fn text_of_mysql(row: mysql::Row) -> Vec<Option<String>> {
    text_row(of_mysql(row))
}

pub(super) fn text_of_postgres(
    message: &postgres::SimpleQueryMessage,
) -> Option<Vec<Option<String>>> {
    match message {
        postgres::SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
        }
        _ => None,
    }
}

pub(super) fn of_postgres(row: &postgres::Row) -> Result<Vec<Value>, postgres::Error> {
    (0..row.len()).map(|at| row.try_get(at)).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *kind == Type::INT2 => i16::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) if *kind == Type::INT8 => number.to_sql(kind, out),
            Self::Text(text) if <&str as ToSql>::accepts(kind) => text.as_str().to_sql(kind, out),
            other => Err(format!("{other:?} does not go into a column of type {kind}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        match *kind {
            Type::INT2 => Ok(Self::Int(i16::from_sql(kind, raw)?.into())),
            Type::INT4 => Ok(Self::Int(i32::from_sql(kind, raw)?.into())),
            Type::INT8 => Ok(Self::Int(i64::from_sql(kind, raw)?)),
            _ => Ok(Self::Text(<&str>::from_sql(kind, raw)?.to_owned())),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8) || <&str as FromSql>::accepts(kind)
    }
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl rusqlite::types::FromSql for Value {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Int(number),
            ValueRef::Real(number) => Self::Text(number.to_string()),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                Self::Text(String::from_utf8_lossy(text).into_owned())
            }
        })
    }
}
