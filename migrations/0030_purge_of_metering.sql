-- The purge forgets who ran on metered endpoints once their time is over. Which energy was whose stays in the intervals,
-- which receipts name by digest.
create index metered_request_settled on metered_request (ended_at) where state in ('measured', 'unmeasured');
grant select (receipt_id, state, ended_at), update (weight), delete on metered_request to docket_purge;
grant select (endpoint, read_at), update (accelerators), delete on meter_reading to docket_purge;
