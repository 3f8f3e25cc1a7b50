;; Implements a newer minor version of the contract.
(component
  (import "eval-host:rubric/types@0.2.0" (instance))
  (instance $scoring)
  (export "eval-host:rubric/scoring@0.2.0" (instance $scoring)))
