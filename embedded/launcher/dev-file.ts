import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plan } from '#shared/kernel/plan.ts';

/** The content of `dev.json`: the facts that tools need of a running embedded instance. */
export interface DevFile {
  base_url: string;
  dashboard_url: string;
  /** The enterprise demo key, with every scope. */
  api_key: string;
  /** Of the enterprise demo organisation. */
  org_id: string;
  keys: Record<Plan, string>;
  database_url: string;
  redis_url: string;
  sandbox_url: string;
  operator: OperatorLogin;
  processes: { role: string; pid: number; metrics_port: number }[];
}

/** The login to the operator's side of the dashboard. */
export interface OperatorLogin {
  email: string;
  password: string;
}

const DEV_FILE = 'dev.json';
const OPERATOR_FILE = 'operator.json';

/** Writes `dev.json` in one step, so that a tool that waits for it never reads half of it. It holds secrets. */
export async function writeDevFile(dataDir: string, content: DevFile): Promise<void> {
  await writePrivately(join(dataDir, DEV_FILE), content);
}

/** Reads `dev.json`; undefined when no instance runs on the data directory. */
export async function readDevFile(dataDir: string): Promise<DevFile | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, DEV_FILE), 'utf8')) as DevFile;
  } catch {
    return undefined;
  }
}

/** Removes `dev.json`: the instance that it describes is stopping. */
export async function removeDevFile(dataDir: string): Promise<void> {
  await rm(join(dataDir, DEV_FILE), { force: true });
}

/** The operator's login: made at the first start, the same at every later one. */
export async function ensureOperatorLogin(dataDir: string): Promise<OperatorLogin> {
  const path = join(dataDir, OPERATOR_FILE);
  const stored = await readFile(path, 'utf8').catch(() => undefined);
  if (stored !== undefined) return JSON.parse(stored) as OperatorLogin;
  const login = {
    email: 'operator@docket.example',
    password: randomBytes(18).toString('base64url'),
  };
  await writePrivately(path, login);
  return login;
}

async function writePrivately(path: string, content: unknown): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
