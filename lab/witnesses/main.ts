import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readArguments } from '#lab/support/arguments.ts';
import { Instance } from '#lab/storms/instance.ts';
import { inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { parseNote } from '#shared/ledger/notes.ts';
import { judgeByPolicy, parseWitnessPolicy } from '#shared/ledger/witness-policy.ts';
import {
  addLog,
  installTorchwood,
  type Programs,
  Torchwood,
  TORCHWOOD_VERSION,
} from './torchwood.ts';

const RECORDED = join(import.meta.dirname, '../../test/fixtures/witnesses/litewitness.json');
/** A witness that did not know the log is asked again after ten seconds, then twenty. */
const COSIGNED_MS = 120_000;
const LOOK_MS = 500;

const USAGE = `npm run witnesses -- [--cache DIRECTORY] [--record]

Starts two litewitness of torchwood ${TORCHWOOD_VERSION}, one behind a litebastion, and the product with both in WITNESSES.
Both have to cosign its anchor log and then a head that continues it, and torchwood's spicy has to find a receipt in the
ledger by its proof, and no altered one. Go builds the programs once, into a directory outside of the tree; ssh-agent and
openssl are needed too. Exit code 0: all of it holds, or nothing was tried; 1: it does not; 2: wrong arguments.

--cache    where the programs are kept; default: docket/witnesses in the user's cache directory
--record   writes the cosigned head into test/fixtures/witnesses, which npm test verifies
`;

const { values } = readArguments(USAGE, {
  options: { cache: { type: 'string' }, record: { type: 'boolean' } },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  const programs = await installTorchwood(values.cache ?? inUserCache('witnesses'), say);
  process.exitCode = (await tryWitnesses(programs)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotToBeHad)) throw error;
  say(`skipped, nothing was tried: ${error.message}`);
}

async function tryWitnesses(programs: Programs): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), 'docket-witnesses-'));
  const torchwood = new Torchwood(programs, scratch);
  let instance: Instance | undefined;
  try {
    const witnesses = [
      await torchwood.witness('direct', false),
      await torchwood.witness('bastion', true),
    ];
    instance = await Instance.start({
      env: { WITNESSES: witnesses.map(({ setting }) => setting).join(',') },
    });
    const { api_key: apiKey, base_url: base, org_id: organisation } = instance.info;
    const get = async (path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const response = await fetch(new URL(path, base), { headers });
      return response.ok ? response.text() : '';
    };
    const documents = await get(`/.well-known/verifier-keys.json?organisation=${organisation}`);
    const keys = documents.match(/[^"\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*/g) ?? [];
    const [anchorKey, logKey] = ['/anchor+', `/log/${organisation}+`].map((part) =>
      keys.find((key) => key.includes(part)),
    );
    if (anchorKey === undefined || logKey === undefined) throw new Error(`no keys: ${documents}`);
    for (const witness of witnesses) addLog(witness, anchorKey.split('+')[0]!, anchorKey);
    const policy = [
      `log ${anchorKey}`,
      ...witnesses.map(({ name, vkey }) => `witness ${name} ${vkey}`),
      `group both all ${witnesses.map(({ name }) => name).join(' ')}`,
      'quorum both',
    ]
      .map((line) => `${line}\n`)
      .join('');

    const receipt = await ask(base, apiKey);
    const first = await cosigned(get, policy, 0);
    await ask(base, apiKey);
    const second = await cosigned(get, policy, sizeOf(first));
    say(`cosigned by both: ${sizeOf(first)} entries, then ${sizeOf(second)} that continue them`);

    const [entry, proof] = [
      await get(`/v1/receipts/${receipt}`),
      await get(`/v1/receipts/${receipt}/proof`),
    ];
    const isFound = torchwood.isInLog(logKey, entry, proof);
    const isAlteredFound = torchwood.isInLog(logKey, `${entry} `, proof);
    say(`spicy finds the receipt: ${isFound}; an altered one: ${isAlteredFound}`);
    if (values.record === true) {
      const recorded = {
        source: `litewitness and litebastion of torchwood ${TORCHWOOD_VERSION}`,
        policy,
        note: second,
      };
      await writeFile(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
    }
    return isFound && !isAlteredFound;
  } finally {
    await instance?.remove();
    torchwood.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Sends a request. Returns the id of its receipt. */
async function ask(base: string, apiKey: string): Promise<string> {
  const messages = [{ role: 'user', content: 'Tell me about the lighthouse.' }];
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'llama-3.1-8b', messages }),
  });
  const { receipt } = (await response.json()) as { receipt: { id: string } };
  return receipt.id.split('/').at(-1)!;
}

/** A head of the anchor log with more entries than these that both have cosigned. */
async function cosigned(
  get: (path: string) => Promise<string>,
  policy: string,
  more: number,
): Promise<string> {
  const end = Date.now() + COSIGNED_MS;
  for (;;) {
    const note = await get('/anchor/checkpoint');
    if (note !== '' && sizeOf(note) > more) {
      const read = parseNote(note);
      if (judgeByPolicy(parseWitnessPolicy(policy), read, verifyCosignature).isQuorum) return note;
    }
    if (Date.now() > end) throw new Error(`not cosigned by both:\n${note}`);
    await delay(LOOK_MS);
  }
}

function sizeOf(note: string): number {
  return Number(note.split('\n')[1]);
}
