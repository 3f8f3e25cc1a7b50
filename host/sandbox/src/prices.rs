//! What a guest pays in fuel for what its operators and its host calls take the host, so that fuel ends before the clock does.
//!
//! An operator that is not named here costs what wasmtime takes by default: 1, or nothing if no code comes of it. The list is part
//! of the contract, because fuel is recorded: a change of any price is a new [`PRICE_LIST_VERSION`]. How the prices were
//! found is in `docs/decisions/0018-prices-of-fuel.md`, what they come to in `docs/hostile-guests.md`.

use wasmtime::OperatorCost;

/// The version of this list. Records name it beside wasmtime's: fuel means the same only under the same two.
pub const PRICE_LIST_VERSION: u32 = 1;

/// A read of memory: at worst it waits for a page table and for the machine's memory, and the next read waits for it.
const LOAD: u8 = 16;

/// A write of memory: it misses the caches as a read does, but nothing waits for it.
const STORE: u8 = 2;

/// A jump within a function, over code that at worst is in no cache.
const BRANCH: u8 = 3;

/// A jump to anywhere: at worst it waits for code as a read does for data.
const JUMP: u8 = 12;

/// What leaves compiled code for a function of wasmtime's, besides what that function moves.
const RUNTIME_CALL: u8 = 20;

/// What every return from the host costs, also from the functions of wasmtime's by which a guest makes, looks up and drops handles
/// of its own resources. It must not exceed [`RUNTIME_CALL`]: see `charge_crossing` in [`super::runner`].
pub(super) const PER_CROSSING: u64 = RUNTIME_CALL as u64;

/// What a call of a granted interface costs besides.
pub(super) const PER_HOST_CALL: u64 = 200;

/// What every byte costs that a host call copies or zeroes.
pub(super) const PER_BYTE: u64 = 1;

/// How many bytes of its memories a guest of several components gets for 1 fuel, whenever wasmtime may have copied a text from one
/// to another: how long the text was is not told, but it is in its memory.
pub(super) const MEMORY_BYTES_PER_FUEL: u64 = 16;

/// What looking up or listing one name costs.
pub(super) const PER_NAME: u64 = 100;

/// What every part costs that a path is cut into at its slashes, also an empty one.
pub(super) const PER_PATH_PART: u64 = 16;

macro_rules! priced {
    ($($price:ident: $($operator:ident)*;)*) => {{
        let mut prices = OperatorCost::new();
        $($(prices.$operator = $price;)*)*
        prices
    }};
}

/// The prices of operators.
pub(super) fn operators() -> OperatorCost {
    let mut prices = priced! {
        LOAD: I32Load I64Load F32Load F64Load I32Load8S I32Load8U I32Load16S I32Load16U I64Load8S I64Load8U I64Load16S
            I64Load16U I64Load32S I64Load32U V128Load V128Load8x8S V128Load8x8U V128Load16x4S V128Load16x4U
            V128Load32x2S V128Load32x2U V128Load8Splat V128Load16Splat V128Load32Splat V128Load64Splat V128Load32Zero
            V128Load64Zero V128Load8Lane V128Load16Lane V128Load32Lane V128Load64Lane;
        STORE: I32Store I64Store F32Store F64Store I32Store8 I32Store16 I64Store8 I64Store16 I64Store32 V128Store
            V128Store8Lane V128Store16Lane V128Store32Lane V128Store64Lane;
        BRANCH: Br BrIf If;
        JUMP: BrTable Call CallIndirect;
        RUNTIME_CALL: MemoryGrow MemoryInit MemoryCopy MemoryFill DataDrop TableGet TableSet TableGrow TableInit TableCopy
            TableFill ElemDrop RefFunc;
    };
    prices.variable.memory_grow_per_page = RUNTIME_CALL;
    prices
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::ids::Digest;

    /// The digest of the list that has this version. When it differs, a price has changed: give the list a new version, and put
    /// the new digest here.
    const PINNED: (u32, &str) = (1, "ca15067cce0ec4ed71443b3d49f6b6e3c784091a5ff15713cffc9c2b1cd328dc");

    #[test]
    fn a_list_with_other_prices_has_another_version() {
        let host = [PER_CROSSING, PER_HOST_CALL, PER_BYTE, MEMORY_BYTES_PER_FUEL, PER_NAME, PER_PATH_PART];
        let list = format!("{:?} {host:?}", operators());
        let digest = Digest::of(list.as_bytes()).to_string();
        assert_eq!((PRICE_LIST_VERSION, digest.as_str()), PINNED);
    }
}
