-- Whether others have a key is a flag of its own, set by a choice: a reason is free text, and may say "it was not exposed".
alter table api_key add column leaked boolean not null default false;
grant update (leaked) on api_key to docket_api, docket_operator;

-- Until now the words of the last revocation decided. What they said stays, so that support alone restores it, as before.
update api_key set leaked = true
from (
  select distinct on (subject) subject, reason from audit_log
  where action = 'key.revoked' order by subject, at desc, sequence desc
) as revocation
where revocation.subject = api_key.id
  and api_key.state = 'revoked'
  and revocation.reason ~* '\m(leak(s|ed|age)?|compromised|stolen|exposed)\M';
