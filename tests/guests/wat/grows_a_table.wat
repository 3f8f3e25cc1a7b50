;; Grows a table until it is stopped.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (table $table 1 funcref)
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (loop $again (drop (table.grow $table (ref.null func) (i32.const 1000))) (br $again))
    (i32.const 0)))
(core instance $instance (instantiate $module))
