-- The time of integration that an export was asked for; null at an end that was left open, both null where a range of
-- indexes was asked for.
alter table export add column period_from timestamptz(3), add column period_to timestamptz(3);
