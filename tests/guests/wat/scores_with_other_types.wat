;; Exports an interface of the right name whose `score` is another function.
(component
  (core module $module (func (export "score") (result i32) (i32.const 1)))
  (core instance $instance (instantiate $module))
  (func $score (result u32) (canon lift (core func $instance "score")))
  (instance $scoring (export "score" (func $score)))
  (export "eval-host:rubric/scoring@0.1.0" (instance $scoring)))
