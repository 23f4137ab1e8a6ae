-- What became of one thing, and what was done on some days, is looked up by these: without them a page that finds little reads
-- the whole log of an organisation, and the page of a key is one.
create index audit_log_by_subject on audit_log (org_id, subject, sequence) where subject is not null;
create index audit_log_by_time on audit_log (org_id, at);

-- Keys that are not active any more are kept for ninety days, and there is no end of them: what asks for active ones alone, to
-- issue another or to find the successor of one, looks at those.
create index api_key_active on api_key (org_id, id) where state = 'active';
