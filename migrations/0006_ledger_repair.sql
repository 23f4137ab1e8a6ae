-- What a person may do after looking: let a halted log go on, and give a receipt in quarantine another try.
-- Both are acts of an operator and stand in the audit log.
grant update (halted_at, halt_reason) on ledger_head to docket_operator;
grant delete on ledger_quarantine to docket_operator;
grant insert on receipt_pending to docket_operator;
