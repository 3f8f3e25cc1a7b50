;; Two components with a memory each, one of which passes the other a text of 32 MiB that is not ASCII for ever. Wasmtime copies it, and tells
;; nobody how long it is.
(component
  (import "eval-host:rubric/types@0.1.0" (instance $types
    (type $disposition' (enum "positive" "negative" "ambiguous"))
    (export "disposition" (type $disposition (eq $disposition')))
    (type $difficulty' (enum "easy" "medium" "hard"))
    (export "difficulty" (type $difficulty (eq $difficulty')))
    (type $source' (enum "curated" "outcome-ledger-derived" "regression-converted"))
    (export "source" (type $source (eq $source')))
    (type $case' (record
      (field "case-id" string)
      (field "task-class" string)
      (field "disposition" $disposition)
      (field "difficulty" $difficulty)
      (field "source" $source)))
    (export "bench-case" (type (eq $case')))
    (type $output' (record (field "json" string) (field "cost-usd" f64) (field "duration-seconds" f64)))
    (export "harness-output" (type (eq $output')))
    (type $entry (tuple string f64))
    (type $breakdown (list $entry))
    (type $modes (list string))
    (type $score' (record
      (field "passed" bool)
      (field "score" f64)
      (field "breakdown" $breakdown)
      (field "failure-modes" $modes)
      (field "cost-usd" f64)
      (field "duration-seconds" f64)))
    (export "bench-score" (type (eq $score')))
    (type $error' (variant (case "malformed-output" string) (case "malformed-case" string) (case "internal" string)))
    (export "rubric-error" (type (eq $error')))))

  (component $measures
    (core module $module
      (memory (export "memory") 1024)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
      (func (export "measure") (param $text i32) (param $length i32) (result i32)
        ;; The last byte counts too, if it was copied here.
        (i32.add
          (local.get $length)
          (i32.eq
            (i32.load8_u (i32.sub (i32.add (local.get $text) (local.get $length)) (i32.const 1)))
            (i32.const 125)))))
    (core instance $instance (instantiate $module))
    (alias core export $instance "memory" (core memory $memory))
    (func (export "measure") (param "text" string) (result u32)
      (canon lift (core func $instance "measure")
        (memory (core memory $memory)) (realloc (core func $instance "cabi_realloc")))))
  (instance $measures (instantiate $measures))

  (component $rubric
    (import "eval-host:rubric/types@0.1.0" (instance $types
      (type $disposition' (enum "positive" "negative" "ambiguous"))
      (export "disposition" (type $disposition (eq $disposition')))
      (type $difficulty' (enum "easy" "medium" "hard"))
      (export "difficulty" (type $difficulty (eq $difficulty')))
      (type $source' (enum "curated" "outcome-ledger-derived" "regression-converted"))
      (export "source" (type $source (eq $source')))
      (type $case' (record
        (field "case-id" string)
        (field "task-class" string)
        (field "disposition" $disposition)
        (field "difficulty" $difficulty)
        (field "source" $source)))
      (export "bench-case" (type (eq $case')))
      (type $output' (record (field "json" string) (field "cost-usd" f64) (field "duration-seconds" f64)))
      (export "harness-output" (type (eq $output')))
      (type $entry (tuple string f64))
      (type $breakdown (list $entry))
      (type $modes (list string))
      (type $score' (record
        (field "passed" bool)
        (field "score" f64)
        (field "breakdown" $breakdown)
        (field "failure-modes" $modes)
        (field "cost-usd" f64)
        (field "duration-seconds" f64)))
      (export "bench-score" (type (eq $score')))
      (type $error' (variant (case "malformed-output" string) (case "malformed-case" string) (case "internal" string)))
      (export "rubric-error" (type (eq $error')))))
    (alias export $types "bench-case" (type $case))
    (alias export $types "harness-output" (type $output))
    (alias export $types "bench-score" (type $score))
    (alias export $types "rubric-error" (type $error))
    (import "measure" (func $measures (param "text" string) (result u32)))

    (core module $memory
      (memory (export "memory") 1024)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096)))
    (core instance $own (instantiate $memory))
    (alias core export $own "memory" (core memory $own-memory))
    (core func $measure (canon lower (func $measures) (memory (core memory $own-memory))))
    (core module $module
      (import "" "measure" (func $measure (param i32 i32) (result i32)))
      (import "own" "memory" (memory 1024))
      (import "own" "cabi_realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
      (export "memory" (memory 0))
      (export "cabi_realloc" (func $realloc))
      (func (export "score")
        (param i32 i32 i32 i32 i32 i32 i32) (param $json i32) (param $length i32)
        (param $cost f64) (param $duration f64) (result i32)
        (local $filled i32)
        (i32.store (i32.const 65536) (i32.const 0xa9c3a9c3))
        (local.set $filled (i32.const 4))
        (loop $fill
          (memory.copy (i32.add (i32.const 65536) (local.get $filled)) (i32.const 65536) (local.get $filled))
          (local.set $filled (i32.shl (local.get $filled) (i32.const 1)))
          (br_if $fill (i32.lt_u (local.get $filled) (i32.const 33554432))))
        (loop $again
          (drop (call $measure (i32.const 65536) (i32.const 33554432)))
          (br $again))
        (unreachable)))
    (core instance $instance (instantiate $module
      (with "" (instance (export "measure" (func $measure))))
      (with "own" (instance $own))))

    (alias core export $instance "memory" (core memory $memory))
    (alias core export $instance "cabi_realloc" (core func $realloc))
    (func $score (param "case" $case) (param "output" $output) (result (result $score (error $error)))
      (canon lift (core func $instance "score") (memory (core memory $memory)) (realloc (core func $realloc))))
    (instance $scoring (export "score" (func $score)))
    (export "eval-host:rubric/scoring@0.1.0" (instance $scoring)))
  (instance $rubric (instantiate $rubric
    (with "eval-host:rubric/types@0.1.0" (instance $types))
    (with "measure" (func $measures "measure"))))
  (export "eval-host:rubric/scoring@0.1.0" (instance $rubric "eval-host:rubric/scoring@0.1.0")))
