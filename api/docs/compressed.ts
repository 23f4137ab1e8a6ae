import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHeld } from '#api/routes/entity-tags.ts';

/** A long text or picture that stays the same: encoded and made smaller once, and not sent to who has it. */
export class CompressedText {
  readonly #bytes: Buffer;
  readonly #gzipped: Buffer;
  readonly #etag: string;

  static async of(content: string | Buffer): Promise<CompressedText> {
    const bytes = Buffer.from(content as string);
    return new CompressedText(bytes, await promisify(gzip)(bytes));
  }

  private constructor(bytes: Buffer, gzipped: Buffer) {
    this.#bytes = bytes;
    this.#gzipped = gzipped;
    // Weak: it is of the text, whichever way that comes.
    this.#etag = `W/"${hash('sha256', bytes, 'base64url')}"`;
  }

  /** Its type and other headers are the caller's to set. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    void reply.headers({ vary: 'accept-encoding', etag: this.#etag });
    if (isHeld(request.headers['if-none-match'], this.#etag)) return reply.code(304).send();
    return takesGzip(request.headers['accept-encoding'])
      ? reply.header('content-encoding', 'gzip').send(this.#gzipped)
      : reply.send(this.#bytes);
  }
}

/** Clients name some half a dozen codings. */
const OFFERS_CHARS_MAX = 512;

/** By RFC 9110, 12.5.3: gzip is named, or all that is not named is (`*`), and not with the weight 0. An endless list names none. */
export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  const accepted = String(acceptEncoding ?? '');
  if (accepted.length > OFFERS_CHARS_MAX) return false;
  const offers = accepted
    .toLowerCase()
    .split(',')
    .map((offer) => offer.split(';').map((part) => part.trim()));
  const offered =
    offers.find(([coding]) => coding === 'gzip') ?? offers.find(([coding]) => coding === '*');
  return offered !== undefined && !offered.slice(1).some((part) => /^q=0(\.0*)?$/.test(part));
}
