import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signedHeaders } from '#shared/packs/http/s3-signature.ts';

/** The examples of "Authenticating Requests: Using the Authorization Header" in the Amazon S3 API reference. */
const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const NOW = Date.UTC(2013, 4, 24);
const HOST = 'https://examplebucket.s3.amazonaws.com';

const signatureOf = (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): string =>
  signedHeaders(
    {
      method,
      url: new URL(HOST + path),
      headers,
      bodySha256: hash('sha256', body),
      region: 'us-east-1',
      now: NOW,
    },
    CREDENTIALS,
  )['authorization']!;

describe('AWS signature version 4', () => {
  it.each([
    [
      'GET an object’s first bytes',
      signatureOf('GET', '/test.txt', { range: 'bytes=0-9' }),
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ],
    [
      'PUT an object',
      signatureOf(
        'PUT',
        '/test$file.text',
        { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
        'Welcome to Amazon S3.',
      ),
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ],
    [
      'GET a subresource without a value',
      signatureOf('GET', '/?lifecycle'),
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ],
    [
      'GET a list',
      signatureOf('GET', '/?max-keys=2&prefix=J'),
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ],
  ])('%s', (_name, authorization, signature) => {
    expect(authorization).toContain(`Signature=${signature}`);
  });

  it('a signature of S3 never holds the secret', () => {
    expect(signatureOf('GET', '/test.txt')).not.toContain(CREDENTIALS.secretAccessKey);
  });
});
