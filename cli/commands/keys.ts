import type { Command } from 'commander';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';
import { describeKey, displayText, type KeyDescription } from '#shared/keys/describe.ts';
import { hashOfReport } from '#shared/keys/format.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { isLeak, type KeyRequest } from '#shared/keys/rules.ts';
import type { IssuedKey } from '#shared/keys/postgres/keys.ts';
import { actorFrom, asOperator, type OperatorDeps } from '#cli/operator.ts';
import { printFields, printJson, printTable, time, type Row } from '#cli/print.ts';

/** The longest line that can hold a key or its hash; more is a file sent by mistake. */
const SECRET_LINE_MAX = 1_024;
const PAGE = 100;

interface Common {
  org: string;
  actor: string;
  reason?: string;
  json?: boolean;
}

interface GrantOptions extends Common {
  name?: string;
  scopes?: string;
  expires?: string;
  rps?: string;
  burst?: string;
}

/** `docket keys …`: what support and operators do to keys. */
export function register(program: Command): void {
  const keys = program.command('keys').description('API keys of an organisation');
  registerGrants(keys);
  registerStates(keys);
  keys
    .command('list')
    .description('list an organisation’s keys, newest first')
    .requiredOption('--org <id>', 'organisation')
    .option('--json', 'for programs')
    .action((options: Pick<Common, 'org' | 'json'>) => asOperator((deps) => list(deps, options)));
}

function registerGrants(keys: Command): void {
  const grantOptions = (command: Command): Command =>
    command
      .requiredOption('--org <id>', 'organisation')
      .requiredOption('--actor <who>', 'operator:<name> or support:<ticket>')
      .option('--name <name>', 'what the key is for')
      .option('--scopes <list>', 'scopes, separated by commas')
      .option('--expires <time>', 'expiry, ISO 8601 (plans audit_plus and enterprise)')
      .option('--json', 'for programs');
  grantOptions(keys.command('issue').description('issue a key; it is shown this one time'))
    .option('--rps <n>', 'requests per second of this key alone')
    .option('--burst <n>', 'burst of this key alone (four seconds of --rps)')
    .action((options: GrantOptions) =>
      asOperator(async ({ keys: registry }) => {
        const request = { name: options.name ?? 'Issued by support', ...requestFrom(options) };
        printIssued(
          await registry.issue(options.org, request, actorFrom(options.actor)),
          options.json,
        );
      }),
    );
  grantOptions(keys.command('rotate <key-id>').description('issue a successor of a key')).action(
    (keyId: string, options: GrantOptions) =>
      asOperator(async ({ keys: registry }) => {
        const actor = actorFrom(options.actor);
        const issued = await registry.rotate(options.org, keyId, requestFrom(options), actor);
        printIssued(issued, options.json);
      }),
  );
}

function registerStates(keys: Command): void {
  keys
    .command('revoke [key-id]')
    .description('revoke a key, or with --leaked the key (or its SHA-256) given on standard input')
    .option('--org <id>', 'organisation; not needed with --leaked')
    .requiredOption('--actor <who>', 'operator:<name> or support:<ticket>')
    .option('--reason <text>', 'why')
    .option('--leaked', 'read the key or its hash from standard input, never from the arguments')
    .option('--json', 'for programs')
    .action((keyId: string | undefined, options: Partial<Common> & RevokeOptions) =>
      asOperator((deps) => revoke(deps, keyId, options)),
    );
  keys
    .command('restore <key-id>')
    .description('undo a revocation within 90 days')
    .requiredOption('--org <id>', 'organisation')
    .requiredOption('--actor <who>', 'operator:<name> or support:<ticket>')
    .option('--reason <text>', 'why')
    .option('--json', 'for programs')
    .action((keyId: string, options: Common) =>
      asOperator(async ({ keys: registry }) => {
        const actor = actorFrom(options.actor);
        printKey(await registry.restore(options.org, keyId, actor, options.reason), options.json);
      }),
    );
}

interface RevokeOptions {
  actor: string;
  leaked?: boolean;
}

