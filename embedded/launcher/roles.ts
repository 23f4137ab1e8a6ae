import { existsSync, readFileSync } from 'node:fs';
import type { ToolConfig } from '#shared/config/config.ts';
import {
  BACKGROUND_ROLES,
  type BackgroundRole,
  ROLES,
  type Role,
} from '#shared/config/settings.ts';
import { HOLDS_PORTS } from '#embedded/ports.ts';
import { BACKGROUND } from '#embedded/stores/database-logins.ts';
import type { Output } from './output.ts';
import type { RoleCommand } from './role-process.ts';

export interface RolesOptions {
  /** The folder of the Procfile. */
  root: URL;
  output: Output;
  replicas: Readonly<Partial<Record<Role, number>>>;
  /** Those that share one process. */
  background: readonly BackgroundRole[];
  /** Of each process; it gets a metrics port of its own besides. */
  envOf: (process: Role | typeof BACKGROUND) => Readonly<Record<string, string | undefined>>;
}

/** The folder of the shipped Procfile. */
export const REPOSITORY = new URL('../../', import.meta.url);

/** The Procfile's `release` is a step before the processes, not one of them. */
const RELEASE = 'release';

function isRole(name: string): name is Role {
  return (ROLES as readonly string[]).includes(name);
}

/**
 * What requests have in flight survives a small young generation and is copied, again and again: with 4 MiB the api spends a
 * quarter more on a request. Roles that no request waits for, and the sandbox, do with little; a start fills it, and they
 * would keep that.
 */
const SEMI_SPACE_MIB = { requests: 16, others: 1 };

const SANDBOX_ENTRY = new URL('../sandbox/main.ts', import.meta.url);
/** Runs the roles that are named to it, in one process. */
const BACKGROUND_ENTRY = 'workers/background/main.ts';

/**
 * The commands of every process to start, in the order in which they depend on each other: who
 * consumes a lane comes before who fills it.
 * @throws Error for a Procfile that names a role the settings do not know.
 */
export function roleCommands(options: RolesOptions): RoleCommand[] {
  const { root, output, replicas, background } = options;
  const entries = new Map(readProcfile(root).map(({ role, entry }) => [role, entry]));
  for (const role of entries.keys()) {
    if (role !== RELEASE && !isRole(role))
      throw new Error(`The Procfile's ${role} is no known role`);
  }
  const commands = ROLES.flatMap((role) => {
    const entry = entries.get(role);
    if (entry === undefined) throw new Error(`The Procfile has no ${role}`);
    if (background.some((one) => one === role)) return [];
    if (!existsSync(new URL(entry, root))) {
      output.say(`${entry} does not exist: ${role} is NOT started`, 'red');
      return [];
    }
    const count = replicas[role] ?? 1;
    return Array.from({ length: count }, (_, index) =>
      commandOf(options, {
        name: index === 0 ? role : `${role}.${index + 1}`,
        roles: [role],
        entry,
        env: {
          ...options.envOf(role),
          // Until they listen the launcher holds their port.
          ...(role === 'api' && (count > 1 || HOLDS_PORTS) ? { REUSE_PORT: '1' } : {}),
        },
      }),
    );
  });
  if (background.length === 0) return commands;
  const shared = commandOf(options, {
    name: BACKGROUND,
    roles: background,
    entry: BACKGROUND_ENTRY,
    args: background,
    env: options.envOf(BACKGROUND),
  });
  return [shared, ...commands];
}

/** The roles that share a process: not those of which a number is asked for, which are processes of their own. */
export function sharingRoles({
  backgroundRoles,
  replicas,
}: Pick<ToolConfig, 'backgroundRoles' | 'replicas'>): BackgroundRole[] {
  return BACKGROUND_ROLES.filter(
    (role) => backgroundRoles.includes(role) && replicas[role] === undefined,
  );
}

function commandOf(
  { root, output }: RolesOptions,
  {
    name,
    entry,
    env,
    ...rest
  }: Pick<RoleCommand, 'name' | 'roles' | 'env' | 'args'> & { entry: string },
): RoleCommand {
  return {
    ...rest,
    name,
    entry: new URL(entry, root),
    cwd: root,
    env: { ...env, METRICS_PORT: '0' },
    probed: true,
    semiSpaceMib: rest.roles.every(isBackground) ? SEMI_SPACE_MIB.others : SEMI_SPACE_MIB.requests,
    onLine: (line: string) => output.line(name, line),
  };
}

/** Loaded by the api process as it starts, and by nothing that its main file imports. */
const DASHBOARD_ENTRY = 'api/dashboard/session/sign-in.ts';

/** Everything that the processes of a Procfile, and the sandbox, load at their start. */
export function startEntries(root: URL): URL[] {
  const mains = readProcfile(root).flatMap(({ role, entry }) => (role === RELEASE ? [] : entry));
  const files = [...mains, BACKGROUND_ENTRY, DASHBOARD_ENTRY];
  return [...files.map((file) => new URL(file, root)), SANDBOX_ENTRY];
}

/**
 * The main file of a process: of one of the shipped Procfile, or of the sandbox.
 * @throws Error for a name that is neither.
 */
export function entryOf(name: string): URL {
  if (name === 'sandbox') return SANDBOX_ENTRY;
  const entries = readProcfile(REPOSITORY);
  const found = entries.find(({ role }) => role === name);
  if (found === undefined) {
    const names = entries.map(({ role }) => role).join(', ');
    throw new Error(`There is no process ${name}; there are ${names}, and sandbox`);
  }
  return new URL(found.entry, REPOSITORY);
}

function isBackground(role: string): boolean {
  return (BACKGROUND_ROLES as readonly string[]).includes(role);
}

/** The sandbox upstream: no role, and no /readyz; that it listens is enough. */
export function sandboxCommand(output: Output, env: RoleCommand['env']): RoleCommand {
  return {
    name: 'sandbox',
    roles: [],
    entry: SANDBOX_ENTRY,
    cwd: REPOSITORY,
    // As the api, until it listens.
    env: { ...env, HOST: '127.0.0.1', ...(HOLDS_PORTS ? { REUSE_PORT: '1' } : {}) },
    probed: false,
    semiSpaceMib: SEMI_SPACE_MIB.others,
    onLine: (line) => output.line('sandbox', line),
  };
}

/** One process type of the Procfile. */
interface ProcfileEntry {
  role: string;
  /** The file that `node` runs, relative to the Procfile's folder: of a checkout TypeScript, of the package what it became. */
  entry: string;
}

const LINE = /^([a-z][a-z0-9-]*):\s*node\s+(\S+\.[jt]s)$/;

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
