;; Calculates for ever, by the slowest operators that there are, each on what the one before gave. The first letter of what is
;; asked says which.
(core module $module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "score")
    (param i32 i32 i32 i32 i32 i32 i32) (param $json i32) (param i32 f64 f64) (result i32)
    (local $asked i32) (local $f f64) (local $i i64) (local $v v128)
    (local.set $f (f64.const 3.7e100))
    (local.set $asked (i32.load8_u offset=7 (local.get $json)))
    ;; s: f64.sqrt
    (if (i32.eq (local.get $asked) (i32.const 115)) (then (loop $again
      (local.set $f (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (local.get $f))))))))))))))))))
      (br $again))))
    ;; d: f64.div
    (if (i32.eq (local.get $asked) (i32.const 100)) (then (loop $again
      (local.set $f (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (f64.div (f64.const 1.000001) (local.get $f))))))))))))))))))
      (br $again))))
    ;; i: i64.div_s
    (if (i32.eq (local.get $asked) (i32.const 105)) (then (loop $again
      (local.set $i (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.div_s (i64.const -7205759403792793600) (i64.or (local.get $i) (i64.const 1)))))))))))))))))))
      (br $again))))
    ;; n: f64.nearest
    (if (i32.eq (local.get $asked) (i32.const 110)) (then (loop $again
      (local.set $f (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (f64.nearest (local.get $f))))))))))))))))))
      (br $again))))
    ;; v: f64x2.sqrt
    (if (i32.eq (local.get $asked) (i32.const 118)) (then (loop $again
      (local.set $v (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (f64x2.sqrt (local.get $v))))))))))))))))))
      (br $again))))
    ;; t: i32x4.trunc_sat_f32x4_u
    (if (i32.eq (local.get $asked) (i32.const 116)) (then (loop $again
      (local.set $v (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (i32x4.trunc_sat_f32x4_u (local.get $v))))))))))))))))))
      (br $again))))
    (unreachable)))
(core instance $instance (instantiate $module))