async function revoke(
  { keys }: OperatorDeps,
  keyId: string | undefined,
  options: Partial<Common> & RevokeOptions,
): Promise<void> {
  const actor = actorFrom(options.actor);
  if (options.leaked === true) {
    const found = await keys.findByHash(await readLeakedHash());
    if (found === null) throw new Fault('key_not_found');
    if (options.org !== undefined && options.org !== found.orgId) throw new Fault('key_not_found');
    const { reason: why } = options;
    const reason = why === undefined ? 'leaked' : isLeak(why) ? why : `leaked: ${why}`;
    printKey(await keys.revoke(found.orgId, found.id, actor, reason), options.json);
    return;
  }
  if (keyId === undefined || options.org === undefined) {
    throw new Fault('invalid_key', { message: 'Name the key and --org, or use --leaked.' });
  }
  printKey(await keys.revoke(options.org, keyId, actor, options.reason), options.json);
}

/** Arguments end up in shell histories and process lists; standard input does not. */
async function readLeakedHash(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.length > SECRET_LINE_MAX) break;
  }
  const hash = hashOfReport(text);
  if (hash !== null) return hash;
  throw new Fault('invalid_key', { message: 'Standard input holds neither a key nor a SHA-256.' });
}

async function list(
  { accounts, keys }: OperatorDeps,
  options: Pick<Common, 'org' | 'json'>,
): Promise<void> {
  // An organisation without keys is not one that does not exist.
  await accounts.get(options.org);
  const found: KeyRecord[] = [];
  for (let after: string | undefined; ; after = found.at(-1)?.id) {
    const cursor = after === undefined ? {} : { after };
    const page = await keys.list({
      orgId: options.org,
      limit: PAGE,
      order: 'desc',
      ...cursor,
    });
    found.push(...page.items);
    if (!page.hasMore) break;
  }
  if (options.json === true) printJson(found.map(described));
  else printTable(found.map(rowOf), 'No keys.');
}

function requestFrom(options: GrantOptions): Partial<KeyRequest> {
  const request: Partial<KeyRequest> = {};
  if (options.name !== undefined) request.name = options.name;
  if (options.scopes !== undefined) {
    request.scopes = options.scopes.split(',').map((scope) => scope.trim());
  }
  if (options.expires !== undefined) {
    // Text that is no time is refused with the rest of the request.
    request.expiresAt = parseTimeOrDay(options.expires) ?? Number.NaN;
  }
  if (options.rps !== undefined) {
    request.limit = {
      requestsPerSecond: Number(options.rps),
      ...(options.burst === undefined ? {} : { burst: Number(options.burst) }),
    };
  } else if (options.burst !== undefined) {
    throw invalidParam('burst', 'A burst goes with --rps.');
  }
  return request;
}

function printIssued({ key, plaintext }: IssuedKey, json: boolean | undefined): void {
  if (json === true) {
    printJson({ ...described(key), key: plaintext });
    return;
  }
  printFields({ key: plaintext, ...rowOf(key) });
  process.stderr.write('The key is shown this one time. Store it now.\n');
}

function printKey(key: KeyRecord, json: boolean | undefined): void {
  if (json === true) printJson(described(key));
  else printFields(rowOf(key));
}

function rowOf(key: KeyRecord): Row {
  return {
    id: key.id,
    name: key.name,
    shown: displayText(key.display),
    state: described(key).state,
    scopes: key.scopes.join(','),
    created: time(key.createdAt),
    expires: time(key.expiresAt),
    revoked: time(key.revokedAt),
    'last used': time(key.lastUsedAt),
    'rotate by': rotateBy(key),
  };
}

/** Marks keys that are older than the year after which rotation is recommended. */
function rotateBy(key: KeyRecord): string | null {
  const due = described(key).rotation_due_at;
  if (due === null) return null;
  const day = due.slice(0, 10);
  return Date.parse(due) <= Date.now() ? `${day} (due)` : day;
}

function described(key: KeyRecord): KeyDescription {
  return describeKey(key, Date.now());
}
