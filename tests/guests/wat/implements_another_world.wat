;; A component that is no rubric.
(component
  (core module $module (func (export "run") (result i32) (i32.const 0)))
  (core instance $instance (instantiate $module))
  (func $run (result (result)) (canon lift (core func $instance "run")))
  (instance $exported (export "run" (func $run)))
  (export "wasi:cli/run@0.2.6" (instance $exported)))
