import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PersonLogin } from '#embedded/demo-persons.ts';
import type { Plan } from '#shared/kernel/plan.ts';

/** The content of `dev.json`: the facts that tools need of a running embedded instance. */
export interface DevFile {
  base_url: string;
  dashboard_url: string;
  /** The enterprise demo key, with every scope; empty where that organisation is suspended and has none. */
  api_key: string;
  /** Of the enterprise demo organisation. */
  org_id: string;
  keys: Record<Plan, string>;
  database_url: string;
  redis_url: string;
  sandbox_url: string;
  /** An owner of the enterprise demo organisation. */
  owner: PersonLogin;
  operator: PersonLogin;
  reviewer: PersonLogin;
  /** Where the risk is high, two approve. */
  second_reviewer: PersonLogin;
  processes: { role: string; pid: number; metrics_port: number }[];
}

/** Its name in the data directory. */
export const DEV_FILE = 'dev.json';

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

async function writePrivately(path: string, content: unknown): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
