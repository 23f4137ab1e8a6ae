import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isHeld } from '#api/routes/entity-tags.ts';

const packed = promisify(gzip);

/** A long text or picture that stays the same: encoded and made smaller once, and not sent to who has it. */
export class CompressedText {
  readonly #bytes: Buffer;
  readonly #gzipped: Buffer;
  readonly #etag: string;

  static async of(content: string | Buffer): Promise<CompressedText> {
    const bytes = Buffer.from(content as string);
    return new CompressedText(bytes, await packed(bytes));
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

/** Below this a packet is a packet. */
const CHARS_MIN = 1_400;
/** Of zlib's nine: pages come out a tenth larger than with its sixth, in half the time. */
const LEVEL = 3;

/**
 * Sends pages of `app` compressed, off the main thread, to who takes that; streams and bytes stay as they are.
 *
 * A page that another site has had opened, with words of that site in its address, goes as it is: from how long it became, the
 * site's network could learn what else stands on it, the token of its forms first (BREACH). Browsers say who had a page opened,
 * and where they do not, a page of a person is not compressed either.
 */
export function compressPages(app: FastifyInstance, { of }: { of: 'one person' | 'everyone' }): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < CHARS_MIN) return payload;
    void reply.header('vary', 'accept-encoding');
    if (of === 'one person' && !isAskedForFromHere(request)) return payload;
    if (!takesGzip(request.headers['accept-encoding'])) return payload;
    const bytes = await packed(payload, { level: LEVEL });
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return bytes;
  });
}

/** Whether a page of ours has led to this one, or the person who typed or kept its address. */
function isAskedForFromHere({ headers }: FastifyRequest): boolean {
  const by = headers['sec-fetch-site'];
  return by === 'same-origin' || by === 'none';
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
