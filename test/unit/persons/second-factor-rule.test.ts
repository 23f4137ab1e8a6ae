import { expect, it } from 'vitest';
import { lackOf, type Session } from '#shared/persons/sessions.ts';

const session = (organisation: string | null, confirmedAt: number | null): Session => ({
  id: 'a',
  since: 0,
  until: 1,
  usedAt: 0,
  address: null,
  userAgent: null,
  organisation,
  confirmedAt,
});
const app = { hasSecondFactor: true, hasPasskey: false };
const passkey = { hasSecondFactor: false, hasPasskey: true };
const none = { hasSecondFactor: false, hasPasskey: false };

it.each([
  ['a password of who has nothing more', null, 5, none, 'a second factor'],
  ['a password of who has a passkey', null, null, passkey, 'proof'],
  ['a password of who has an app, whose session was opened anew', null, null, app, 'proof'],
  ['a code', null, 5, app, undefined],
  ['a passkey', null, 5, passkey, undefined],
  ['its own issuer', 'org_a', null, none, undefined],
  ['the issuer of another organisation', 'org_b', null, none, 'a second factor'],
] as const)(
  'an organisation that requires a second factor, opened by %s [dashboard.second-factor-required]',
  (_by, organisation, confirmedAt, factors, lack) => {
    const signedIn = { session: session(organisation, confirmedAt), ...factors };
    expect(lackOf({ orgId: 'org_a', asksSecondFactor: true }, signedIn)).toBe(lack);
    expect(lackOf({ orgId: 'org_a', asksSecondFactor: false }, signedIn)).toBeUndefined();
  },
);
