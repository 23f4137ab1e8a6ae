/**
 * A program with the package and the OpenAI SDK installed: asks a gateway for answers whole, streamed and
 * of the Responses API, takes their receipts and judges them. Prints one JSON object.
 */
import { type AnswerReceipt, keepReceipt, receiptOf } from 'docket/client';
import { verifyReceipt } from 'docket/verify';
import OpenAI from 'openai';

const [baseURL = '', apiKey = ''] = process.argv.slice(2);
const openai = new OpenAI({ baseURL, apiKey });
const model = 'llama-3.1-8b';
const messages = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];

const didJson = await (await fetch(new URL('/.well-known/did.json', baseURL))).text();

/** The verdict, and the tokens of the answer as the receipt's type has them. */
async function judged(receipt: AnswerReceipt | undefined): Promise<string> {
  if (receipt === undefined || receipt.tier === 'pending') return 'no receipt yet';
  const tokens: number = receipt.credentialSubject.outputTokens ?? 0;
  const trust = { didJson, source: 'did.json', isChosen: true };
  const { verdict } = await verifyReceipt(JSON.stringify(receipt), { trust });
  return tokens > 0 ? verdict : 'no tokens';
}

const whole = await openai.chat.completions.create({ model, messages });
const chunks = keepReceipt(await openai.chat.completions.create({ model, messages, stream: true }));
let streamed = '';
for await (const { choices } of chunks) streamed += choices[0]?.delta.content ?? '';
const response = await openai.responses.create({ model, input: 'Tell me about the lighthouse.' });
const events = keepReceipt(
  await openai.responses.create({ model, input: 'Tell me about the lighthouse.', stream: true }),
);
for await (const event of events) void event.type;

console.log(
  JSON.stringify({
    whole: await judged(receiptOf(whole)),
    streamed: await judged(chunks.receipt),
    response: await judged(receiptOf(response)),
    events: await judged(events.receipt),
    text: streamed.length > 0,
  }),
);
