import { readFile } from 'node:fs/promises';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { Argument, type Command } from 'commander';
import { anchorIndexAt, reportCompromise } from '#shared/ledger/postgres/anchor-keys.ts';
import {
  KEY_PURPOSES,
  type KeyPurpose,
  loadSigningKeys,
} from '#shared/receipts/signing/files/key-files.ts';
import {
  PUBLISHED_BEFORE_USE_MS,
  revokeSigningKey,
  rotateSigningKey,
} from '#shared/receipts/signing/files/rotation.ts';
import { publicKeyInLine } from '#shared/receipts/signing/agent-messages.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { verifierKeys } from '#shared/receipts/signing/publication.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import {
  type ActOptions,
  actorFrom,
  asOperator,
  recordServiceAct,
  withActOptions,
} from '#cli/operator.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';
import { timeOption } from '#cli/time-option.ts';

/** `docket keys-signing …`: the keys that sign receipts, checkpoints, the anchor and packs. */
export function register(program: Command): void {
  const keys = program
    .command('keys-signing')
    .description('the keys that sign receipts, checkpoints, the anchor and packs');
  const purpose = () => new Argument('<purpose>', 'what it signs').choices(KEY_PURPOSES);
  keys
    .command('list')
    .description('list every key there ever was, with what it may still do')
    .option('--json', 'for programs')
    .action(list);
  keys
    .command('vkeys')
    .description('list the keys of logs as witnesses and policies take them (C2SP verifier keys)')
    .option('--org <id>', 'also those of the logs of this organisation')
    .option('--tree <n>', 'by the names that logs have after declared losses', treeFrom, 1)
    .option('--json', 'for programs')
    .action(listVerifierKeys);
  withActOptions(
    keys
      .command('rotate')
      .description(
        `publish the next key; run again ${PUBLISHED_BEFORE_USE_MS / MINUTE_MS} minutes later, put it to use`,
      )
      .addArgument(purpose())
      .option(
        '--public-key <file>',
        'the next key is one that the agent of SIGNING_AGENT holds; as ssh-keygen writes it (.pub)',
      ),
  ).action(rotate);
  withActOptions(
    keys
      .command('revoke')
      .description('stop vouching for a retired key')
      .addArgument(purpose())
      .argument('<thumbprint>', 'as `list` shows it'),
  ).action(revoke);
  withActOptions(
    keys
      .command('compromised')
      .description('say in the anchor log from where on a key’s signatures no longer count')
      .argument('<key>', 'its id, did:web:…#<thumbprint>, as receipts name it')
      .option('--index <n>', 'the first index of the anchor log that does not count', countFrom)
      .option('--since <time>', 'the moment it was lost, RFC 3339; now, when both are absent'),
  ).action(compromised);
}

interface CompromiseOptions extends ActOptions {
  index?: number;
  since?: string;
}

/** Cannot be taken back, and a later one can only take away more. */
async function compromised(key: string, options: CompromiseOptions): Promise<void> {
  const { index, since, reason, json } = options;
  if (index !== undefined && since !== undefined) {
    throw new Error('Name --index or --since, not both.');
  }
  const moment = since === undefined ? undefined : timeOption('since', since);
  const actor = await actorFrom(options);
  const from = await asOperator(async ({ pool, surroundings }) => {
    const first = moment === undefined ? index : await anchorIndexAt(pool, moment);
    await reportCompromise(pool, surroundings, {
      key,
      actor,
      ...(first === undefined ? {} : { from: first }),
      ...(reason === undefined ? {} : { reason }),
    });
    return first ?? null;
  });
  if (json === true) return printJson({ key, from });
  printFields({ key, from: from ?? 'the place where it is written, within seconds' });
}

function countFrom(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error('--index must be a whole number.');
  return Number(text);
}

function treeFrom(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error('--tree must be a whole number from 1.');
  return Number(text);
}

function list({ json }: { json?: boolean }): void {
  const rows = loadSigningKeys(directory()).map(
    ({ purpose, state, thumbprint, privateKeyPem, since }) => ({
      purpose,
      state,
      thumbprint,
      // Of a key that signs no more there is no private half.
      private: privateKeyPem !== undefined ? 'here' : since === undefined ? 'elsewhere' : null,
      since: since ?? null,
    }),
  );
  if (json === true) printJson(rows);
  else printTable(rows, 'No keys.');
}

function listVerifierKeys({
  org,
  tree,
  json,
}: {
  org?: string;
  tree: number;
  json?: boolean;
}): void {
  const { publicUrl } = loadToolConfig();
  const { keys } = verifierKeys(loadSigningKeys(directory()), publicUrl, org, tree);
  if (json === true) return printJson(keys);
  printTable(
    keys.map(({ purpose, state, vkey }) => ({ purpose, state, vkey })),
    'No keys.',
  );
}

interface RotateOptions extends ActOptions {
  publicKey?: string;
}

async function rotate(purpose: KeyPurpose, options: RotateOptions): Promise<void> {
  const publicKey =
    options.publicKey === undefined ? undefined : await publicKeyOf(options.publicKey);
  const next = loadSigningKeys(directory()).find(
    (key) => key.purpose === purpose && key.state === 'next' && key.privateKeyPem === undefined,
  );
  // A key that would sign nothing is found before it is published, and again before the one that signs is given up for it.
  const held = publicKey ?? next?.publicKey;
  if (held !== undefined) await demandHeld(held);
  const actor = await actorFrom(options);
  const rotation = rotateSigningKey(directory(), purpose, Date.now(), { publicKey });
  const { step, thumbprint, retired } = rotation;
  const details = { thumbprint, ...(retired === undefined ? {} : { retired }) };
  await recordServiceAct(
    { action: `signing_key.${step}`, subject: purpose, details },
    actor,
    `The key is ${step}`,
  );
  if (options.json === true) return printJson({ purpose, ...rotation });
  printFields({ purpose, step, thumbprint, retired: retired ?? null });
  if (step === 'published') {
    process.stdout.write(
      `It is in did.json now. Run this again after ${PUBLISHED_BEFORE_USE_MS / MINUTE_MS} minutes to put it to use.\n`,
    );
  }
}

async function publicKeyOf(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`);
  });
  const publicKey = publicKeyInLine(text);
  if (publicKey === undefined)
    throw new Error(
      `${file} is no Ed25519 key as ssh-keygen -t ed25519 writes it to its .pub file.`,
    );
  return publicKey;
}

/** @throws Error, and SigningKeyProblem `agent_away`, where no agent would sign with the key */
async function demandHeld(publicKey: Uint8Array): Promise<void> {
  const agent = signingAgentOf(loadToolConfig());
  if (agent === undefined)
    throw new Error('Set SIGNING_AGENT to the socket of the SSH agent that holds the key.');
  try {
    if (!agent.holds(publicKey))
      throw new Error('The agent does not hold this key: see `ssh-add -L`.');
  } finally {
    await agent.close();
  }
}

async function revoke(purpose: KeyPurpose, thumbprint: string, options: ActOptions): Promise<void> {
  const actor = await actorFrom(options);
  revokeSigningKey(directory(), purpose, thumbprint, Date.now());
  await recordServiceAct(
    { action: 'signing_key.revoked', subject: purpose, details: { thumbprint } },
    actor,
    'The key is revoked',
  );
  if (options.json === true) printJson({ purpose, thumbprint, state: 'revoked' });
  else printFields({ purpose, thumbprint, state: 'revoked' });
}

function directory(): string {
  return loadToolConfig().signingKeysDir;
}
