//! Guests that reach for the host, or for the case before them.

pub(crate) mod reaches_for_the_host {
    use eval_host_tests::guests::REACHES_FOR_THE_HOST;

    use crate::support::{ends, reported};

    #[test]
    fn no_path_leads_out() {
        insta::assert_snapshot!(reported(&ends(REACHES_FOR_THE_HOST, "paths")).join("\n"), @r#"
        open "../../etc/passwd": not-permitted
        open "..": not-permitted
        open "../": not-permitted
        open "/": not-permitted
        open "/etc/passwd": not-permitted
        open "//etc/passwd": not-permitted
        open "/proc/self/environ": not-permitted
        open "proc/self/environ": no-entry
        open "input/../../etc/passwd": not-permitted
        open "input/../..": not-permitted
        open "./../etc": not-permitted
        open "input/./../../x": not-permitted
        open "etc/passwd\0": invalid
        open "input\0/a": invalid
        open "\0": invalid
        open "": no-entry
        open "...": no-entry
        open "input/...": no-entry
        open "nnnn" and so on, 256 bytes: name-too-long
        open "d/d/" and so on, 4200 bytes: name-too-long
        open "C:\\Windows": no-entry
        open "~": no-entry
        open "input/a.txt/..": not-directory
        open "input/a.txt/.": not-directory
        open "input/a.txt/": not-directory
        "#);
    }

    #[test]
    fn no_link_leads_out_with_or_without_a_trailing_slash() {
        insta::assert_snapshot!(reported(&ends(REACHES_FOR_THE_HOST, "links")).join("\n"), @r#"
        link absolute -> /etc: not-permitted
        link up -> ../../etc: ok
        open "up": not-permitted
        open "up/": not-permitted
        open "up/passwd": not-permitted
        open "up/.": not-permitted
        rename up/ to stolen: not-directory
        rename input to up/: not-directory
        hard link to up/passwd: not-permitted
        make up/passwd: not-permitted
        unlink up/passwd: not-permitted
        link above -> ..: ok
        open "above": not-permitted
        open "above/": not-permitted
        open "above/passwd": not-permitted
        open "above/.": not-permitted
        rename above/ to stolen: not-directory
        rename input to above/: not-directory
        hard link to above/passwd: not-permitted
        make above/passwd: not-permitted
        unlink above/passwd: not-permitted
        link sly -> input/../../etc/: ok
        open "sly": not-permitted
        open "sly/": not-permitted
        open "sly/passwd": not-permitted
        open "sly/.": not-permitted
        rename sly/ to stolen: not-directory
        rename input to sly/: not-directory
        hard link to sly/passwd: not-permitted
        make sly/passwd: not-permitted
        unlink sly/passwd: not-permitted
        link chained -> up/: ok
        open "chained": not-permitted
        open "chained/": not-permitted
        open "chained/passwd": not-permitted
        open "chained/.": not-permitted
        rename chained/ to stolen: not-directory
        rename input to chained/: not-directory
        hard link to chained/passwd: not-permitted
        make chained/passwd: not-permitted
        unlink chained/passwd: not-permitted
        "#);
    }

    #[test]
    fn the_root_stays_where_it_is() {
        insta::assert_snapshot!(reported(&ends(REACHES_FOR_THE_HOST, "names")).join("\n"), @r#"
        hard link to a directory: not-permitted
        hard link to ../etc/passwd: not-permitted
        hard link that follows: invalid
        rename . to moved: busy
        rename / to moved: not-permitted
        rename input to .: busy
        rename input to /: not-permitted
        rename input to ..: not-permitted
        rename input to ../x: not-permitted
        rename input to input/inside: invalid
        remove directory .: invalid
        unlink .: is-directory
        make .: exist
        remove directory /: not-permitted
        unlink /: not-permitted
        make /: not-permitted
        remove directory input/..: invalid
        unlink input/..: is-directory
        make input/..: exist
        remove directory ..: not-permitted
        unlink ..: not-permitted
        make ..: not-permitted
        make a name with a NUL: invalid
        "#);
    }

    #[test]
    fn there_is_no_environment() {
        insta::assert_snapshot!(reported(&ends(REACHES_FOR_THE_HOST, "surroundings")).join("\n"), @r#"
        0 arguments
        0 variables
        stdin gives Some(0)
        PATH is None
        the directory is Some("/")
        "#);
    }
}

pub(crate) mod keeps_state {
    use eval_host_tests::guests::KEEPS_STATE;
    use eval_model::limits::Limits;

    use crate::support::{Case, prepare, seen};

    #[test]
    fn nothing_is_left_for_the_next_case_to_find() {
        let rubric = prepare(KEEPS_STATE, Limits::default());
        for name in ["first", "second", "third"] {
            let scored = Case::named(name).score(&rubric, "");
            for (key, value) in [("calls_before", 0.0_f64), ("entries_found", 2.0), ("damaged", 0.0)] {
                assert_eq!(seen(&scored, key).to_bits(), value.to_bits(), "{name}: {key}");
            }
        }
    }

    #[test]
    fn a_case_draws_its_own_random_numbers_whatever_was_drawn_before() {
        let rubric = prepare(KEEPS_STATE, Limits::default());
        let draw = |name: &str| seen(&Case::named(name).score(&rubric, ""), "random").to_bits();
        let (first, second) = (draw("first"), draw("second"));
        assert_ne!(first, second);
        assert_eq!(draw("first"), first);
    }
}

pub(crate) mod forges_a_handle {
    use eval_host_tests::guests::FORGES_A_HANDLE;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, trap};

    #[test]
    fn a_handle_that_was_never_given_leads_nowhere() {
        assert_eq!(ends(FORGES_A_HANDLE, "").result, trap(TrapKind::BadArgument));
    }
}

pub(crate) mod forges_a_handle_at_start {
    use eval_host_tests::guests::FORGES_A_HANDLE_AT_START;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, trap};

    #[test]
    fn what_it_does_before_it_is_called_is_no_failure_of_the_machine() {
        assert_eq!(ends(FORGES_A_HANDLE_AT_START, "").result, trap(TrapKind::BadArgument));
    }
}
