;; Follows pointers through all the memory that it gets for ever: each read waits for the one before, is in no cache, and lies
;; in two cache lines. The links are a random cycle over places 128 bytes apart.
(core module $module
  (memory (export "memory") 4096)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func $place (param $node i32) (result i32)
    (i32.add (i32.mul (local.get $node) (i32.const 128)) (i32.const 62)))
  (func $link (local $node i32) (local $next i32)
    (loop $again
      (local.set $next
        (i32.and
          (i32.add (i32.mul (local.get $node) (i32.const 1664525)) (i32.const 1013904223))
          (i32.const 0x1fffff)))
      (i32.store (call $place (local.get $node)) (call $place (local.get $next)))
      (local.set $node (local.get $next))
      (br_if $again (local.get $node))))
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (local $at i32)
    (call $link)
    (local.set $at (call $place (i32.const 0)))
    (loop $again
      (local.set $at (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load
        (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load
          (local.get $at))))))))))))))))))
      (br $again))
    (i32.const 0)))
(core instance $instance (instantiate $module))
