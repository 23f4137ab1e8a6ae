import { describe, expect, it } from 'vitest';
import { readAnswer } from '#api/dashboard/session/passkey.ts';

/** The answer of a browser that says this of where it was asked. */
function answerOf(said: object): string {
  const data = {
    type: 'webauthn.get',
    challenge: 'Y2hhbGxlbmdl',
    origin: 'https://a.example',
    ...said,
  };
  const clientDataJSON = Buffer.from(JSON.stringify(data)).toString('base64url');
  return JSON.stringify({ id: 'key', response: { clientDataJSON } });
}

describe('the answer of a passkey', () => {
  it('is none when our page stood in a frame of another site, which could have led its person there [dashboard.passkeys]', () => {
    expect(readAnswer(answerOf({ crossOrigin: true, topOrigin: 'https://b.example' }))).toBeNull();
    expect(readAnswer(answerOf({ crossOrigin: false }))).toMatchObject({ id: 'key' });
    expect(readAnswer(answerOf({}))).toMatchObject({ challenge: 'Y2hhbGxlbmdl' });
  });
});
