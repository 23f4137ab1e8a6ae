-- Which checkpoint of the anchor log a pack leads to. The anchor grows every few seconds; it is decided
-- once for each checkpoint of a ledger, so that packs of one range at one checkpoint stay the same bytes.

create table export_anchor (
  org_id          text collate "C" not null,
  checkpoint_size bigint not null,
  -- 0 when there was no anchor yet.
  anchor_size     bigint not null check (anchor_size >= 0),
  primary key (org_id, checkpoint_size)
);
grant select, insert on export_anchor to docket_exports;
