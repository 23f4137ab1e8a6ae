import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { SEAL } from '#shared/packs/layout.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import {
  type TrustOptions,
  type VerifiedPack,
  withTrustOptions,
  withVerifiedPack,
} from '#cli/auditing/verified-pack.ts';
import { readInput } from '#cli/input.ts';
import { printFields } from '#cli/print.ts';
import { signStatement, STATEMENT_BYTES_MAX, WHO_LENGTH_MAX } from '#cli/verify/pack-statement.ts';
import { readText } from '#cli/verify/text-file.ts';

/** A private key in PEM is a hundred bytes. */
const KEY_BYTES_MAX = 16_384;

interface StatementOptions extends TrustOptions {
  by: string;
  text: string;
  key: string;
  out?: string;
}

/** `docket statement`: what a person states of a pack, signed by a key of their own, in a file beside it. Offline. */
export function register(program: Command): void {
  withTrustOptions(
    program
      .command('statement')
      .description('sign what you state of an evidence pack, in a file beside it: offline')
      .argument('<pack.zip>', 'is verified whole first')
      .requiredOption('--by <name>', 'who states it: name, office, firm', toName)
      .requiredOption('--text <file>', 'what is stated, as plain text; - for standard input')
      .requiredOption(
        '--key <file>',
        'your own private key (PEM, Ed25519: openssl genpkey -algorithm ed25519)',
      )
      .option('--out <file>', 'where to; <pack>-statement.txt when absent'),
  ).action((path: string, options: StatementOptions) =>
    withVerifiedPack(path, options, (pack) => write(pack, options)),
  );
}

function toName(text: string): string {
  if (isPrintable(text, WHO_LENGTH_MAX)) return text;
  throw new InvalidArgumentError(`It is one line of up to ${WHO_LENGTH_MAX} characters.`);
}

async function write(
  { path, pack, seal, verdict, trusted, exitCode }: VerifiedPack,
  { by, text, key, out }: StatementOptions,
): Promise<void> {
  const file = out ?? `${basename(path, '.zip')}-statement.txt`;
  if (existsSync(file)) throw new Error(`${file} is there already: name another with --out.`);
  const privateKey = await readKey(key);
  const states = (await readText(text, STATEMENT_BYTES_MAX)).replaceAll('\r\n', '\n').trimEnd();
  if (states === '') throw new Error(`${text} states nothing.`);
  const statement = {
    pack: seal.credentialSubject.id,
    seal: multihashOfContent(pack.read(SEAL)),
    who: by,
    at: new Date().toISOString(),
    key: rawPublicKey(privateKey),
    states: states.split('\n'),
  };
  const note = signStatement(statement, (bytes) => sign(null, bytes, privateKey));
  writeFileSync(file, note, { flag: 'wx' });
  printFields({ pack: path, verdict, trusted, seal: statement.seal, by, written_to: file });
  process.exitCode = exitCode;
}

async function readKey(path: string): Promise<KeyObject> {
  const pem = await readInput(path, KEY_BYTES_MAX);
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Said below, without a word of what is in the file.
  }
  throw new Error(`${path} holds no private key of Ed25519 (PEM, without a passphrase).`);
}
