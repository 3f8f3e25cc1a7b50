//! Components written byte by byte, for those that no tool makes.

use crate::guests;

/// What a core module begins with.
pub const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// What a component begins with.
pub const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// A number as WebAssembly writes it.
///
/// # Panics
///
/// Never: seven bits fit.
pub fn number(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(value & 0x7f).expect("seven bits");
        value >>= 7;
        bytes.push(byte | if value > 0 { 0x80 } else { 0 });
        if value == 0 {
            return bytes;
        }
    }
}

/// Bytes with their number before them.
pub fn counted(content: &[u8]) -> Vec<u8> {
    [&number(content.len()), content].concat()
}

/// So many times the same.
pub fn many(count: usize, item: &[u8]) -> Vec<u8> {
    [number(count), item.repeat(count)].concat()
}

pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id], counted(content).as_slice()].concat()
}

/// A core module of these sections.
pub fn module(sections: &[Vec<u8>]) -> Vec<u8> {
    [MODULE, sections.concat().as_slice()].concat()
}

/// A section of one function, with its locals and its code.
pub fn code(locals: &[u8], code: &[u8]) -> Vec<u8> {
    section(10, &[number(1), counted(&[locals, code, &[0x0b]].concat())].concat())
}

/// An honest rubric with one more module, which nobody instantiates.
pub fn honest_with(module: &[u8]) -> Vec<u8> {
    [guests::HONEST, &section(1, module)].concat()
}
