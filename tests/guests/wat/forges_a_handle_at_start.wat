;; Uses a handle that it was never given, before anybody calls it.
(import "wasi:io/poll@0.2.0" (instance $poll
  (export "pollable" (type $pollable (sub resource)))
  (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
(alias export $poll "[method]pollable.block" (func $block))
(core func $block-core (canon lower (func $block)))
(core module $module
  (import "" "block" (func $block (param i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func $start (call $block (i32.const 99)))
  (start $start)
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (i32.const 0)))
(core instance $instance (instantiate $module (with "" (instance (export "block" (func $block-core))))))
