import { expect, it } from 'vitest';
import { loadConfig } from '#shared/config/config.ts';
import { inContainer } from '#shared/config/container.ts';

const ENV = {
  DATABASE_URL: 'postgres://docket@db.internal/docket',
  REDIS_URL: 'redis://redis.internal:6379',
  SUPPORT_EMAIL: 'support@docket.example',
  HOST: '10.0.0.5',
};

it('metrics listen on the loopback address outside of containers, and where the API does inside of one', () => {
  expect(loadConfig(ENV).metricsHost).toBe(inContainer() ? '10.0.0.5' : '127.0.0.1');
  expect(loadConfig({ ...ENV, METRICS_HOST: '10.0.0.7' }).metricsHost).toBe('10.0.0.7');
});

it('a container is known by what its runtime leaves in it', () => {
  expect(inContainer(() => false)).toBe(false);
  expect(inContainer((path) => path === '/.dockerenv')).toBe(true);
  expect(inContainer((path) => path === '/run/.containerenv')).toBe(true);
  expect(inContainer((path) => path === '/var/run/secrets/kubernetes.io')).toBe(true);
});
