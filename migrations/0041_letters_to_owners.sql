-- Owners hear of their account beside its contacts: who has applied need not be one. Screening, which tells most outcomes, runs
-- in housekeeping.
grant select (role) on persons.membership to docket_housekeeping;
grant select (email) on persons.person to docket_housekeeping;
