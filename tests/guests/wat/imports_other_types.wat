;; Asks for what is granted, by another type than it has.
(import "wasi:random/random@0.2.6" (instance (export "get-random-u64" (func (result string)))))
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32) (i32.const 0)))
(core instance $instance (instantiate $module))
