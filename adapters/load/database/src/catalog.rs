//! The statements of a workload, made once for all connections.

use crate::oltp::{Options, Parameter, Template, templates};
use crate::target::Engine;

/// Statements by template and table.
pub struct Catalog {
    /// What is prepared: each as often as there are tables, unless it is the same for all.
    pub prepared: Vec<(Template, u32)>,
    parameters: Vec<Vec<Parameter>>,
    pieces: Vec<Vec<String>>,
    sql: Vec<String>,
    is_text: [bool; Template::COUNT],
}

impl Catalog {
    /// With `as_text` nothing is prepared.
    pub fn new(engine: Engine, options: &Options, as_text: bool) -> Self {
        let slots = Template::COUNT * options.tables as usize;
        let mut this = Self {
            prepared: Vec::new(),
            parameters: vec![Vec::new(); Template::COUNT],
            pieces: vec![Vec::new(); slots],
            sql: vec![String::new(); slots],
            is_text: [as_text; Template::COUNT],
        };
        for template in templates(options) {
            this.parameters[template as usize] = template.parameters(options);
            this.is_text[template as usize] |= template.is_always_text();
            let tables = if template.is_control() { 1 } else { options.tables };
            for table in 1..=tables {
                let slot = Self::slot(template, table);
                this.pieces[slot] = template.pieces(engine, table, options);
                this.sql[slot] = template.sql(engine, table, options);
                if !this.is_text[template as usize] {
                    this.prepared.push((template, table));
                }
            }
        }
        this
    }

    /// Where a statement is in lists of all.
    pub fn slot(template: Template, table: u32) -> usize {
        (table as usize - 1) * Template::COUNT + template as usize
    }

    pub fn slots(&self) -> usize {
        self.pieces.len()
    }

    pub fn is_text(&self, template: Template) -> bool {
        self.is_text[template as usize]
    }

    pub fn parameters(&self, template: Template) -> &[Parameter] {
        &self.parameters[template as usize]
    }

    pub fn pieces(&self, template: Template, table: u32) -> &[String] {
        &self.pieces[Self::slot(template, table)]
    }

    /// With marks for its parameters.
    pub fn sql(&self, template: Template, table: u32) -> &str {
        &self.sql[Self::slot(template, table)]
    }
}
