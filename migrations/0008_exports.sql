-- Evidence packs that callers ask for. The rows are the queue: a job that is lost is found here again.

create table export (
  id              text collate "C" primary key,
  org_id          text collate "C" not null,
  status          text not null default 'queued' check (status in ('queued', 'running', 'ready', 'failed', 'expired')),
  first_index     bigint not null,
  last_index      bigint not null,
  -- The signed checkpoint that the pack leads to: fixed when it is asked for, so that every run builds the same bytes.
  checkpoint_size bigint not null,
  -- The tree of the log that this checkpoint is a head of: a later one than the first after a declared loss.
  generation      integer not null default 1,
  done            bigint not null default 0,
  -- The run that may write here, and when it last did. A run that falls silent loses its place.
  run_id          text,
  run_at          timestamptz(3),
  runs            integer not null default 0,
  -- Until when it waits for others to attest the anchor, without a run.
  not_before      timestamptz(3),
  -- Of a finished pack: whether its anchor has all that the service asks others to attest.
  is_attested     boolean,
  size_bytes      bigint,
  sha256          text check (length(sha256) = 64),
  error_code      text,
  error_message   text,
  created_at      timestamptz(3) not null default now(),
  started_at      timestamptz(3),
  finished_at     timestamptz(3),
  expires_at      timestamptz(3),
  deleted_at      timestamptz(3),
  -- Set when the store holds nothing of it any more.
  removed_at      timestamptz(3),
  -- The time of integration that it was asked for; null at an end that was left open, both null where a range of indexes
  -- was asked for.
  period_from     timestamptz(3),
  period_to       timestamptz(3),
  check (first_index between 0 and last_index and last_index < checkpoint_size),
  check ((status = 'running') = (run_id is not null)),
  check (status <> 'ready' or num_nulls(size_bytes, sha256, expires_at) = 0),
  check ((status = 'failed') = (error_code is not null))
);
create index export_by_org on export (org_id, id) where deleted_at is null;
create index export_due on export (id) where deleted_at is null and status in ('queued', 'running');
-- Whose turn it is: when an organisation's last export was begun.
create index export_turn on export (org_id, started_at);
create index export_expiring on export (expires_at) where status = 'ready';
create index export_unremoved on export (id) where removed_at is null and (status in ('expired', 'failed') or deleted_at is not null);

-- Which checkpoint of the anchor log a pack leads to. The anchor grows every few seconds; it is decided
-- once for each checkpoint of a ledger, so that packs of one range at one checkpoint stay the same bytes, and anew when
-- others have attested a better one.
create table export_anchor (
  org_id          text collate "C" not null,
  checkpoint_size bigint not null,
  -- 0 when there was no anchor yet.
  anchor_size     bigint not null check (anchor_size >= 0),
  primary key (org_id, checkpoint_size)
);

grant select, insert on export to docket_api, docket_operator;
grant update (status, run_id, run_at, error_code, error_message, deleted_at) on export to docket_api, docket_operator;
grant select, update, delete on export to docket_exports;
grant select on export to docket_housekeeping;
grant select, insert, update (anchor_size) on export_anchor to docket_exports;
