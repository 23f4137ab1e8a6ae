import { parseTime } from '#shared/kernel/time.ts';
import { Type, type Static } from 'typebox';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { describeKey } from '#shared/keys/describe.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import type { KeyRequest } from '#shared/keys/rules.ts';

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);
const Time = Type.String({ description: 'RFC 3339, UTC' });

const RateLimit = Type.Object(
  {
    requests_per_second: Type.Integer({ minimum: 1 }),
    burst: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);

const keyFields = {
  object: Type.Literal('api_key'),
  id: Type.String(),
  name: Type.String(),
  display: Type.String({ description: 'First 8 and last 4 characters' }),
  state: Type.Union([Type.Literal('active'), Type.Literal('revoked'), Type.Literal('expired')]),
  scopes: Type.Array(Type.String({ enum: [...SCOPES] })),
  rate_limit: Nullable(Type.Object({ requests_per_second: Type.Integer(), burst: Type.Integer() })),
  lineage_id: Type.String({ description: 'Shared by a key and its rotation successors' }),
  predecessor_id: Nullable(Type.String()),
  created_at: Time,
  expires_at: Nullable(Time),
  revoked_at: Nullable(Time),
  restorable_until: Nullable(Time),
  last_used_at: Nullable(Time),
};
export const Key = Type.Object(keyFields, { title: 'ApiKey' });
export const NewKey = Type.Object(
  { ...keyFields, key: Type.String({ description: 'The secret, shown this one time' }) },
  { title: 'IssuedApiKey' },
);

export const IssueBody = Type.Object(
  {
    name: Type.String(),
    scopes: Type.Optional(Type.Array(Type.String(), { maxItems: 32 })),
    expires_at: Type.Optional(Nullable(Type.String())),
    rate_limit: Type.Optional(Nullable(RateLimit)),
  },
  { additionalProperties: false },
);
export const RotateBody = Type.Object(
  {
    scopes: Type.Optional(Type.Array(Type.String(), { maxItems: 32 })),
    expires_at: Type.Optional(Nullable(Type.String())),
  },
  { additionalProperties: false },
);
export const ReasonBody = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: REASON_LENGTH_MAX })) },
  { additionalProperties: false },
);
export const Params = Type.Object({ id: Type.String({ maxLength: 64 }) });

/** The wire's names and units into the domain's; what the values may be is the domain's to say. */
export function requested(
  body: Partial<Static<typeof IssueBody>>,
): Pick<KeyRequest, 'scopes' | 'expiresAt' | 'limit'> {
  const limit = body.rate_limit ?? null;
  return {
    ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
    expiresAt: parseExpiry(body.expires_at ?? null),
    ...(limit === null
      ? {}
      : {
          limit: {
            requestsPerSecond: limit.requests_per_second,
            ...(limit.burst === undefined ? {} : { burst: limit.burst }),
          },
        }),
  };
}

function parseExpiry(text: string | null): number | null {
  if (text === null) return null;
  const time = parseTime(text);
  if (time === undefined) {
    throw new Fault('invalid_expiry', { message: 'The expiry must be a time as in RFC 3339.' });
  }
  return time;
}

export function describe(key: KeyRecord, now: number): Static<typeof Key> {
  const description = describeKey(key, now);
  return { ...description, scopes: [...description.scopes] };
}

export function newKey(key: KeyRecord, plaintext: string, now: number): Static<typeof NewKey> {
  return { ...describe(key, now), key: plaintext };
}
