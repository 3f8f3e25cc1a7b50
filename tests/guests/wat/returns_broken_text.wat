;; Returns an error whose text is not UTF-8: `internal` with two bytes of 0xff.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (data (i32.const 64) "\01\00\00\00\00\00\00\00\02\00\00\00\80\00\00\00\02\00\00\00")
  (data (i32.const 128) "\ff\ff")
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (i32.const 64)))
(core instance $instance (instantiate $module))
