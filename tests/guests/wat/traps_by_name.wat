;; Ends three calls deep, in functions that have names, one of which would clear a terminal.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func $_ZN9my_rubric6divide17h0123456789abcdefE (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
  (func $"clear\1b[2J" (result i32) (call $_ZN9my_rubric6divide17h0123456789abcdefE))
  (func $judge (export "score")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (call $"clear\1b[2J")))
(core instance $instance (instantiate $module))
