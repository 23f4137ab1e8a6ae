-- How reports name an organisation beside its name: a LEI, a number in a register. Whoever builds packs reads both.
alter table account add column identifier text check (length(identifier) between 1 and 200);
grant select (id, name, identifier) on account to docket_exports;
