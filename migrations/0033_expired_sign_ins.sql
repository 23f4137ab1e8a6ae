-- Housekeeping removes what is over of persons: sessions, links, invitations, and who never followed the first letter. It reads
-- when something ends and who has a part, and nothing that opens anything.
grant usage on schema persons to docket_housekeeping;
grant delete on persons.session, persons.verification, persons.invitation, persons.person to docket_housekeeping;
grant select (expires_at) on persons.session to docket_housekeeping;
grant select (expires_at) on persons.verification to docket_housekeeping;
grant select (expires_at) on persons.invitation to docket_housekeeping;
grant select (id, email_verified, created_at) on persons.person to docket_housekeeping;
grant select (person_id, org_id) on persons.membership to docket_housekeeping;
grant select (person_id, role) on persons.staff to docket_housekeeping;
