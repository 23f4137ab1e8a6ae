import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A long text that stays the same: made smaller once, for whoever takes it so. */
export class CompressedText {
  readonly #text: string;
  readonly #gzipped: Buffer;

  static async of(text: string): Promise<CompressedText> {
    return new CompressedText(text, await promisify(gzip)(text));
  }

  private constructor(text: string, gzipped: Buffer) {
    this.#text = text;
    this.#gzipped = gzipped;
  }

  /** Its type and other headers are the caller's to set. */
  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('vary', 'accept-encoding');
    return takesGzip(request.headers['accept-encoding'])
      ? reply.header('content-encoding', 'gzip').send(this.#gzipped)
      : reply.send(this.#text);
  }
}

/** By RFC 9110, 12.5.3: gzip is named, or whatever is not named, and not with the weight 0. */
export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  const offers = String(acceptEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((offer) => offer.split(';').map((part) => part.trim()));
  const offered =
    offers.find(([coding]) => coding === 'gzip') ?? offers.find(([coding]) => coding === '*');
  return offered !== undefined && !offered.slice(1).some((part) => /^q=0(\.0*)?$/.test(part));
}
