;; Makes handles of a resource of its own for ever, which costs the host memory without a host call of ours.
(type $own (resource (rep i32)))
(core func $new (canon resource.new $own))
(core module $module
  (import "" "new" (func $new (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 f64 f64) (result i32)
    (loop $again (drop (call $new (i32.const 0))) (br $again))
    (i32.const 0)))
(core instance $instance (instantiate $module (with "" (instance (export "new" (func $new))))))
