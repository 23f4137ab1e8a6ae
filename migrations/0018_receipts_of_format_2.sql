-- What receipts of format 2 name beside themselves, and how they are found by their answer's id.

-- What is the same for every request of a deployment: written once, by the statement that commits the first receipt that
-- names it, and never changed. Its name is the multihash of its bytes.
create table derivation (
  digest text collate "C" primary key
    check (digest = 'u' || rtrim(translate(encode('\x1220'::bytea || sha256(body), 'base64'), '+/', '-_'), '=')),
  body bytea not null check (length(body) between 2 and 65535)
);
create trigger derivation_no_change before update or delete on derivation
  for each row execute function ledger_refuse();
create trigger derivation_no_truncate before truncate on derivation
  for each statement execute function ledger_refuse();
grant select, insert on derivation to docket_receipts, docket_recalculation;
grant select on derivation to docket_api, docket_exports, docket_operator;

-- Eight bytes of a hash over the organisation and the id of the answer: callers who know only that id find the receipt by
-- it. What is found is compared with the receipt itself. Revisions have none.
alter table ledger_body add column answer_key bigint;
create index ledger_body_by_answer on ledger_body (answer_key) where answer_key is not null;
