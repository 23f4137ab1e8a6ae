-- An attempt at a password is no reason to wait for a disk, nor to have receipts wait for it. After a crash of PostgreSQL
-- attempts are counted anew.
alter table persons.rate set unlogged;
