;;; A phase for build systems of Guix: the build fails if the outputs have findings.
;;;   #:linkaudit-flags '("--policy" "linkaudit.toml")   allows one finding, with a [[waive]] entry
;;;   #:audit-linkage? #f                                turns it off
(define-module (linkaudit phase)
  #:use-module (guix build utils)
  #:use-module (ice-9 match)
  #:use-module (srfi srfi-1)
  #:export (audit-linkage))

(define* (audit-linkage #:key outputs (audit-linkage? #t) (linkaudit-flags '())
                        #:allow-other-keys)
  "Audit all outputs but \"debug\".  `invoke' raises an exception unless the status is 0."
  (when audit-linkage?
    (let ((directories (filter-map (match-lambda
                                     (("debug" . _) #f)
                                     ((_ . directory) directory))
                                   outputs)))
      (apply invoke "linkaudit" "--isolated" "--policy" "guix"
             (append linkaudit-flags directories))))
  #t)
