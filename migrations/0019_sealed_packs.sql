-- What was sealed, kept longer than packs and their exports: a report names packs of before, with the figures that they state.
create table sealed_pack (
  org_id          text collate "C" not null,
  -- Multihash of the seal's exact bytes: packs of one range at one checkpoint may differ in their anchor, or in names.
  seal            text not null,
  name            text not null,
  first_index     bigint not null,
  last_index      bigint not null,
  checkpoint_size bigint not null,
  generation      integer not null,
  -- As the seal states them, in JSON.
  totals          text not null,
  sealed_at       timestamptz(3) not null default now(),
  primary key (org_id, seal),
  check (first_index between 0 and last_index and last_index < checkpoint_size)
);
create index sealed_pack_by_end on sealed_pack (org_id, generation, last_index);

grant select, insert on sealed_pack to docket_exports;
