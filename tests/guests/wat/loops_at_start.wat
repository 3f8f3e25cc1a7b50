;; Never gets through its start function, which runs before anybody calls it.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func $start (loop $again (br $again)))
  (start $start)
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (i32.const 0)))
(core instance $instance (instantiate $module))
