import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isHeld } from '#api/routes/entity-tags.ts';

const gzipped = promisify(gzip);
const brotlied = promisify(brotliCompress);
/** Of its eleven: the last two take ten times as long for a tenth less. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** The smallest first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

/** A long text or picture that stays the same: encoded and made smaller once, and not sent to who has it. */
export class CompressedText {
  readonly #bytes: Buffer;
  readonly #coded: Readonly<Record<Coding, Buffer>>;
  readonly #etag: string;

  static async of(content: string | Buffer): Promise<CompressedText> {
    const bytes = Buffer.from(content as string);
    const [smallest, other] = await Promise.all([brotlied(bytes, BROTLI), gzipped(bytes)]);
    return new CompressedText(bytes, { br: smallest, gzip: other });
  }

  private constructor(bytes: Buffer, coded: Readonly<Record<Coding, Buffer>>) {
    this.#bytes = bytes;
    this.#coded = coded;
    // Weak: it is of the text, whichever way that comes.
    this.#etag = `W/"${hash('sha256', bytes, 'base64url')}"`;
  }

  /** Its type and other headers are the caller's to set. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    void reply.headers({ vary: 'accept-encoding', etag: this.#etag });
    if (isHeld(request.headers['if-none-match'], this.#etag)) return reply.code(304).send();
    const coding = CODINGS.find((each) => takes(request.headers['accept-encoding'], each));
    return coding === undefined
      ? reply.send(this.#bytes)
      : reply.header('content-encoding', coding).send(this.#coded[coding]);
  }
}

/** What one packet holds: a shorter page would come no sooner. */
const CHARS_MIN = 1_400;
/** Of zlib's nine: pages come out a tenth larger than with its sixth, in half the time. */
const LEVEL = 3;

const secret = new WeakSet<FastifyReply>();

/** Has the page of this reply sent as it is, whichever way it was opened: a secret stands on it. */
export function leaveUncompressed(reply: FastifyReply): void {
  secret.add(reply);
}

/**
 * Sends pages of `app` compressed, off the main thread, to who takes that; streams and bytes stay as they are.
 *
 * A page that another site has had opened, with words of that site in its address, goes as it is: from how long it became, the
 * site's network could learn what else stands on it (BREACH). Browsers say who had a page opened, and where they do not, a page
 * of a person is not compressed either. Nor is one that a script asks for: such a page looks again by its own address, which
 * then comes from us.
 */
export function compressPages(
  app: FastifyInstance,
  { of }: { of: 'one person' | 'everyone' },
): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < CHARS_MIN || secret.has(reply))
      return payload;
    void reply.header('vary', 'accept-encoding');
    if (of === 'one person' && !isOpenedFromHere(request)) return payload;
    if (!takes(request.headers['accept-encoding'], 'gzip')) return payload;
    const bytes = await gzipped(payload, { level: LEVEL });
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return bytes;
  });
}

/** Whether a page of ours has led to this one, or the person who typed or kept its address; to be seen, and not by a script. */
function isOpenedFromHere({ headers }: FastifyRequest): boolean {
  const by = headers['sec-fetch-site'];
  return headers['sec-fetch-dest'] === 'document' && (by === 'same-origin' || by === 'none');
}

/** Clients name some half a dozen codings. */
const OFFERS_CHARS_MAX = 512;

/** By RFC 9110, 12.5.3: the coding is named, or all that is not named is (`*`), and not with the weight 0. An endless list names none. */
export function takes(acceptEncoding: string | string[] | undefined, coding: Coding): boolean {
  const accepted = String(acceptEncoding ?? '');
  if (accepted.length > OFFERS_CHARS_MAX) return false;
  const offers = accepted
    .toLowerCase()
    .split(',')
    .map((offer) => offer.split(';').map((part) => part.trim()));
  const offered =
    offers.find(([named]) => named === coding) ?? offers.find(([named]) => named === '*');
  return offered !== undefined && !offered.slice(1).some((part) => /^q=0(\.0*)?$/.test(part));
}
