import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { DEADLINE_MS } from '#api/inference/read.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { SETTINGS } from '#shared/config/settings.ts';
import { EXIT_CONFIG } from '#shared/process/exits.ts';
import { readProcfile } from '#embedded/launcher/roles.ts';
import { ROOT } from '#test/architecture/source-files.ts';

const OPS = join(ROOT, 'ops');
const textOf = (name: string): string => readFileSync(join(OPS, name), 'utf8');
const unit = textOf('systemd/docket@.service');
const release = textOf('systemd/docket-release.service');
const PROXIES = { nginx: textOf('proxies/nginx.conf'), Caddy: textOf('proxies/Caddyfile') };
const defaults = loadToolConfig({});
const MIB = 1_024 * 1_024;

const numberIn = (text: string, form: RegExp): number => Number(form.exec(text)?.[1]);

it('units and proxies name settings that there are', () => {
  const known = new Set(Object.values(SETTINGS).map(({ name }) => name));
  const all = [unit, release, ...Object.values(PROXIES)].join('\n');
  const named = [...all.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.has(name) && !/^(NODE_ENV|AF_.*)$/.test(name))).toEqual([]);
});

it('the unit starts again what may be, and lets a process end by itself', () => {
  expect(numberIn(unit, /^RestartPreventExitStatus=(\d+)$/m)).toBe(EXIT_CONFIG);
  expect(numberIn(unit, /^TimeoutStopSec=(\d+)$/m) * 1_000).toBeGreaterThan(defaults.shutdownMs);
  // As docs/operations.md asks of an api process.
  expect(unit).toContain('LimitNOFILE=17408');
  const step = readProcfile(pathToFileURL(`${ROOT}/`)).find(({ role }) => role === 'release');
  expect(release).toContain(`ExecStart=node ${step!.entry}\n`);
});

it.each(Object.entries(PROXIES))(
  '%s finds the api, lets its largest bodies through, buffers nothing, and waits for its slowest answers',
  (_name, proxy) => {
    const ports = [...proxy.matchAll(/10\.0\.0\.\d+:(\d+)/g)].map(([, port]) => Number(port));
    expect(ports).toEqual([defaults.port, defaults.port]);
    const bodyBytes = numberIn(proxy, /max(?:_body)?_size (\d+)m/i) * MIB;
    expect(bodyBytes).toBeGreaterThan(defaults.bodyBytesMax);
    expect(proxy).toMatch(/proxy_buffering off;|flush_interval -1\n/);
    const silentMs = numberIn(proxy, /(?:read|response_header)_timeout (\d+)s/) * 1_000;
    expect(silentMs).toBeGreaterThan(DEADLINE_MS);
    const idleMs = numberIn(proxy, /keepalive(?:_timeout)? (\d+)s/) * 1_000;
    expect(idleMs).toBeLessThan(defaults.lameDuckMs);
  },
);

it('Caddy asks for readiness where processes say it', () => {
  expect(numberIn(PROXIES.Caddy, /health_port (\d+)/)).toBe(defaults.metricsPort);
});
