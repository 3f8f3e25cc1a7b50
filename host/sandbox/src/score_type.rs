//! The type of `score` as a component declares it, written out, so that two of them can be compared without compiling either.

use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncType, ComponentItem, ComponentValType,
};
use wasmparser::names::KebabString;
use wasmparser::types::Types;

/// What `wit/rubric.wit` says of `score`.
pub(super) const SCORE: &str = "(record{case-id:string,task-class:string,\
    disposition:enum{positive,negative,ambiguous},difficulty:enum{easy,medium,hard},\
    source:enum{curated,outcome-ledger-derived,regression-converted}},\
    record{json:string,cost-usd:f64,duration-seconds:f64})->\
    result<record{passed:bool,score:f64,breakdown:list<tuple<string,f64>>,failure-modes:list<string>,\
    cost-usd:f64,duration-seconds:f64},\
    variant{malformed-output:string,malformed-case:string,internal:string}>";

/// A type that takes more room than this is no type of the contract, and nobody wants to read it.
const LENGTH_MAX: usize = 1_000;

/// The function `score` of an exported interface; `None` if there is none.
pub(super) fn score(types: &Types, interface: &str) -> Option<String> {
    let ComponentItem { ty: ComponentEntityType::Instance(id), .. } = types.component_item_for_export(interface)?
    else {
        return None;
    };
    let ComponentItem { ty: ComponentEntityType::Func(id), .. } = types[*id].exports.get("score")? else { return None };
    let mut writer = Writer { types, text: String::new() };
    writer.function(&types[*id]);
    Some(writer.text)
}

struct Writer<'a> {
    types: &'a Types,
    text: String,
}

impl Writer<'_> {
    fn function(&mut self, function: &ComponentFuncType) {
        let parameters = function.params.iter().map(|(_, ty)| (None, Some(ty)));
        self.list(if function.async_ { "async(" } else { "(" }, parameters, ")->");
        self.optional(function.result.as_ref());
    }

    fn optional(&mut self, ty: Option<&ComponentValType>) {
        match ty {
            Some(ty) => self.value(ty),
            None => self.text.push('_'),
        }
    }

    fn value(&mut self, ty: &ComponentValType) {
        // A small component can declare a type that is huge when it is written out.
        if self.text.len() > LENGTH_MAX {
            return;
        }
        match ty {
            ComponentValType::Primitive(primitive) => self.text += &primitive.to_string(),
            ComponentValType::Type(id) => {
                let types = self.types;
                self.defined(&types[*id]);
            }
        }
    }

    fn defined(&mut self, ty: &ComponentDefinedType) {
        match ty {
            ComponentDefinedType::Primitive(primitive) => self.text += &primitive.to_string(),
            ComponentDefinedType::Record(record) => {
                self.list("record{", record.fields.iter().map(|(name, ty)| (Some(name), Some(ty))), "}");
            }
            ComponentDefinedType::Variant(variant) => {
                self.list("variant{", variant.cases.iter().map(|(name, case)| (Some(name), case.ty.as_ref())), "}");
            }
            ComponentDefinedType::Enum(names) => {
                self.list("enum{", names.iter().map(|name| (Some(name), None)), "}");
            }
            ComponentDefinedType::Tuple(tuple) => {
                self.list("tuple<", tuple.types.iter().map(|ty| (None, Some(ty))), ">");
            }
            ComponentDefinedType::List { element, .. } => self.list("list<", [(None, Some(element))].into_iter(), ">"),
            ComponentDefinedType::Result { ok, err, .. } => {
                self.text += "result<";
                self.optional(ok.as_ref());
                self.text.push(',');
                self.optional(err.as_ref());
                self.text.push('>');
            }
            _ => self.text.push('?'),
        }
    }

    fn list<'t>(
        &mut self,
        open: &str,
        parts: impl Iterator<Item = (Option<&'t KebabString>, Option<&'t ComponentValType>)>,
        close: &str,
    ) {
        self.text += open;
        for (index, (name, ty)) in parts.enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.text += name.map_or("", |name| name.as_str());
            if name.is_some() && ty.is_some() {
                self.text.push(':');
            }
            if let Some(ty) = ty {
                self.value(ty);
            }
        }
        self.text += close;
    }
}
