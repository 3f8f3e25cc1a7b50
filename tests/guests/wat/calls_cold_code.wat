;; Calls 20 000 functions for ever, in an order in which none is near the one before.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
;;REPEAT 20000
  (func $f{i})
;;END
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (loop $again
;;REPEAT 20000
      (call $f{p})
;;END
      (br $again))
    (i32.const 0)))
(core instance $instance (instantiate $module))
