;; Writes all over its memory for ever, across the borders of pages.
(core module $module
  (memory (export "memory") 4096)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (local $random i32)
    (local.set $random (i32.const 1))
    (loop $again
      (local.set $random (i32.mul (local.get $random) (i32.const 0x915f77f5)))
      (i64.store
        (i32.or (i32.shl (i32.shr_u (local.get $random) (i32.const 17)) (i32.const 13)) (i32.const 4092))
        (i64.const 0))
      (br $again))
    (i32.const 0)))
(core instance $instance (instantiate $module))
