import fc from 'fast-check';

/** Requests as bytes on a connection: whole, cut short, damaged, or none at all. */
export function wireBytes(key: string): fc.Arbitrary<Buffer> {
  const body = '{"name":"fuzz"';
  const whole = fc.constantFrom(
    `GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    `GET /v1/keys?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    `POST /v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    `POST /v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  const damage = fc.oneof(
    fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % bytes.length)),
    fc
      .tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([at, odd]) => (bytes: Buffer) => {
        const cut = at % bytes.length;
        return Buffer.concat([bytes.subarray(0, cut), odd, bytes.subarray(cut)]);
      }),
    fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => (bytes: Buffer) => {
      const copy = Buffer.from(bytes);
      copy[at % copy.length] = byte;
      return copy;
    }),
    fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
  );
  return fc.oneof(
    {
      weight: 9,
      arbitrary: fc.tuple(whole, damage).map(([text, harm]) => harm(Buffer.from(text))),
    },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    },
  );
}
