import type { Command } from 'commander';
import { invalidParam } from '#shared/kernel/errors.ts';
import { named } from '#shared/kernel/plain-text.ts';
import { invitationLetter } from '#shared/persons/letters.ts';
import { createPersonRegistry, type Place } from '#shared/persons/postgres/persons.ts';
import { ORGANISATION_ROLES, STAFF_ROLES } from '#shared/persons/roles.ts';
import { dashboardUrl } from '#cli/dashboard-url.ts';
import { type ActOptions, actorFrom, asOperator, withActOptions } from '#cli/operator.ts';
import { printJson, printTable } from '#cli/print.ts';

interface PlaceOptions extends ActOptions {
  org?: string;
  role?: string;
  staff?: string;
}

/** `docket persons …`: who may sign in to the dashboard. */
export function register(program: Command): void {
  const persons = program.command('persons').description('who may sign in to the dashboard');
  withActOptions(
    withPlace(
      persons
        .command('add <e-mail>')
        .description('let someone in, or change their role; an e-mail says where to sign in')
        .requiredOption('--name <name>', 'the name that others see'),
    ),
  ).action((email: string, options: PlaceOptions & { name: string }) =>
    asOperator(async ({ pool, surroundings, accounts }) => {
      const place = placeFrom(options);
      const to =
        place.kind === 'staff' ? 'the service itself' : (await accounts.get(place.orgId)).name;
      const link = `${await dashboardUrl()}/password/forgot`;
      const person = await createPersonRegistry(pool, surroundings).add(
        { name: options.name, email },
        place,
        await actorFrom(options),
        (added) => invitationLetter(added, place.kind === 'staff' ? to : named(to), link),
      );
      if (options.json === true) printJson(person);
      else process.stdout.write(`${person.email} (${person.id}) is ${place.role} of ${to}\n`);
    }),
  );
  withActOptions(
    withPlace(
      persons
        .command('remove <e-mail>')
        .description('take a part away; it holds from the next request on'),
    ),
  ).action((email: string, options: PlaceOptions) =>
    asOperator(async ({ pool, surroundings }) => {
      const place = options.org === undefined ? placeFrom(options) : orgFrom(options.org);
      await createPersonRegistry(pool, surroundings).remove(email, place, await actorFrom(options));
      if (options.json === true) printJson({ removed: email });
      else process.stdout.write(`${email} is removed\n`);
    }),
  );
  withActOptions(
    persons
      .command('reset-second-factor <e-mail>')
      .description(
        'for someone who has lost app, recovery codes and passkeys; ends their sessions, and an e-mail tells them',
      ),
    { asksReason: true },
  ).action((email: string, options: ActOptions) =>
    asOperator(async ({ pool, surroundings }) => {
      await createPersonRegistry(pool, surroundings).removeSecondFactor(
        email,
        await actorFrom(options),
      );
      if (options.json === true) printJson({ reset: email });
      else process.stdout.write(`${email} signs in anew, with the password alone\n`);
    }),
  );
  persons
    .command('list')
    .description('members of an organisation')
    .requiredOption('--org <org-id>', 'the organisation')
    .option('--json', 'for programs')
    .action(({ org, json }: { org: string; json?: boolean }) =>
      asOperator(async ({ pool, surroundings }) => {
        const members = await createPersonRegistry(pool, surroundings).members(org);
        if (json === true) printJson(members);
        else {
          const rows = members.map(({ id, name, email, role }) => ({ id, name, email, role }));
          printTable(rows, 'No members.');
        }
      }),
    );
}

function withPlace(command: Command): Command {
  return command
    .option('--org <org-id>', 'the organisation')
    .option('--role <role>', `in the organisation: ${ORGANISATION_ROLES.join(', ')}`)
    .option('--staff <role>', `for the service itself: ${STAFF_ROLES.join(', ')}`);
}

function orgFrom(orgId: string): Extract<Place, { kind: 'organisation' }> {
  return { kind: 'organisation', orgId, role: 'member' };
}

function placeFrom({ org, role, staff }: PlaceOptions): Place {
  const staffRole = STAFF_ROLES.find((known) => known === staff);
  if (staffRole !== undefined && org === undefined) return { kind: 'staff', role: staffRole };
  const orgRole = ORGANISATION_ROLES.find((known) => known === role);
  if (org !== undefined && orgRole !== undefined && staff === undefined) {
    return { ...orgFrom(org), role: orgRole };
  }
  throw invalidParam(
    'role',
    `Name an organisation with one of the roles ${ORGANISATION_ROLES.join(', ')}, or --staff with one of ${STAFF_ROLES.join(', ')}.`,
  );
}
