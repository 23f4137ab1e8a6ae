import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROLES } from '#shared/config/settings.ts';
import { ROOT } from '#test/architecture/source-files.ts';
import { readCompose } from '#lab/image/compose.ts';

const services = Object.fromEntries(readCompose());
const ours = Object.entries(services).filter(([, { image }]) => image === 'docket');
const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

describe('compose.yaml', () => {
  it.each(ROLES)('runs %s after the migrations, with a health check', (role) => {
    const service = services[role]!;
    expect(service.command).toEqual(['run', role]);
    expect(service.depends_on?.['release']).toEqual({
      condition: 'service_completed_successfully',
    });
    expect(service.healthcheck?.test.join(' ')).toContain('/readyz');
    expect(service.stop_grace_period).toBe('30s');
  });

  it.each(ours)(
    'confines %s: nothing to write to, no capability, none to gain',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    },
  );

  it.each(ROLES)(
    'shows %s its own secrets and keys, read-only, and nothing of the others',
    (role) => {
      const mounts = (services[role]!.volumes ?? []).filter((volume) => typeof volume === 'object');
      const folders = mounts.map(({ volume }) => volume.subpath);
      expect(folders).toContain(role);
      expect(['signing-keys', 'lane-keys', role]).toEqual(expect.arrayContaining(folders));
      expect(mounts.every(({ source, read_only }) => source === 'secrets' && read_only)).toBe(true);
      expect(JSON.stringify(services[role]!.volumes)).not.toContain('secrets:');
    },
  );

  it('bounds the log of every service that stays', () => {
    const staying = Object.values(services).filter(({ restart }) => restart !== 'no');
    expect(staying.length).toBeGreaterThan(ROLES.length);
    for (const { logging } of staying) {
      expect(Object.keys(logging?.options ?? {})).toEqual(['max-size', 'max-file']);
    }
  });

  it('bounds the memory of every process', () => {
    for (const [, { mem_limit: limit }] of ours) expect(limit).toBe('1g');
  });

  it('runs two of each role, and names each image of others by an exact version', () => {
    for (const role of ROLES) expect(services[role]!.deploy?.replicas).toBe('${REPLICAS:-2}');
    const images = Object.values(services).map(({ image }) => image);
    for (const image of images.filter((each) => each !== 'docket')) {
      expect(image).toMatch(/^(?:postgres:\d+\.\d+|(?:redis|caddy):\d+\.\d+\.\d+)$/);
    }
  });

  it('gives no process a secret in its environment', () => {
    const environments = JSON.stringify(ours.map(([, { environment }]) => environment));
    expect(environments).not.toMatch(/"(DATABASE_URL|REDIS_URL|SESSION_SECRET)"/);
    expect(environments).not.toMatch(/password/i);
  });

  it('publishes one port, that of the proxy, on the loopback address', () => {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(published).toEqual(['127.0.0.1:8080:8080']);
    expect(services['proxy']!.ports).toEqual(published);
  });
});

describe('the Dockerfile', () => {
  it('takes its base as an argument, runs as an unprivileged user and starts docket', () => {
    expect(dockerfile).toMatch(/^ARG BASE=node:26-slim$/m);
    expect(dockerfile.match(/^FROM \S+/gm)).toEqual(['FROM ${BASE}', 'FROM ${BASE}']);
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(dockerfile).toMatch(/npm ci --omit=dev/);
  });

  it('copies only what the build is shown', () => {
    const shown = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, names = '']) => names.split(' '),
    );
    expect(copied.filter((name) => !shown.includes(`!${name}`))).toEqual([]);
    expect(shown[0]).toBe('*');
  });
});
