import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { verify } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { publicKeyInLine } from '#shared/receipts/signing/agent-messages.ts';
import { createCheckpointSigner } from '#shared/receipts/signing/files/checkpoint-signer.ts';
import {
  currentReceiptSigner,
  packSigner,
  packSignerAtHand,
} from '#shared/receipts/signing/files/current-receipt-signer.ts';
import {
  activeKey,
  ensureSigningKeys,
  KEY_PURPOSES,
  loadSigningKeys,
} from '#shared/receipts/signing/files/key-files.ts';
import { rotateSigningKey } from '#shared/receipts/signing/files/rotation.ts';
import { didDocument } from '#shared/receipts/signing/publication.ts';
import { SigningAgent } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { until } from '#test/support/until.ts';
import { INPUTS, issuer, PUBLIC_URL, SIGNED_AT } from '#test/unit/receipts/samples.ts';

const home = mkdtempSync(join(tmpdir(), 'docket-agent-'));
const socket = join(home, 'agent');
const dir = join(home, 'signing-keys');
let sshAgent: ChildProcess;
const agents: SigningAgent[] = [];
atFileEnd(async () => {
  for (const agent of agents) await agent.close();
  sshAgent.kill('SIGKILL');
  rmSync(home, { recursive: true });
});

/** Another may have it wait for less than the tests' patience. */
function agentAt(path: string, answerMs?: number): SigningAgent {
  const agent = new SigningAgent(path, answerMs);
  agents.push(agent);
  return agent;
}

async function startAgent(...keys: string[]): Promise<void> {
  sshAgent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  await until(() => statSync(socket, { throwIfNoEntry: false }) !== undefined);
  const env = { ...process.env, SSH_AUTH_SOCK: socket };
  for (const key of keys) execFileSync('ssh-add', ['-q', key], { env, stdio: 'ignore' });
}

async function endAgent(): Promise<void> {
  const ended = once(sshAgent, 'exit');
  sshAgent.kill('SIGKILL');
  await ended;
  rmSync(socket, { force: true });
}

/** An agent that answers everything with the bytes that it was given. */
const HOSTILE = `require('node:net').createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', () => socket.write(Buffer.from(process.argv[2], 'hex')));
}).listen(process.argv[1]);`;
/** One that answers nothing, and writes down how often it was asked. */
const SILENT = `require('node:net').createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', () => require('node:fs').appendFileSync(process.argv[2], '.'));
}).listen(process.argv[1]);`;
const keyFile = (purpose: string): string => join(home, purpose);
const problem = (code: string) => expect.objectContaining({ name: 'SigningKeyProblem', code });
const receipt = () => buildReceipt(INPUTS['full']!);
const trusted = () => trustedKeysOf(JSON.stringify(didDocument(loadSigningKeys(dir), PUBLIC_URL)));

/** All four keys are the agent's, each put to use by a rotation from one that lay in the directory. */
beforeAll(async () => {
  ensureSigningKeys(dir);
  for (const purpose of KEY_PURPOSES)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile(purpose)]);
  await startAgent(...KEY_PURPOSES.map(keyFile));
  for (const purpose of KEY_PURPOSES) {
    const publicKey = publicKeyInLine(readFileSync(`${keyFile(purpose)}.pub`, 'utf8'));
    const options = { publicKey, publishedBeforeUseMs: 0 };
    rotateSigningKey(dir, purpose, Date.now() + 1, options);
    rotateSigningKey(dir, purpose, Date.now() + 1, options);
  }
});

