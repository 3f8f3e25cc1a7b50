;; Does nothing but what wasmtime implements by functions of its own, for ever. The first letter of what is asked says which.
(core module $module
  (memory (export "memory") 1 1)
  (table $table 64 64 funcref)
  (global $one (mut i32) (i32.const 1))
  (func $function)
  (elem $functions func $function)
  (elem $initial func $function)
  (data $bytes "bytes")
  (data $dropped "bytes")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score")
    (param i32 i32 i32 i32 i32 i32 i32) (param $json i32) (param i32 f64 f64) (result i32)
    (local $asked i32)
    (local.set $asked (i32.load8_u offset=7 (local.get $json)))
    ;; 0: memory.grow by nothing
    (if (i32.eq (local.get $asked) (i32.const 48)) (then (loop $again (drop (memory.grow (i32.const 0))) (br $again))))
    ;; 1: memory.grow that is refused
    (if (i32.eq (local.get $asked) (i32.const 49)) (then (loop $again (drop (memory.grow (i32.const 1))) (br $again))))
    ;; 2: table.grow by nothing
    (if (i32.eq (local.get $asked) (i32.const 50)) (then (loop $again (drop (table.grow $table (ref.null func) (i32.const 0))) (br $again))))
    ;; 3: table.grow that is refused
    (if (i32.eq (local.get $asked) (i32.const 51)) (then (loop $again (drop (table.grow $table (ref.null func) (i32.const 1))) (br $again))))
    ;; 4: ref.func
    (if (i32.eq (local.get $asked) (i32.const 52)) (then (loop $again (drop (ref.func $function)) (br $again))))
    ;; 5: elem.drop
    (if (i32.eq (local.get $asked) (i32.const 53)) (then (loop $again (elem.drop $functions) (br $again))))
    ;; 6: table.set
    (if (i32.eq (local.get $asked) (i32.const 54)) (then (loop $again (table.set $table (i32.const 1) (ref.func $function)) (br $again))))
    ;; 7: table.get
    (if (i32.eq (local.get $asked) (i32.const 55)) (then (loop $again (drop (table.get $table (i32.const 1))) (br $again))))
    ;; 8: table.fill
    (if (i32.eq (local.get $asked) (i32.const 56)) (then (loop $again (table.fill $table (i32.const 0) (ref.null func) (global.get $one)) (br $again))))
    ;; 9: table.copy
    (if (i32.eq (local.get $asked) (i32.const 57)) (then (loop $again (table.copy $table $table (i32.const 0) (i32.const 1) (global.get $one)) (br $again))))
    ;; a: table.init
    (if (i32.eq (local.get $asked) (i32.const 97)) (then (loop $again (table.init $table $initial (i32.const 0) (i32.const 0) (global.get $one)) (br $again))))
    ;; b: memory.fill
    (if (i32.eq (local.get $asked) (i32.const 98)) (then (loop $again (memory.fill (i32.const 0) (i32.const 0) (global.get $one)) (br $again))))
    ;; c: memory.copy
    (if (i32.eq (local.get $asked) (i32.const 99)) (then (loop $again (memory.copy (i32.const 0) (i32.const 1) (global.get $one)) (br $again))))
    ;; d: memory.init
    (if (i32.eq (local.get $asked) (i32.const 100)) (then (loop $again (memory.init $bytes (i32.const 0) (i32.const 0) (global.get $one)) (br $again))))
    ;; e: data.drop
    (if (i32.eq (local.get $asked) (i32.const 101)) (then (loop $again (data.drop $dropped) (br $again))))
    (unreachable)))
(core instance $instance (instantiate $module))
