import { join } from 'node:path';
import type { Pool } from 'pg';

/** The committed description; a test compares it with what the migrations make. */
export const SCHEMA_FILE = join(import.meta.dirname, '../../migrations/schema.sql');

const HEADING = `-- What the migrations make: written by "npm run schema:dump", never by hand, for reading only.
-- Partitions are left out: housekeeping makes them as time passes.
`;

/** Everything of the product, and the persons who sign in to the dashboard. */
export const SCHEMAS = ['public', 'persons'] as const;

/** One query per kind of thing, in the schema that it is given; each returns `text`, in an order that depends on names alone. */
const SECTIONS: readonly string[] = [
  // Enumerated types
  `select format('create type %I as enum (%s);', t.typname,
            string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)) as text
     from pg_type t join pg_enum e on e.enumtypid = t.oid
    where t.typnamespace = $1::regnamespace
    group by t.typname order by t.typname collate "C"`,
  // Sequences that no column owns
  `select format('create sequence %I;', c.relname) as text
     from pg_class c
    where c.relkind = 'S' and c.relnamespace = $1::regnamespace
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i'))
    order by c.relname collate "C"`,
  // Tables with their columns, then their constraints
  `select format(E'create %stable %I (\\n%s\\n)%s;', case c.relpersistence when 'u' then 'unlogged ' end, c.relname,
            (select string_agg('  ' || line, E',\\n' order by kind, place) from (
               select 1 as kind, a.attnum::text::numeric as place,
                      concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
                        case when a.attnotnull then 'not null' end,
                        case when a.attidentity <> '' then 'generated '
                          || case a.attidentity when 'a' then 'always' else 'by default' end
                          || ' as identity' end,
                        case when a.attgenerated <> '' then format('generated always as (%s) %s',
                               pg_get_expr(d.adbin, d.adrelid),
                               case a.attgenerated when 's' then 'stored' else 'virtual' end)
                             when d.adbin is not null then
                               'default ' || pg_get_expr(d.adbin, d.adrelid) end) as line
                 from pg_attribute a
                 left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
               union all
               select 2, row_number() over (order by k.conname collate "C"),
                      format('constraint %I %s', k.conname, pg_get_constraintdef(k.oid))
                 from pg_constraint k
                where k.conrelid = c.oid and k.contype <> 'n'
            ) lines),
            concat(' partition by ' || pg_get_partkeydef(c.oid),
                   ' with (' || array_to_string(c.reloptions, ', ') || ')')) as text
     from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition
      and c.relnamespace = $1::regnamespace
    order by c.relname collate "C"`,
  // Indexes that no constraint made
  `select pg_get_indexdef(i.indexrelid) || ';' as text
     from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = $1::regnamespace and not c.relispartition
      and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
    order by c.relname collate "C"`,
  // Views
  `select format(E'create %s %I as\\n%s', case relkind when 'v' then 'view' else 'materialized view' end,
            relname, pg_get_viewdef(oid, true)) as text
     from pg_class
    where relkind in ('v', 'm') and relnamespace = $1::regnamespace
    order by relname collate "C"`,
  // Functions and procedures
  `select rtrim(pg_get_functiondef(oid), E'\\n') || ';' as text
     from pg_proc
    where pronamespace = $1::regnamespace and prokind in ('f', 'p')
    order by proname collate "C", pg_get_function_identity_arguments(oid) collate "C"`,
  // Triggers; those of partitions are copies
  `select pg_get_triggerdef(t.oid) || ';' as text
     from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where not t.tgisinternal and t.tgparentid = 0 and c.relnamespace = $1::regnamespace
      and not c.relispartition
    order by c.relname collate "C", t.tgname collate "C"`,
  // Row-level security
  `select format('create policy %I on %I for %s to %s%s%s;', policyname, tablename, lower(cmd),
            array_to_string(roles, ', '), ' using (' || qual || ')',
            ' with check (' || with_check || ')') as text
     from pg_policies where schemaname = $1
    order by tablename collate "C", policyname collate "C"`,
  // Who may look into the schema
  `select format('grant %s on schema %I to %s;', lower(x.privilege_type), n.nspname, r.rolname) as text
     from pg_namespace n cross join lateral aclexplode(n.nspacl) x
     join pg_roles r on r.oid = x.grantee
    where n.oid = $1::regnamespace and n.nspname <> 'public' and x.grantee <> n.nspowner
    order by r.rolname collate "C", x.privilege_type collate "C"`,
  // Grants of each role on tables and sequences
  `select format('grant %s on %I to %s;',
            string_agg(lower(a.privilege_type), ', ' order by a.privilege_type collate "C"),
            c.relname, r.rolname) as text
     from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
    where c.relnamespace = $1::regnamespace and not c.relispartition
      and a.grantee <> c.relowner
    group by c.relname, r.rolname order by c.relname collate "C", r.rolname collate "C"`,
  // … with single columns
  `select format('grant %s (%s) on %I to %s;', lower(x.privilege_type),
            string_agg(quote_ident(a.attname), ', ' order by a.attnum), c.relname, r.rolname) as text
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     cross join lateral aclexplode(a.attacl) x
     join pg_roles r on r.oid = x.grantee
    where c.relnamespace = $1::regnamespace and not c.relispartition
    group by c.relname, r.rolname, x.privilege_type
    order by c.relname collate "C", r.rolname collate "C", x.privilege_type collate "C"`,
  // … and with functions. Public is everyone.
  `select format('grant execute on function %s(%s) to %s;', p.proname,
            pg_get_function_identity_arguments(p.oid), coalesce(r.rolname, 'public')) as text
     from pg_proc p cross join lateral aclexplode(p.proacl) x
     left join pg_roles r on r.oid = x.grantee
    where p.pronamespace = $1::regnamespace and x.grantee <> p.proowner
    order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C",
             r.rolname collate "C"`,
];

/** A database's schema as text that is the same for the same schema on every server. */
export async function describeSchema(pool: Pool): Promise<string> {
  const parts: string[] = [HEADING];
  for (const schema of SCHEMAS) {
    if (schema !== 'public') parts.push(`-- In the schema ${schema}\n`);
    for (const section of SECTIONS) {
      const { rows } = await pool.query<{ text: string }>(section, [schema]);
      // Tables and functions are blocks of their own, short statements stand in lines below each other.
      const gap = rows.some(({ text }) => text.includes('\n')) ? '\n\n' : '\n';
      if (rows.length > 0) parts.push(`${rows.map(({ text }) => text).join(gap)}\n`);
    }
  }
  return parts.join('\n');
}
