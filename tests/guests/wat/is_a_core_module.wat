;; What `wasm32-wasip1` builds.
(module (func (export "score")))
