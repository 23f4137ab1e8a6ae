-- The id of an answer holds the ULID of its request and so names its receipt: nothing is looked up by a hash of it any more.
alter table ledger_body drop column answer_key;
