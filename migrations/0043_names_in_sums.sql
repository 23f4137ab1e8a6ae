-- Whether an organisation has ever had receipts of a model, in a region or by a key is asked of these indexes before a list
-- that is filtered by one is read: a name that was never used would otherwise have all of its sums read. Rows are added once
-- a day and name, so that keeping them costs next to nothing.
create index usage_day_by_model on usage_day (org_id, model);
create index usage_day_by_region on usage_day (org_id, region);
create index usage_day_by_key on usage_day (org_id, key_id);
