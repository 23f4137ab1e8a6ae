-- A code of an app opens one door once (RFC 6238, 5.2): of each person the time step of the last code that was taken is kept,
-- and only codes of later ones are taken. It goes with the secret.
alter table persons.two_factor add column last_step integer;
