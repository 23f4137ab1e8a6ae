import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { chatBody } from '#test/support/calls.ts';
import { post } from '#test/support/http.ts';
import { joinProduct } from '#test/support/product.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import { until } from '#test/support/until.ts';

/** A name that programs have built in, and the model that the catalogue has for it. */
const [ALIAS, MODEL] = ['sandbox-small', 'llama-3.1-8b'];

const system = await joinProduct();

const namesOn = ({ credentialSubject: { model, requestedModel } }: Receipt) => ({
  model,
  requestedModel,
});

describe('a model that is asked for by an alias', () => {
  it('answers under its own name, and the receipt says both [requests.alias]', async () => {
    const openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key });
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const { data, response } = await openai.chat.completions
      .create({ model: ALIAS, messages, max_tokens: 4 })
      .withResponse();
    const { receipt } = data as unknown as { receipt: Receipt };
    expect(data.model).toBe(MODEL);
    expect(response.headers.get('x-receipt-id')).not.toBeNull();
    await expectSigned(system, receipt);
    expect(namesOn(receipt)).toEqual({ model: MODEL, requestedModel: ALIAS });

    const own = await openai.chat.completions.create({ model: MODEL, messages, max_tokens: 4 });
    expect(namesOn((own as unknown as { receipt: Receipt }).receipt)).toEqual({ model: MODEL });
  });

  it('is a model of each interface, and is read by that name', async () => {
    const anthropic = new Anthropic({
      baseURL: system.baseUrl.replace(/\/v1$/, ''),
      apiKey: system.key,
    });
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const stream = anthropic.messages.stream({ model: ALIAS, max_tokens: 4, messages });
    const message = await stream.finalMessage();
    expect(message.model).toBe(MODEL);
    const openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key });
    const responded = await openai.responses.create({ model: ALIAS, input: 'Hi' });
    expect(responded.model).toBe(MODEL);
    expect(namesOn((responded as unknown as { receipt: Receipt }).receipt).requestedModel).toBe(
      ALIAS,
    );
    expect(await openai.models.retrieve(ALIAS)).toMatchObject({ id: MODEL, aliases: [ALIAS] });
    const listed = await openai.models.list();
    expect(listed.data.map(({ id }) => id)).not.toContain(ALIAS);
  });

  it('is repeated under an Idempotency-Key as it was answered', async () => {
    const headers = { 'idempotency-key': 'by-alias' };
    const body = JSON.stringify(chatBody({ model: ALIAS }));
    const first = await post(system, '/chat/completions', body, headers);
    const again = await post(system, '/chat/completions', body, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(await first.text());
  });

  it('leads to its receipts by either name, and by none that no model has', async () => {
    const answer = await post(
      system,
      '/chat/completions',
      JSON.stringify(chatBody({ model: ALIAS })),
    );
    const { receipt } = (await answer.json()) as { receipt: Receipt };
    const headers = { authorization: `Bearer ${system.key}` };
    const newestOf = async (name: string) => {
      const listed = await fetch(`${system.baseUrl}/receipts?limit=1&model=${name}`, { headers });
      const { data, error } = (await listed.json()) as {
        data?: Receipt[];
        error?: { code: string };
      };
      return error?.code ?? data?.[0]?.id;
    };
    await until(async () => (await newestOf(MODEL)) === receipt.id, 'the receipt is listed');
    expect(await newestOf(ALIAS)).toBe(receipt.id);
    expect(await newestOf('sandbox-smaller')).toBe('invalid_model');
  });
});
