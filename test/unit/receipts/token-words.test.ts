import { expect, it } from 'vitest';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { tokenWords } from '#shared/receipts/token-words.ts';

type Subject = ReceiptDocument['credentialSubject'];

it.each([
  [{ usageSource: 'upstream' }, 'as the upstream counted'],
  [{ usageSource: 'counted' }, 'as we counted'],
  [
    {
      usageSource: 'counted',
      tokenInterval: { inputLower: 8, inputUpper: 8, outputLower: 4, outputUpper: 1_400 },
    },
    'as we counted: 8 in, 4–1\u202F400 out',
  ],
  [
    {
      usageSource: 'counted',
      extrapolated: true,
      tokenInterval: { inputLower: 2, inputUpper: 9, outputLower: 4, outputUpper: 6 },
    },
    'as we counted a part and estimated the rest: 2–9 in, 4–6 out',
  ],
])('tokens are told with who counted them, and between what they lie: %j', (fields, counted) => {
  const subject = { inputTokens: 8, outputTokens: 1_234, ...fields } as Subject;
  expect(tokenWords(subject)).toEqual({ tokens: '8 in, 1\u202F234 out', counted });
});

it('tokens that are not known are said not to be known', () => {
  expect(tokenWords({} as Subject)).toEqual({ tokens: 'not known', counted: '' });
});
