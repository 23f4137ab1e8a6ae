import { expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

export type Validate = (body: unknown) => unknown;
export type Row = [rule: string, body: Record<string, unknown>, param: string, path?: string];

export type Make = (over: Record<string, unknown>) => Record<string, unknown>;

export const chat: Make = (over: Record<string, unknown>) => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  ...over,
});
export const completion: Make = (over: Record<string, unknown>) => ({
  model: 'm',
  prompt: 'hello',
  ...over,
});
export const embedding: Make = (over: Record<string, unknown>) => ({
  model: 'm',
  input: 'hello',
  ...over,
});
export const withMessage = (...messages: unknown[]) => chat({ messages });
export const user = { role: 'user', content: 'hello' };

export const faultOf = (validate: Validate, body: unknown): Fault =>
  thrownBy(Fault, () => validate(body))!;

export function refuses(validate: Validate, rows: Row[]): void {
  it.each(rows)('%s is refused', (_rule, body, param, path) => {
    const fault = faultOf(validate, body);
    expect(fault).toMatchObject({
      code: `invalid_${param}`,
      param: path ?? param,
      type: 'validation_error',
      status: 400,
    });
    expect(fault.message).toContain(`\`${path ?? param}\``);
  });
}

/** Every sampler rule of the contract, for the two endpoints that share them. */
export const samplerRows = (make: Make): Row[] => {
  const wrong: Record<string, unknown[]> = {
    temperature: [-0.1, 2.1, '1', true, {}, [1]],
    top_p: [-0.1, 1.1, '1'],
    n: [0, 9, 1.5, '1'],
    max_tokens: [-1, 1.5, '10'],
    presence_penalty: [-2.1, 2.1, 'x'],
    frequency_penalty: [-2.1, 2.1, 'x'],
    seed: [1.5, '1'],
    stop: [['a', 'b', 'c', 'd', 'e'], 5, {}],
    logit_bias: [{ '50256': 101 }, { '50256': 'x' }, [1], 'x'],
    stream: ['true', 1],
    user: ['x'.repeat(513), 5],
    top_k: [-2, 1.5, 'x'],
    min_p: [-0.1, 1.1],
    repetition_penalty: [0, -1, 10.1],
    region: [5, ['eu-west']],
    tier: [5, {}],
    receipt: ['always', 5, true],
  };
  return Object.entries(wrong).flatMap(([param, values]) =>
    values.map((value): Row => [
      `${param}: ${JSON.stringify(value).slice(0, 30)}`,
      make({ [param]: value }),
      param,
    ]),
  );
};

export const samplerEdges: Record<string, unknown[]> = {
  temperature: [0, 2, 0.7, null],
  top_p: [0, 1, null],
  n: [1, 8, null],
  max_tokens: [1, 1_000_000, null],
  presence_penalty: [-2, 2],
  frequency_penalty: [-2, 2],
  seed: [0, -5, 2 ** 63],
  stop: ['x', ['a'], ['a', 'b', 'c', 'd'], null],
  logit_bias: [{}, { '50256': -100, '1': 100 }, null],
  stream: [true, false, null],
  user: ['', 'x'.repeat(512), '😀'.repeat(512)],
  top_k: [-1, 0, 50],
  min_p: [0, 1],
  repetition_penalty: [0.1, 1.1],
  region: ['eu-west', null],
  tier: ['audit', null],
  receipt: ['required', 'best_effort', null],
};

export const acceptsEdges = (validate: Validate, make: Make, edges: Record<string, unknown[]>) => {
  it.each(Object.entries(edges))('the edges of %s are accepted', (param, values) => {
    for (const value of values) {
      const body = make({ [param]: value });
      expect(validate(body)).toBe(body);
    }
  });
};
