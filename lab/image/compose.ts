import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const FILE = join(import.meta.dirname, '../../compose.yaml');

interface Mount {
  source: string;
  target: string;
  read_only?: boolean;
  volume: { subpath: string };
}

/** A service of compose.yaml, anchors and merges resolved. */
export interface ComposeService {
  image: string;
  command?: string[];
  profiles?: string[];
  restart?: string;
  deploy?: { replicas: string };
  ports?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  tmpfs?: string[];
  mem_limit?: string;
  logging?: { options: Record<string, string> };
  stop_grace_period?: string;
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string | number>;
  healthcheck?: { test: string[] };
  volumes?: (Mount | string)[];
}

/** The services by name, each behind those that it waits for. */
export function readCompose(): Map<string, ComposeService> {
  const { services } = parse(readFileSync(FILE, 'utf8'), { merge: true }) as {
    services: Record<string, ComposeService>;
  };
  const ordered = new Map<string, ComposeService>();
  const add = (name: string): void => {
    const service = services[name];
    if (service === undefined) throw new Error(`compose.yaml has no service ${name}`);
    for (const before of Object.keys(service.depends_on ?? {})) add(before);
    ordered.set(name, service);
  };
  for (const name of Object.keys(services)) add(name);
  return ordered;
}

/** Where this machine has what a container finds elsewhere. */
export interface Surroundings {
  /** The folder of each named volume. */
  volumes: Readonly<Record<string, string>>;
  /** What the shell has, for `${NAME:-…}`. */
  shell: Readonly<Record<string, string>>;
  /** Settings that differ because all containers have one network here. */
  env: Readonly<Record<string, string>>;
}

/** How podman is told what compose.yaml says of a service: its confinement, its environment and its volumes. */
export function podmanFlags(
  service: ComposeService,
  { volumes, shell, env }: Surroundings,
): string[] {
  const { read_only: isReadOnly = false } = service;
  const settings = Object.entries({ ...service.environment, ...env });
  return [
    ...(isReadOnly ? ['--read-only'] : []),
    ...(service.cap_drop ?? []).map((name) => `--cap-drop=${name}`),
    ...(service.security_opt ?? []).map((option) => `--security-opt=${option}`),
    ...(service.tmpfs ?? []).map((path) => `--tmpfs=${path}`),
    ...(service.mem_limit === undefined ? [] : [`--memory=${service.mem_limit}`]),
    ...settings.map(([name, value]) => `--env=${name}=${interpolated(String(value), shell)}`),
    ...(service.volumes ?? []).map((volume) => `--volume=${mounted(volume, volumes)}`),
  ];
}

/** `${NAME:-otherwise}`, the one form that compose.yaml uses. */
function interpolated(text: string, shell: Surroundings['shell']): string {
  return text.replaceAll(
    /\$\{(\w+):-([^}]*)\}/g,
    (_found, name: string, otherwise: string) => shell[name] ?? otherwise,
  );
}

function mounted(volume: Mount | string, folders: Surroundings['volumes']): string {
  if (typeof volume === 'string') {
    const [source = '', target] = volume.split(':');
    return `${folders[source]}:${target}`;
  }
  const { source, target, read_only: isReadOnly = false } = volume;
  return `${folders[source]}/${volume.volume.subpath}:${target}${isReadOnly ? ':ro' : ''}`;
}
