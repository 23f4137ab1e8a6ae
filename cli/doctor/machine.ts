import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { KEY_PURPOSES, loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import {
  type ExportStoreConfig,
  openExportStore,
  openReceiptArchive,
} from '#shared/packs/files/open-store.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import type { ToolConfig } from '#shared/config/config.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { claimPort } from '#embedded/ports.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

/** As package.json's `engines` says: older ones do not run TypeScript. */
const NODE_MIN = 24;

export function examineNode(): Finding {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= NODE_MIN) return ok('Node', `version ${node}`);
  return problem('Node', `version ${node}`, `use Node ${NODE_MIN} or newer`);
}

/**
 * Looks at the signing keys: whether they are there, readable for their owner alone, and known to the agent where their public
 * halves alone are there.
 */
export async function examineSigningKeys(config: ToolConfig, embedded: boolean): Promise<Finding> {
  const name = 'signing keys';
  const agent = signingAgentOf(config);
  try {
    const keys = loadSigningKeys(config.signingKeysDir);
    const active = keys.filter((key) => key.state === 'active');
    const detail = `${active.length} active of ${keys.length} in ${config.signingKeysDir}`;
    const elsewhere = active.filter((key) => key.privateKeyPem === undefined);
    if (elsewhere.length === 0) return ok(name, detail);
    if (agent === undefined)
      return ok(
        name,
        `${detail}, public halves alone of ${elsewhere.length}: nothing is signed here`,
      );
    const unknown = elsewhere.filter(({ publicKey }) => !agent.holds(publicKey));
    if (unknown.length === 0)
      return ok(name, `${detail}, ${elsewhere.length} held by the agent at ${config.signingAgent}`);
    const purposes = unknown.map(({ purpose }) => purpose).join(', ');
    return problem(
      name,
      `the agent at ${config.signingAgent} does not hold the keys for ${purposes}`,
      'give it the keys (`ssh-add -L` shows what it holds)',
    );
  } catch (error) {
    if (embedded && error instanceof SigningKeyProblem && error.code === 'missing') {
      return skipped(name, `${KEY_PURPOSES.join(', ')}: docket up makes them at its first start`);
    }
    const fix =
      error instanceof SigningKeyProblem && error.code === 'agent_away'
        ? 'start the agent, or set SIGNING_AGENT to where it is'
        : 'do as it says, or point SIGNING_KEYS_DIR to where they are';
    return problem(name, reasonOf(error), fix);
  } finally {
    await agent?.close();
  }
}

/** Looks whether the port of the API is free, or taken by the instance that is meant. */
export async function examinePort(host: string, port: number, ours: boolean): Promise<Finding> {
  const name = `port ${port}`;
  if (ours) return ok(name, 'in use by the instance that runs here');
  try {
    await claimPort(host, port);
    return ok(name, `free on ${host}`);
  } catch (error) {
    const { code } = (error as Error).cause as NodeJS.ErrnoException;
    const detail = code === 'EADDRINUSE' ? `in use on ${host}` : `${code} on ${host}`;
    return warning(name, detail, 'stop what uses it if it is not Docket, or set PORT');
  }
}

/** Looks whether evidence packs can be written where they should go. */
export async function examineExportStore(config: ExportStoreConfig): Promise<Finding> {
  return examineStore('export store', config.exportStore, () => openExportStore(config));
}

/** The same for the bodies of receipts that move out of PostgreSQL. */
export async function examineReceiptArchive(config: ToolConfig): Promise<Finding[]> {
  const { receiptArchive: place } = config;
  if (place === undefined) return [];
  return [await examineStore('receipt archive', place, () => openReceiptArchive(config)!)];
}

async function examineStore(
  name: string,
  place: string,
  open: () => Pick<ObjectStore, 'check'>,
): Promise<Finding> {
  if (!place.startsWith('s3:')) return examineDirectory(name, place);
  try {
    await open().check();
    return ok(name, `${place} answers, and takes objects`);
  } catch (error) {
    return problem(name, `${place}: ${reasonOf(error)}`, S3_FIX);
  }
}

const S3_FIX =
  'look at the address, S3_ENDPOINT, AWS_REGION, the credentials, and what they may do (docs/evidence-pack.md)';

/** Looks whether data can be written where they should go. */
export async function examineDirectory(name: string, path: string): Promise<Finding> {
  for (let dir = resolve(path); ; dir = dirname(dir)) {
    const state = await access(dir, constants.W_OK).then(
      () => 'writable',
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (state === 'writable') return ok(name, dir === resolve(path) ? path : `${path} can be made`);
    // Not there yet: then it matters whether its parent lets us make it.
    if (state !== 'ENOENT' || dir === dirname(dir)) {
      return problem(
        name,
        `${dir} cannot be written (${state})`,
        'give it to the user who runs Docket',
      );
    }
  }
}
