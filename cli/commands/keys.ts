import type { Command } from 'commander';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';
import { describeKey, displayText, type KeyDescription } from '#shared/keys/describe.ts';
import { hashOfReport } from '#shared/keys/format.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import type { KeyRequest } from '#shared/keys/rules.ts';
import type { IssuedKey, KeyRegistry } from '#shared/keys/postgres/keys.ts';
import {
  type ActOptions,
  actorFrom,
  asOperator,
  type OperatorDeps,
  REASON,
  TICKET,
} from '#cli/operator.ts';
import { registerLaneKeyRotation } from '#cli/lane-key-rotation.ts';
import { printFields, printJson, printTable, time, type Row } from '#cli/print.ts';

/** The longest line that can hold a key or its hash; more is a file sent by mistake. */
const SECRET_LINE_MAX = 1_024;
const PAGE = 100;
const ORG_WORDS = 'organisation of the key; not needed, and checked where it is given';

interface Common extends ActOptions {
  /** Of a key that is named it is not needed, and has to be right where it is given. */
  org?: string;
}

interface GrantOptions extends Common {
  name?: string;
  scopes?: string;
  expires?: string;
  rps?: string;
  burst?: string;
}

/** `docket keys …`: what support and operators do to keys of organisations, and to the one that seals what is under way. */
export function register(program: Command): void {
  const keys = program.command('keys').description('API keys of organisations, and the lane key');
  registerGrants(keys);
  registerStates(keys);
  registerLaneKeyRotation(keys);
  keys
    .command('list')
    .description('list an organisation’s keys, newest first')
    .requiredOption('--org <id>', 'organisation')
    .option('--json', 'for programs')
    .action((options: { org: string; json?: boolean }) =>
      asOperator((deps) => list(deps, options)),
    );
}

function registerGrants(keys: Command): void {
  const grantOptions = (command: Command): Command =>
    command
      .option(...TICKET)
      .option(...REASON)
      .option('--name <name>', 'what the key is for')
      .option('--scopes <list>', 'scopes, separated by commas')
      .option('--expires <time>', 'expiry, ISO 8601 (plans audit_plus and enterprise)')
      .option('--json', 'for programs');
  grantOptions(keys.command('issue').description('issue a key; it is shown this one time'))
    .requiredOption('--org <id>', 'organisation')
    .option('--rps <n>', 'requests per second of this key alone')
    .option('--burst <n>', 'burst of this key alone (four seconds of --rps)')
    .action((options: GrantOptions & { org: string }) =>
      asOperator(async ({ keys: registry }) => {
        const request = { name: options.name ?? 'Issued by support', ...requestFrom(options) };
        printIssued(
          await registry.issue(options.org, request, await actorFrom(options)),
          options.json,
        );
      }),
    );
  grantOptions(keys.command('rotate <key-id>').description('issue a successor of a key'))
    .option('--org <id>', ORG_WORDS)
    .action((keyId: string, options: GrantOptions) =>
      asOperator(async ({ keys: registry }) => {
        const actor = await actorFrom(options);
        const { orgId, id } = await named(registry, keyId, options);
        printIssued(await registry.rotate(orgId, id, requestFrom(options), actor), options.json);
      }),
    );
}

function registerStates(keys: Command): void {
  keys
    .command('revoke [key-id]')
    .description(
      'revoke a key; without an id, with --leaked, the key (or its SHA-256) given on standard input',
    )
    .option('--org <id>', ORG_WORDS)
    .option(...TICKET)
    .requiredOption(...REASON)
    .option('--leaked', 'others have it, or may have: only support or an operator can restore it')
    .option('--json', 'for programs')
    .action((keyId: string | undefined, options: Common & { leaked?: boolean }) =>
      asOperator((deps) => revoke(deps, keyId, options)),
    );
  keys
    .command('restore <key-id>')
    .description('undo a revocation within 90 days')
    .option('--org <id>', ORG_WORDS)
    .option(...TICKET)
    .requiredOption(...REASON)
    .option('--json', 'for programs')
    .action((keyId: string, options: Common) =>
      asOperator(async ({ keys: registry }) => {
        const actor = await actorFrom(options);
        const { orgId, id } = await named(registry, keyId, options);
        printKey(await registry.restore(orgId, id, actor, options.reason), options.json);
      }),
    );
}

async function revoke(
  { keys }: OperatorDeps,
  keyId: string | undefined,
  options: Common & { leaked?: boolean },
): Promise<void> {
  const actor = await actorFrom(options);
  const { reason, leaked } = options;
  if (keyId === undefined && leaked !== true) {
    throw new Fault('invalid_key', { message: 'Name the key, or use --leaked.' });
  }
  const { orgId, id } = await named(keys, keyId, options);
  printKey(await keys.revoke(orgId, id, actor, { reason, leaked }), options.json);
}

/** The key with this id, or the one that standard input holds. */
async function named(
  keys: KeyRegistry,
  keyId: string | undefined,
  { org }: Pick<Common, 'org'>,
): Promise<KeyRecord> {
  const found =
    keyId === undefined ? await keys.findByHash(await readLeakedHash()) : await keys.find(keyId);
  if (found === null || (org !== undefined && org !== found.orgId))
    throw new Fault('key_not_found');
  return found;
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
  options: { org: string; json?: boolean },
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
    leaked: key.leaked ? 'yes' : null,
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
