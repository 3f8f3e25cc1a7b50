;; An instruction whose result depends on the machine.
(core module $module
  (func (result v128) (i32x4.relaxed_trunc_f32x4_s (v128.const f32x4 0 0 0 0)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32) (i32.const 0)))
(core instance $instance (instantiate $module))