describe('keys that an SSH agent holds [receipts.signing-agent]', () => {
  const place = () => ({ dir, agent: agentAt(socket), did: issuer.did });

  it('sign receipts, packs and heads that verify by the published keys, and leave no private half in the directory', () => {
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(dir, name))
      .filter((path) => statSync(path).isFile());
    expect(files.length).toBeGreaterThan(KEY_PURPOSES.length);
    for (const path of files) expect(readFileSync(path, 'utf8')).not.toContain('PRIVATE');
    const sign = currentReceiptSigner(place(), (error) => expect.unreachable(String(error)));
    for (let i = 0; i < 20; i += 1)
      expect(verifyReceipt(sign().sign(receipt()), trusted(), SIGNED_AT).code).toBe('good');
    const seal = packSignerAtHand(place());
    expect(seal.kid).toBe(`${issuer.did}#${activeKey(loadSigningKeys(dir), 'packs').thumbprint}`);
    const keys = loadSigningKeys(dir);
    for (const purpose of ['checkpoints', 'anchor'] as const) {
      const signer = createCheckpointSigner(keys, purpose, agentAt(socket));
      const data = new TextEncoder().encode('of a head');
      expect(verify(null, data, publicKeyFromRaw(signer.publicKey), signer.sign(data))).toBe(true);
    }
  });

  it('are refused at the start where there is no agent, with what to set', () => {
    const without = () => currentReceiptSigner({ dir, did: issuer.did }, () => {});
    expect(without).toThrow(problem('public_only'));
    expect(without).toThrow(/SIGNING_AGENT/);
  });

  it('sign again when their agent is back, and sign nothing of what was given up', async () => {
    const { publicKey } = activeKey(loadSigningKeys(dir), 'receipts');
    const agent = agentAt(socket, 200);
    const verifies = (text: string): boolean => {
      const data = new TextEncoder().encode(text);
      return verify(null, data, publicKeyFromRaw(publicKey), agent.sign(publicKey, data));
    };
    /** The first answer takes a thread, which may take longer than the wait. */
    const untilVerifies = (text: string) =>
      until(() => {
        try {
          return verifies(text);
        } catch (error) {
          expect(error).toEqual(problem('agent_away'));
          return false;
        }
      });
    await untilVerifies('one');
    sshAgent.kill('SIGSTOP');
    expect(() => verifies('given up')).toThrow(problem('agent_away'));
    sshAgent.kill('SIGCONT');
    await untilVerifies('two');
    await endAgent();
    expect(() => verifies('three')).toThrow(problem('agent_away'));
    expect(packSigner(place())).toHaveProperty('kid');
    expect(() => packSignerAtHand(place())).toThrow(problem('agent_away'));
    await startAgent(keyFile('checkpoints'));
    expect(() => packSignerAtHand(place())).toThrow(problem('agent_refused'));
    expect(() => verifies('four')).toThrow(problem('agent_refused'));
    expect(agent.holds(publicKey)).toBe(false);
    await endAgent();
    await startAgent(...KEY_PURPOSES.map(keyFile));
    expect(verifies('five')).toBe(true);
    expect(agent.holds(publicKey)).toBe(true);
  });

  it('take no signature of other bytes, and no answer without an end', async () => {
    const { publicKey } = activeKey(loadSigningKeys(dir), 'receipts');
    const text = (bytes: Uint8Array | string): Buffer => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(bytes));
      return Buffer.concat([length, Buffer.from(bytes)]);
    };
    const other = Buffer.concat([text('ssh-ed25519'), text(new Uint8Array(64).fill(7))]);
    const answers: [Buffer, string][] = [
      [text(Buffer.concat([Buffer.of(14), text(other)])), 'agent_refused'],
      [text(Buffer.of(5)), 'agent_refused'],
      [text(Buffer.of(14, 255, 255, 255, 255)), 'agent_refused'],
      [text(''), 'agent_refused'],
      [Buffer.of(255, 255, 255, 255, 14), 'agent_away'],
    ];
    for (const [index, [answer, code]] of answers.entries()) {
      const path = join(home, `hostile-${index}`);
      // A process of its own: this one waits for its answer.
      const hostile = spawn(process.execPath, ['-e', HOSTILE, path, answer.toString('hex')], {
        stdio: 'ignore',
      });
      await until(() => statSync(path, { throwIfNoEntry: false }) !== undefined);
      const sign = () => agentAt(path).sign(publicKey, Buffer.from('what is asked'));
      expect(sign, String(index)).toThrow(problem(code));
      const ended = once(hostile, 'exit');
      hostile.kill('SIGKILL');
      await ended;
    }
  });

  it('hold a process up no longer than one wait in several where their agent hangs', async () => {
    const { publicKey } = activeKey(loadSigningKeys(dir), 'receipts');
    const [path, heard] = [join(home, 'silent'), join(home, 'heard')];
    const silent = spawn(process.execPath, ['-e', SILENT, path, heard], { stdio: 'ignore' });
    await until(() => statSync(path, { throwIfNoEntry: false }) !== undefined);
    const agent = agentAt(path, 300);
    const asked = 20;
    for (let i = 0; i < asked; i += 1)
      expect(() => agent.sign(publicKey, Buffer.from('x'))).toThrow(problem('agent_away'));
    expect(statSync(heard).size).toBeGreaterThan(0);
    expect(statSync(heard).size).toBeLessThan(asked / 2);
    const ended = once(silent, 'exit');
    silent.kill('SIGKILL');
    await ended;
  });

  it('may be copied to a machine as their public halves alone', () => {
    const copy = join(home, 'copy');
    cpSync(dir, copy, { recursive: true });
    expect(didDocument(loadSigningKeys(copy), PUBLIC_URL)).toEqual(
      didDocument(loadSigningKeys(dir), PUBLIC_URL),
    );
  });
});
