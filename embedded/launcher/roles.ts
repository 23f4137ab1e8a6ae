import { existsSync, readFileSync } from 'node:fs';
import { ROLES, type Role } from '#shared/config/settings.ts';
import type { Output } from './output.ts';
import type { RoleCommand } from './role-process.ts';

export interface RolesOptions {
  /** The folder of the Procfile. */
  root: URL;
  output: Output;
  replicas: Readonly<Partial<Record<Role, number>>>;
  /** Of each process; it gets a metrics port of its own besides. */
  envOf: (role: Role) => Readonly<Record<string, string | undefined>>;
}

/** The folder of the shipped Procfile. */
export const REPOSITORY = new URL('../../', import.meta.url);

/** The Procfile's `release` is a step before the processes, not one of them. */
const RELEASE = 'release';

function isRole(name: string): name is Role {
  return (ROLES as readonly string[]).includes(name);
}

/**
 * The commands of every process to start, in the order in which they depend on each other: who
 * consumes a lane comes before who fills it.
 * @throws Error for a Procfile that names a role the settings do not know.
 */
export function roleCommands({ root, output, replicas, envOf }: RolesOptions): RoleCommand[] {
  const entries = new Map(readProcfile(root).map(({ role, entry }) => [role, entry]));
  for (const role of entries.keys()) {
    if (role !== RELEASE && !isRole(role))
      throw new Error(`The Procfile's ${role} is no known role`);
  }
  return ROLES.flatMap((role) => {
    const entry = entries.get(role);
    if (entry === undefined) throw new Error(`The Procfile has no ${role}`);
    if (!existsSync(new URL(entry, root))) {
      output.say(`${entry} does not exist: ${role} is NOT started`, 'red');
      return [];
    }
    const count = replicas[role] ?? 1;
    return Array.from({ length: count }, (_, index) => {
      const name = index === 0 ? role : `${role}.${index + 1}`;
      return {
        name,
        role,
        entry: new URL(entry, root),
        cwd: root,
        env: {
          ...envOf(role),
          METRICS_PORT: '0',
          ...(role === 'api' && count > 1 ? { REUSE_PORT: '1' } : {}),
        },
        probed: true,
        onLine: (line: string) => output.line(name, line),
      };
    });
  });
}

/** The sandbox upstream: no role, and no /readyz; that it listens is enough. */
export function sandboxCommand(output: Output, env: RoleCommand['env']): RoleCommand {
  return {
    name: 'sandbox',
    role: 'sandbox',
    entry: new URL('../sandbox/main.ts', import.meta.url),
    cwd: REPOSITORY,
    env: { ...env, HOST: '127.0.0.1' },
    probed: false,
    onLine: (line) => output.line('sandbox', line),
  };
}

/** One process type of the Procfile. */
interface ProcfileEntry {
  role: string;
  /** The TypeScript file that `node` runs, relative to the Procfile's folder. */
  entry: string;
}

const LINE = /^([a-z][a-z0-9-]*):\s*node\s+(\S+\.ts)$/;

/**
 * The process types of a Procfile, in its order. Every one is `name: node <file>.ts`.
 * @throws Error that names the line which is not.
 */
export function parseProcfile(text: string): ProcfileEntry[] {
  const entries: ProcfileEntry[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, role, entry] = LINE.exec(line.trim()) ?? [];
    if (role === undefined || entry === undefined) {
      throw new Error(`Procfile:${index + 1}: expected "name: node <file>.ts"`);
    }
    if (entries.some((known) => known.role === role)) {
      throw new Error(`Procfile:${index + 1}: ${role} is there twice`);
    }
    entries.push({ role, entry });
  }
  return entries;
}

/** The Procfile of a folder. */
export function readProcfile(root: URL): ProcfileEntry[] {
  return parseProcfile(readFileSync(new URL('Procfile', root), 'utf8'));
}
