import { expect, it } from 'vitest';
import type { AccessLine } from '#api/plugins/answered.ts';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** A line for each answer, where operators want them. */
export function accessLog(system: () => System): void {
  /** The line of the answer with this id, once it is written. */
  async function lineOf(requestId: string | null): Promise<AccessLine> {
    const find = () =>
      system()
        .processes('api')
        .flatMap((one) => one.logs())
        .find((line) => line['event'] === 'access' && line['requestId'] === requestId);
    await until(() => find() !== undefined, `the line of ${requestId}`);
    return find() as unknown as AccessLine;
  }
  const idOf = (response: Response): string | null => response.headers.get('x-request-id');

  it('the access log says of each answer what came of it and what it took, and nothing that its caller wrote [metrics.access-log]', async () => {
    const { orgId, baseUrl, root } = system();
    const chat = { method: 'POST', route: '/v1/chat/completions', orgId, region: 'eu-west' };
    const llama = { ...chat, model: 'llama-3.1-8b', status: 200 };
    const whole = await post(system(), '/chat/completions', chatBody({ region: 'eu-west' }));
    const { usage } = (await whole.json()) as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const lines = [await lineOf(idOf(whole))];
    expect(lines[0]).toMatchObject({
      ...llama,
      stream: false,
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      keyId: expect.stringMatching(/^key_/),
      ms: expect.any(Number),
    });
    const asked = { stream: true, region: 'eu-west' };
    const broken = await post(
      system(),
      '/chat/completions',
      chatBody({ ...asked, max_tokens: 20, sandbox_fault: 'cut=reset; cut-after=2' }),
    );
    expect(payloadsIn(await broken.text()).at(-1)).toContain('"error"');
    lines.push(await lineOf(idOf(broken)));
    expect(lines[1]).toMatchObject({ ...llama, stream: true, code: 'upstream_error' });
    const leaving = new AbortController();
    const left = await post(
      system(),
      '/chat/completions',
      chatBody({ ...asked, max_tokens: 500, sandbox_fault: 'pace=50' }),
      { signal: leaving.signal },
    );
    leaving.abort();
    lines.push(await lineOf(idOf(left)));
    expect(lines[2]).toMatchObject({ ...llama, status: 499 });
    const secret = 'a-secret-of-the-caller';
    const missing = await fetch(`${baseUrl}/models/${secret}?also=${secret}`, {
      headers: { authorization: `Bearer ${system().key}`, 'user-agent': secret },
    });
    lines.push(await lineOf(idOf(missing)));
    expect(lines[3]).toMatchObject({
      status: 404,
      route: '/v1/models/*',
      code: 'model_not_found',
    });
    const unknown = await fetch(`${root}/${secret}`);
    lines.push(await lineOf(idOf(unknown)));
    expect(lines[4]).toMatchObject({ status: 404, route: null, code: 'route_not_found' });
    expect(lines[4]).not.toHaveProperty('orgId');
    const refused = await post(system(), '/chat/completions', chatBody({ temperature: 9 }));
    lines.push(await lineOf(idOf(refused)));
    expect(lines[5]).toMatchObject({ status: 400, code: 'invalid_temperature', orgId });
    const all = JSON.stringify(lines);
    for (const text of [secret, 'lighthouse', system().key]) expect(all).not.toContain(text);
  });
}
