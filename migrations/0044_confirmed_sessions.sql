-- When the person of a session last showed the strongest proof that they have. A fact of its own: sessions are also opened by
-- less, and anew by acts that show less. Sessions from before are asked once.
alter table persons.session add column confirmed_at timestamptz(3);

-- Who has lost every device gets in by the password alone again, by an operator.
grant delete, select (person_id) on persons.passkey to docket_operator;
