//! The Rust side of `wit/rubric.wit`, generated. Nothing is added to it here.

wit_bindgen::generate!({
    path: "../../wit",
    world: "rubric",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "eval_rubric::bindings",
    additional_derives: [PartialEq],
});
