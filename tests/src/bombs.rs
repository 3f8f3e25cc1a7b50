//! Components that are valid and small, and that keep whoever reads or compiles them busy for minutes or fill its memory.

use crate::binary::{COMPONENT, code, counted, honest_with, many, module, number, section};
use crate::guests;

/// A bomb, by what it is made of.
#[derive(Debug, Clone)]
pub struct Bomb {
    pub name: &'static str,
    pub component: Vec<u8>,
}

const I32: u8 = 0x7f;
const ZERO: [u8; 2] = [0x41, 0];
const DROP: [u8; 1] = [0x1a];
/// `0 + 0`, which nobody computes before the module is instantiated.
const COMPUTED: [u8; 6] = [0x41, 0, 0x41, 0, 0x6a, 0x0b];
const NO_LOCALS: [u8; 1] = [0];

/// The wide type, of a thousand parameters and as many results, and the one of a function that has neither.
fn wide_types() -> Vec<u8> {
    let thousand = many(1_000, &[I32]);
    section(1, &[vec![2, 0x60], thousand.clone(), thousand, vec![0x60, 0, 0]].concat())
}

/// A function that puts a thousand numbers on the stack, does this so many times, and takes them off again.
fn wide(count: usize, instruction: &[u8]) -> Vec<u8> {
    code(&NO_LOCALS, &[ZERO.repeat(1_000), instruction.repeat(count), DROP.repeat(1_000)].concat())
}

fn blocks() -> Vec<u8> {
    let block = [0x02, 0, 0x0b];
    honest_with(&module(&[wide_types(), section(3, &[1, 1]), wide(6_000, &block)]))
}

fn calls() -> Vec<u8> {
    let import = section(2, &[vec![1], counted(b"m"), counted(b"f"), vec![0, 0]].concat());
    honest_with(&module(&[wide_types(), import, section(3, &[1, 1]), wide(10_000, &[0x10, 0])]))
}

fn elements() -> Vec<u8> {
    let segment = [vec![0], COMPUTED.to_vec(), many(1_000_000, &[0])].concat();
    honest_with(&module(&[
        section(1, &[1, 0x60, 0, 0]),
        section(3, &[1, 0]),
        section(4, &[1, 0x70, 0, 1]),
        section(9, &[number(1), segment].concat()),
        code(&NO_LOCALS, &[]),
    ]))
}

fn terms() -> Vec<u8> {
    let sum = [ZERO.to_vec(), [0x41, 1, 0x6a].repeat(1_000_000), vec![0x0b]].concat();
    honest_with(&module(&[section(6, &[vec![1, I32, 0], sum].concat())]))
}

fn segments() -> Vec<u8> {
    let segment = [vec![0], COMPUTED.to_vec(), counted(b"x")].concat();
    honest_with(&module(&[section(5, &[1, 0, 1]), section(11, &many(90_000, &segment))]))
}

fn nested() -> Vec<u8> {
    let mut sizes = vec![COMPONENT.len()];
    for _ in 0..100_000 {
        let inner = sizes[sizes.len() - 1];
        sizes.push(COMPONENT.len() + 1 + number(inner).len() + inner);
    }
    let outside: Vec<u8> =
        sizes.iter().rev().skip(1).flat_map(|inner| [COMPONENT, &[4], &number(*inner)].concat()).collect();
    [guests::HONEST, &[4], &number(sizes[sizes.len() - 1]), &outside, COMPONENT].concat()
}

fn globals() -> Vec<u8> {
    honest_with(&module(&[section(6, &many(70_000, &[I32, 1, 0x41, 0, 0x0b]))]))
}

/// Types of components in each other, which a reader reads by calling itself.
fn types() -> Vec<u8> {
    let inside = [0x41, 0];
    let types = [[0x41, 1, 1].repeat(60_000), inside.to_vec()].concat();
    [guests::HONEST, &section(7, &[vec![1], types].concat())].concat()
}

/// All of them.
pub fn all() -> Vec<Bomb> {
    let bomb = |name, component| Bomb { name, component };
    vec![
        bomb("blocks", blocks()),
        bomb("calls", calls()),
        bomb("elements", elements()),
        bomb("terms", terms()),
        bomb("segments", segments()),
        bomb("nested", nested()),
        bomb("globals", globals()),
        bomb("types", types()),
    ]
}
