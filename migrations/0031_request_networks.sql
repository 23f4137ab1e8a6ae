-- Where a key was used from: its organisation sees a use that is not its own. Kept as long as the row.
alter table request add column network text check (length(network) <= 43);
comment on column request.network is 'An address of IPv4, or the /64 of one of IPv6; null where requests counted together came from several.';
