import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { claimPort } from '#embedded/ports.ts';
import { GoCache } from '#lab/kubernetes/go.ts';
import { COSIGNATURE_TYPE } from '#shared/ledger/notes.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';

/** The newest that Go 1.26 builds; 0.10.0 asks for 1.27. */
export const TORCHWOOD_VERSION = '0.9.0';
const COMMANDS = ['litewitness', 'litebastion', 'spicy'] as const;
const READY_MS = 30_000;
const LOOK_MS = 100;
/** Base64 of the root of no entries. */
const EMPTY_ROOT = createHash('sha256').digest('base64');

export type Programs = Record<(typeof COMMANDS)[number], string>;

/** @throws NotToBeHad without Go, or when one cannot be built */
export async function installTorchwood(
  cache: string,
  say: (line: string) => void,
): Promise<Programs> {
  const go = new GoCache(join(cache, TORCHWOOD_VERSION), say);
  const programs: Partial<Programs> = {};
  for (const name of COMMANDS) {
    programs[name] = await go.program(
      name,
      `filippo.io/torchwood/cmd/${name}@v${TORCHWOOD_VERSION}`,
    );
  }
  return programs as Programs;
}

/** Programs of one trial, in a folder of theirs. */
export class Torchwood {
  readonly #programs: Programs;
  readonly #scratch: string;
  readonly #running: ChildProcess[] = [];

  constructor(programs: Programs, scratch: string) {
    this.#programs = programs;
    this.#scratch = scratch;
  }

  /** A witness with a key of its own, in a folder of its own; behind a bastion, if `isBehindBastion`, and nothing else. */
  async witness(name: string, isBehindBastion: boolean): Promise<LiteWitness> {
    const folder = join(this.#scratch, name);
    await mkdir(folder);
    const key = join(folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const blob = Buffer.from(readFileSync(`${key}.pub`, 'utf8').split(' ')[1]!, 'base64');
    const publicKey = new Uint8Array(blob.subarray(-32));
    const agent = join(folder, 'agent');
    this.#start(folder, 'ssh-agent', `-D -a ${agent}`);
    await until('ssh-agent listens', () => existsSync(agent));
    execFileSync('ssh-add', ['-q', key], { env: { SSH_AUTH_SOCK: agent } });
    const fingerprint = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
    const listen = `127.0.0.1:${await claimPort('127.0.0.1', 0)}`;
    const backend = createHash('sha256').update(publicKey).digest('hex');
    const bastion = isBehindBastion ? await this.#bastion(folder, backend) : undefined;
    const database = join(folder, 'witness.db');
    const reached =
      bastion === undefined
        ? `-listen ${listen}`
        : `-no-listen -testcert -bastion ${bastion.backends}`;
    const named = `-name witness.example/${name} -key SHA256:${fingerprint}`;
    this.#start(
      folder,
      this.#programs.litewitness,
      `-ssh-agent ${agent} -db ${database} ${named} ${reached}`,
    );
    const url = bastion === undefined ? `http://${listen}` : `${bastion.url}/${backend}`;
    await until(`litewitness answers at ${url}`, async () => {
      const answer = await fetch(`${url}/`).catch(() => null);
      return answer?.ok === true;
    });
    const vkey = formatVerifierKey(`witness.example/${name}`, COSIGNATURE_TYPE, publicKey);
    return { name, vkey, setting: `${vkey} ${url}/`, database };
  }

  /** Whether the log has the file, by its proof and torchwood's own command. */
  isInLog(logKey: string, content: string, proof: string): boolean {
    const file = join(this.#scratch, 'entry');
    writeFileSync(file, content);
    // That command is of before the form had its first line.
    writeFileSync(`${file}.spicy`, proof.replace('c2sp.org/tlog-proof@v1\n', ''));
    try {
      execFileSync(this.#programs.spicy, ['-verify', logKey, file], { stdio: 'pipe' });
      return true;
    } catch {
      return false;
    }
  }

  stop(): void {
    for (const each of this.#running) each.kill('SIGTERM');
  }

  async #bastion(folder: string, backend: string): Promise<{ url: string; backends: string }> {
    const [port, httpPort] = [await claimPort('127.0.0.1', 0), await claimPort('127.0.0.1', 0)];
    writeFileSync(join(folder, 'backends'), `${backend}\n`);
    // litewitness trusts the file of this name.
    const names = '-subj /CN=localhost -addext subjectAltName=DNS:localhost';
    const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key';
    execFileSync('openssl', `req -x509 ${key} ${names} -out rootCA.pem`.split(' '), {
      cwd: folder,
      stdio: 'ignore',
    });
    const listen = `-listen localhost:${port} -listen-http 127.0.0.1:${httpPort}`;
    this.#start(
      folder,
      this.#programs.litebastion,
      `-backends backends -tls-cert rootCA.pem -tls-key tls.key ${listen}`,
    );
    return { url: `http://127.0.0.1:${httpPort}`, backends: `localhost:${port}` };
  }

  #start(folder: string, program: string, args: string): void {
    const output = openSync(join(folder, 'log'), 'a');
    const stdio = ['ignore', output, output] as const;
    this.#running.push(spawn(program, args.split(' '), { cwd: folder, stdio: [...stdio] }));
    closeSync(output);
  }
}

export interface LiteWitness {
  name: string;
  vkey: string;
  /** As WITNESSES names it. */
  setting: string;
  database: string;
}

/**
 * Lets a witness know a log: the two rows that `witnessctl add-log` and `add-key` write, which needs a module that not every
 * proxy has.
 */
export function addLog({ database }: LiteWitness, origin: string, key: string): void {
  const opened = new DatabaseSync(database);
  opened
    .prepare('insert into log (origin, tree_size, tree_hash) values (?, 0, ?)')
    .run(origin, EMPTY_ROOT);
  opened.prepare('insert into key (origin, key) values (?, ?)').run(origin, key);
  opened.close();
}

/** Waits until it holds. @throws Error when it does not within half a minute */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + READY_MS;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await delay(LOOK_MS);
  }
}
