-- In the playground of the dashboard, members try models. Its requests count by a key of their own for each person and
-- organisation. The hash of such a key is random, and of no text: there is no secret that could be shown, or used elsewhere.
alter table api_key add column playground_of text check (playground_of like 'usr\_%');
comment on column api_key.playground_of is 'The person whose playground has this key; null for keys that programs use.';
create unique index api_key_of_playground on api_key (org_id, playground_of)
  where playground_of is not null and state = 'active';
create index api_key_playgrounds on api_key (org_id, id) where playground_of is not null;

-- Whether an organisation has a playground, which its owners decide.
alter table account add column playground boolean not null default true;
