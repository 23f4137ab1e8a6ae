-- Whether others have a key is a flag of its own, set by a choice: a reason is free text, and may say "it was not exposed".
alter table api_key add column leaked boolean not null default false;
grant update (leaked) on api_key to docket_api, docket_operator;
