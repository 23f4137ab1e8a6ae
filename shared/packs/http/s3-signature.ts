import { createHmac, hash } from 'node:crypto';

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface SignableRequest {
  method: string;
  url: URL;
  /** Lower-case names; all of them are signed, `host` with them. */
  headers: Readonly<Record<string, string>>;
  /** Hex SHA-256 of the body. */
  bodySha256: string;
  region: string;
  /** Epoch milliseconds. */
  now: number;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/**
 * The headers with which a request to S3 is accepted: AWS Signature Version 4 ("Authenticating Requests: Using the
 * Authorization Header", Amazon S3 API reference), with the hash of the body.
 */
export function signedHeaders(
  request: SignableRequest,
  { accessKeyId, secretAccessKey }: S3Credentials,
): Record<string, string> {
  const { method, url, region, bodySha256, now } = request;
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    'x-amz-content-sha256': bodySha256,
    'x-amz-date': time,
  };
  const names = Object.keys(headers).toSorted();
  const canonical = [
    method,
    url.pathname.split('/').map(encodeSegment).join('/'),
    canonicalQuery(url),
    ...names.map((name) => `${name}:${headers[name]!.trim()}`),
    '',
    names.join(';'),
    bodySha256,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = [ALGORITHM, time, scope, hash('sha256', canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(text).digest('hex');
  headers['authorization'] =
    `${ALGORITHM} Credential=${accessKeyId}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return headers;
}

function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&');
}

/** A segment of a path that `URL` has encoded already, in AWS's spelling. */
function encodeSegment(segment: string): string {
  return encode(decodeURIComponent(segment));
}

/** RFC 3986: everything but letters, digits and `-._~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
