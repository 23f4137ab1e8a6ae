-- What became of one thing, and what was done on some days, is looked up by these: without them a page that finds little reads
-- the whole log of an organisation, and the page of a key is one.
create index audit_log_by_subject on audit_log (org_id, subject, sequence) where subject is not null;
create index audit_log_by_time on audit_log (org_id, at);
