-- Requests whose intervals are not settled are few, and looked for every ten seconds among all that ever ran on a meter.
create index metered_request_unsettled on metered_request (receipt_id) where state = 'waiting';
