-- The endpoints first, as each act on one and each note of an attempt does: in the other order an organisation that closes
-- while a message of it is noted waits for that in a circle, and is not closed.
create or replace function forget_webhooks() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
begin
  delete from webhook_endpoint where org_id = new.id;
  delete from webhook_delivery where org_id = new.id;
  return null;
end $$;
