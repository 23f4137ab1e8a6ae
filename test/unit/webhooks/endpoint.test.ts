import { expect, it } from 'vitest';
import { checkEndpoint } from '#shared/webhooks/endpoint.ts';

const INSIDE = ['http://127.0.0.1:9000'];
const check = (over: object) =>
  checkEndpoint(
    { address: 'https://hooks.example/x?y=1', description: 'a', events: ['key.leaked'], ...over },
    INSIDE,
  );

it('an address is one of the internet over TLS, without a name, a password or a fragment; an operator may allow others [webhooks.outside]', () => {
  expect(check({}).address).toBe('https://hooks.example/x?y=1');
  expect(check({ address: 'http://127.0.0.1:9000/x' }).address).toBe('http://127.0.0.1:9000/x');
  for (const address of [
    '',
    'hooks.example',
    'http://hooks.example/',
    'ftp://hooks.example/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://169.254.169.254/latest',
    'https://0x7f.1/',
    'https://name:password@hooks.example/',
    'https://hooks.example/#x',
    'https://hooks.example/ x',
    `https://hooks.example/${'x'.repeat(500)}`,
  ]) {
    expect(() => check({ address }), address).toThrow('The address begins with https://');
  }
});

it('events are those of the table, at least one, and a test is not among them [webhooks.page]', () => {
  expect(check({ events: ['nothing', 'key.leaked', 'webhook.test'] }).events).toEqual([
    'key.leaked',
  ]);
  expect(() => check({ events: ['webhook.test'] })).toThrow('Choose at least one event');
  expect(() => check({ description: 'a\nb' })).toThrow('A description has at most');
});
