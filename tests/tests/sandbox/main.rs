//! The sandbox against hostile rubrics: every guest of `tests/guests/` has a module here that says what becomes of it.
//!
//! A guest without such a module does not compile: see the end of this file.

mod cache;
mod claims;
mod compiler;
mod death;
mod escape;
mod fixture;
mod load;
mod measured;
mod oracle;
mod sameness;
mod space;
mod support;
mod time;

/// Fails the build for a guest that no test names.
mod every_guest_is_tested {
    #![expect(unused_imports, reason = "naming the module is the check")]

    use crate::claims::*;
    use crate::compiler::*;
    use crate::death::*;
    use crate::escape::*;
    use crate::fixture::*;
    use crate::load::*;
    use crate::measured::*;
    use crate::oracle::*;
    use crate::sameness::*;
    use crate::space::*;
    use crate::time::*;

    macro_rules! assert_tested {
        ($($guest:ident)*) => { $(use self::$guest as _;)* };
    }

    eval_host_tests::for_each_guest!(assert_tested);
}
