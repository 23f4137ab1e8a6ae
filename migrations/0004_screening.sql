-- Sanctions lists as they were imported, and the letters that wait to be sent.

-- One row per imported version. Old versions stay, so that an old screening can be understood.
create table sanctions_list (
  id           bigint generated always as identity primary key,
  source       text not null check (source in ('ofac_sdn', 'eu', 'un', 'opensanctions')),
  -- SHA-256 of the file: the same file is the same version.
  version      text not null check (version ~ '^[0-9a-f]{64}$'),
  file_name    text not null,
  -- What the list says of itself, where it does.
  published_on text,
  entities     integer not null,
  names        integer not null,
  imported_by  text not null,
  imported_at  timestamptz(3) not null,
  current      boolean not null default false,
  unique (source, version)
);
create unique index sanctions_list_one_current on sanctions_list (source) where current;

create table sanctions_name (
  list_id   bigint not null references sanctions_list (id),
  -- Position in the file; a party may appear in it twice.
  ordinal   integer not null,
  entity_id text not null,
  name      text not null,
  kind      text not null check (kind in ('person', 'organisation', 'other')),
  weak      boolean not null,
  programme text not null,
  countries text[] not null,
  primary key (list_id, ordinal)
);

-- Letters are written in the transaction of the act they tell of, and sent afterwards: an act that is
-- rolled back tells nobody, and a mail server that is away delays a letter but loses none.
create table mail_outbox (
  id              bigint generated always as identity primary key,
  organisation_id text references account (id),
  recipient       text not null,
  subject         text not null,
  body            text not null,
  -- Set where a letter must not be written twice (a warning that a job repeats).
  once            text unique,
  created_at      timestamptz(3) not null,
  attempts        integer not null default 0,
  next_attempt_at timestamptz(3) not null,
  sent_at         timestamptz(3),
  failed_at       timestamptz(3)
);
create index mail_outbox_due on mail_outbox (next_attempt_at) where sent_at is null and failed_at is null;

grant select, insert, update on sanctions_list to docket_operator;
grant insert on sanctions_name to docket_operator;
grant select on sanctions_list, sanctions_name to docket_api, docket_operator, docket_housekeeping;
grant insert on mail_outbox to docket_api, docket_operator, docket_housekeeping, docket_purge, docket_exports;
grant select, update, delete on mail_outbox to docket_housekeeping;
-- `on conflict (once) do nothing` reads the column it compares.
grant select (once) on mail_outbox to docket_api, docket_operator, docket_purge, docket_exports;
