;; Implements a newer major version of the contract.
(component
  (import "eval-host:rubric/types@1.0.0" (instance))
  (instance $scoring)
  (export "eval-host:rubric/scoring@1.0.0" (instance $scoring)))
