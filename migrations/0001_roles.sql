-- One role per process, so that each can do only what its work needs; later files grant to them.
-- The owner of the schema logs in and steps down: it must be a member of each.
-- Roles belong to the whole cluster, and other databases of it may be migrating at this moment: a
-- role, or a grant, that another has just made is as good as our own, and a collision is tried again.

do $$
declare
  wanted constant text[] := array[
    'docket_api', 'docket_receipts', 'docket_ledger', 'docket_recalculation', 'docket_exports',
    'docket_purge', 'docket_housekeeping', 'docket_operator'];
  role_name text;
begin
  foreach role_name in array wanted loop
    for attempt in 1..20 loop
      begin
        if not exists (select from pg_roles where rolname = role_name) then
          execute format('create role %I nologin', role_name);
        end if;
        -- Since 16 a grant says what it is for; before, a member may always step down.
        if current_setting('server_version_num')::integer < 160000 then
          if not pg_has_role(current_user, role_name, 'member') then
            execute format('grant %I to current_user', role_name);
          end if;
        elsif not pg_has_role(current_user, role_name, 'set') then
          execute format('grant %I to current_user with set true, inherit false', role_name);
        end if;
        exit;
      exception
        -- internal_error is what PostgreSQL says to two grants of one role ("tuple concurrently updated").
        when duplicate_object or unique_violation or internal_error then
          if attempt = 20 then raise; end if;
          perform pg_sleep(0.05 * random());
      end;
    end loop;
  end loop;
end
$$;

-- Every process and the doctor can see which migrations the database has.
grant select on schema_migration to
  docket_api, docket_receipts, docket_ledger, docket_recalculation, docket_exports, docket_purge,
  docket_housekeeping, docket_operator;
