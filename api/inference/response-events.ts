import type { FastifyRequest } from 'fastify';
import { emptyResponse, type ResponseNames } from '#shared/dialects/response-object.ts';
import { codeRow } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { frameOf } from '#shared/kernel/event-stream.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { memberText, setMember } from '#shared/kernel/json-text.ts';
import { isAnnouncement } from '#shared/receipts/response-events.ts';
import type { PendingReceipt } from '#shared/receipts/pending.ts';
import { envelopeOf } from '#api/plugins/error-envelope.ts';
import type { StreamDialect } from './stream-dialects.ts';

const EVENT = 'event: ';
const DATA = 'data: ';

/**
 * The events of one response as its client gets them. Those of the pipeline pass as they are, until one had to say that the
 * response is still being made: from then on they are numbered anew, and announce it no more.
 */
export class ResponseEvents implements StreamDialect {
  /** Clients of responses count events alone, and some give up on a stream that has none for a quarter of a minute. */
  readonly silenceMs = 10_000;
  /** The last event says by its name that it is the last. */
  readonly end = '';
  readonly #names: ResponseNames;
  #sent = 0;
  #hasAdded = false;

  constructor(names: ResponseNames) {
    this.#names = names;
  }

  /** Frames that say that the response is still being made. */
  alive(): string {
    this.#hasAdded = true;
    const response = emptyResponse(this.#names, 'in_progress');
    const created = this.#sent === 0 ? this.#frame('response.created', { response }) : '';
    return created + this.#frame('response.in_progress', { response });
  }

  /** Frames of the pipeline, whole ones. */
  frames(text: string): string {
    if (!this.#hasAdded) {
      this.#count(text);
      return text;
    }
    return text
      .split('\n\n')
      .filter((frame) => frame !== '')
      .map((frame) => this.#renumbered(frame))
      .join('');
  }

  /** The last payload of the pipeline. */
  last(payload: string): string {
    if (!this.#hasAdded) return payload;
    return setMember(payload, 'sequence_number', String(this.#sent));
  }

  /**
   * A last frame that says why there is no more, with what came of the output and where the receipt is, and with the member
   * `error` beside them, by which SDKs throw.
   */
  failed(fault: Fault, receipt?: PendingReceipt): string {
    const { error } = envelopeOf(fault);
    const { output = [] } = fault;
    const response = {
      ...emptyResponse(this.#names, 'failed'),
      error: { code: knownCode(fault), message: error.message },
      output,
    };
    return this.#frame('response.failed', { response, error, ...(receipt && { receipt }) });
  }

  #frame(type: string, fields: object): string {
    const payload = JSON.stringify({ type, sequence_number: this.#sent, ...fields });
    this.#sent += 1;
    return frameOf(payload, 'responses');
  }

  #renumbered(frame: string): string {
    const lines = frame.split('\n').filter((line) => line.startsWith(DATA));
    const payload = lines.map((line) => line.slice(DATA.length)).join('\n');
    if (isAnnouncement(JSON.parse(memberText(payload, 'type') ?? 'null'))) return '';
    const numbered = setMember(payload, 'sequence_number', String(this.#sent));
    this.#sent += 1;
    return frameOf(numbered, 'responses');
  }

  #count(text: string): void {
    for (let at = text.indexOf(EVENT); at !== -1; at = text.indexOf(EVENT, at + 1))
      if (at === 0 || text[at - 1] === '\n') this.#sent += 1;
  }
}

/**
 * What a response says of its failure. Agents know by OpenAI's own codes alone that it would come again: they shorten the
 * conversation at the first and show the message of the second, and ask five times more at any other.
 */
function knownCode({ code }: Fault): string {
  if (code === 'prompt_too_long') return 'context_length_exceeded';
  return codeRow(code).retry ? code : 'invalid_prompt';
}

const OF_RESPONSES = /^\/v1\/responses\/?(?:\?|$)/;
const EVENTS_ALONE = /^\s*text\/event-stream\s*(?:;|$)/i;

/**
 * The events by which a caller that takes nothing but events is told that its prompt is too long, in place of an error answer:
 * Codex shortens a conversation when it reads them, and would send the same again after any answer of another kind. Undefined
 * for all others, and for any other refusal.
 */
export function overflowEvents(
  fault: Fault,
  { id, url, headers: { accept = '' }, inference }: FastifyRequest,
): string | undefined {
  if (fault.code !== 'prompt_too_long' || inference?.stream !== true) return undefined;
  if (!OF_RESPONSES.test(url) || !EVENTS_ALONE.test(accept)) return undefined;
  const { requestedModel, model = requestedModel } = inference;
  const events = new ResponseEvents({ requestId: id, startedAt: timeOfId(id), model });
  return events.alive() + events.failed(fault);
}
