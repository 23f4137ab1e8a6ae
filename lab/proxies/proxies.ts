import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childEnvironment } from '#test/support/child-environment.ts';

const OPS = join(import.meta.dirname, '../../ops');
const textOf = (name: string): string => readFileSync(join(OPS, name), 'utf8');

/** What a proxy has to say of itself, in its folder. */
export const LOG = 'proxy.log';

/** Where a proxy listens, and what is behind it: on both addresses the same ports. */
export interface Ports {
  own: number;
  api: number;
  metrics: number;
}

export interface Proxy {
  name: string;
  program: string;
  /** Has the program look at the example as it is. @throws Error with what is wrong */
  check: (directory: string) => void;
  /** Starts the program with the example, but for addresses, and without TLS. */
  start: (directory: string, ports: Ports) => ChildProcess;
  /** Has it send nothing new to an address, or to all again: of a program that does not ask for readiness. */
  setAside?: (child: ChildProcess, directory: string, ports: Ports, host?: string) => void;
}

/** The addresses of the examples, as those of this machine: all that begin with 127 are its own on Linux. */
function withPorts(text: string, { api, metrics }: Ports): string {
  return text
    .replaceAll('10.0.0.11:8080', `127.0.0.1:${api}`)
    .replaceAll('10.0.0.12:8080', `127.0.0.2:${api}`)
    .replace('health_port 9464', `health_port ${metrics}`);
}

/** A file of nginx around an example, which is for within its `http`. */
function nginxFile(directory: string, example: string): string {
  const file = join(directory, 'nginx.conf');
  const own = `daemon off; pid ${directory}/nginx.pid; error_log ${directory}/${LOG};`;
  writeFileSync(file, `${own}\nevents {}\nhttp { access_log off;\n${example}\n}\n`);
  return file;
}

const NGINX: Proxy = {
  name: 'nginx',
  program: 'nginx',
  check(directory) {
    const [certificate, key] = ['fullchain.pem', 'key.pem'].map((name) => join(directory, name));
    const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj /CN=x';
    run('openssl', [...request.split(' '), '-keyout', key!, '-out', certificate!]);
    const example = textOf('proxies/nginx.conf').replaceAll('/etc/ssl/docket', directory);
    run('nginx', ['-t', '-c', nginxFile(directory, example)]);
  },
  start: (directory, ports) =>
    begin('nginx', ['-c', nginxFile(directory, plainNginx(ports))], directory),
  setAside(child, directory, ports, host) {
    const server = `server ${host}:${ports.api}`;
    nginxFile(directory, plainNginx(ports).replace(server, `${server} down`));
    child.kill('SIGHUP');
  },
};

const plainNginx = (ports: Ports): string =>
  withPorts(textOf('proxies/nginx.conf'), ports)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${ports.own};`)
    .replaceAll(/^ *ssl_.*$/gm, '');

const CADDY: Proxy = {
  name: 'Caddy',
  program: 'caddy',
  check() {
    run('caddy', [
      'validate',
      '--adapter',
      'caddyfile',
      '--config',
      join(OPS, 'proxies/Caddyfile'),
    ]);
  },
  start(directory, ports) {
    const file = join(directory, 'Caddyfile');
    const example = withPorts(textOf('proxies/Caddyfile'), ports);
    const site = example.replace('gateway.example {', `http://127.0.0.1:${ports.own} {`);
    writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
    return begin('caddy', ['run', '--adapter', 'caddyfile', '--config', file], directory);
  },
};

export const PROXIES: readonly Proxy[] = [NGINX, CADDY];

/** Has systemd look at the units as they are. @throws Error with what is wrong */
export function checkUnits(directory: string): void {
  const names = ['docket@.service', 'docket-release.service', 'docket-signing-agent.service'];
  const units = names.map((name) => {
    const file = join(directory, name.replace('@', '@api-2'));
    writeFileSync(file, textOf(`systemd/${name}`));
    return file;
  });
  run('systemd-analyze', ['verify', ...units]);
}

export function isThere(program: string): boolean {
  try {
    run('which', [program]);
    return true;
  } catch {
    return false;
  }
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function begin(program: string, args: readonly string[], home: string): ChildProcess {
  const log = openSync(join(home, LOG), 'a');
  return spawn(program, args, {
    stdio: ['ignore', log, log],
    env: { ...childEnvironment(), HOME: home },
  });
}
