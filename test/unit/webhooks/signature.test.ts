import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { headersOf, signingSecret } from '#shared/webhooks/signature.ts';

it('a message is signed as the example of the standard is, and its reference library takes it by each secret of a rotation [webhooks.signed]', () => {
  // The vector that libraries of the standard are tested with.
  const published = headersOf(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: '{"test": 2432232314}',
  });
  expect(published['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  const secrets = [1, 2].map((byte) => signingSecret(new Uint8Array(32).fill(byte)));
  const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1_000), body: '{"a":"ü"}' };
  const headers = headersOf(secrets, message);
  for (const secret of secrets) {
    expect(new Webhook(secret).verify(message.body, headers)).toEqual({ a: 'ü' });
    expect(() => new Webhook(secret).verify('{"a":"u"}', headers)).toThrow('No matching');
  }
});
