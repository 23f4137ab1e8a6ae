import type { Catalogue, Model, Price } from './catalogue.ts';

/**
 * What an operator's price list gives for a request, in whole millionths of a millionth of the currency: prices are of a million
 * tokens and have at most six decimals, so that nothing is ever rounded.
 */
const COST_PLACES = 12;

/** Tokens that have a price each. Those served from a cache are among the input. */
export interface PricedTokens {
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

/** What chooses among the prices of a model. */
export interface PricedAt {
  model: string;
  region: string;
  endpoint: string | undefined;
  /** Epoch milliseconds of the request. */
  at: number;
}

/** The price of a token from a decimal of a million tokens. */
export function priceOfToken(perMillion: string): number {
  const [whole = '', fraction = ''] = perMillion.split('.');
  return Number(whole + fraction.padEnd(COST_PLACES / 2, '0'));
}

/** The price that is valid: the youngest of those that say most about where the request ran. */
function validPrice(
  { prices = [] }: Pick<Model, 'prices'>,
  { region, endpoint, at }: Omit<PricedAt, 'model'>,
): Price | undefined {
  let valid: Price | undefined;
  for (const price of prices) {
    const isMeant =
      price.from <= at &&
      (price.region === undefined || price.region === region) &&
      (price.endpoint === undefined || price.endpoint === endpoint);
    if (isMeant && (valid === undefined || isBefore(valid, price))) valid = price;
  }
  return valid;
}

/** Whether the other price goes before this one: an endpoint says more than a region. */
function isBefore(one: Price, other: Price): boolean {
  const rank = ({ endpoint, region }: Price): number =>
    (endpoint === undefined ? 0 : 2) + (region === undefined ? 0 : 1);
  return rank(other) > rank(one) || (rank(other) === rank(one) && other.from > one.from);
}

/** What a request costs, as `EUR 0.00042`; undefined where the catalogue has no price for it. */
export function costOf(
  { currency, models }: Pick<Catalogue, 'currency' | 'models'>,
  place: PricedAt,
  { inputTokens, cachedInputTokens, outputTokens }: PricedTokens,
): string | undefined {
  if (currency === undefined) return undefined;
  const model = models.find(({ id }) => id === place.model);
  const price = model && validPrice(model, place);
  if (price === undefined) return undefined;
  const cached = Math.min(cachedInputTokens, inputTokens);
  const cost = [
    [inputTokens - cached, price.input],
    [cached, price.cachedInput],
    [outputTokens, price.output],
  ] as const;
  const sum = cost.reduce((all, [tokens, each]) => all + BigInt(tokens) * BigInt(each), 0n);
  return `${currency} ${decimalOf(sum)}`;
}

function decimalOf(cost: bigint): string {
  const digits = cost.toString().padStart(COST_PLACES + 1, '0');
  const fraction = digits.slice(-COST_PLACES).replace(/0+$/, '');
  const whole = digits.slice(0, -COST_PLACES);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The most that a request may cost whose tokens are bounded, wherever it runs: 0 where the model has no price. */
export function costBound(
  model: Pick<Model, 'prices'>,
  at: number,
  tokens: { input: number; output: number },
): number {
  const { prices = [] } = model;
  // The youngest price of each place is valid there; a list of many years is read once.
  const youngest = new Map<string, Price>();
  for (const price of prices) {
    const place = JSON.stringify([price.endpoint, price.region]);
    const known = youngest.get(place);
    if (price.from <= at && (known === undefined || isBefore(known, price)))
      youngest.set(place, price);
  }
  const valid = [...youngest.values()];
  const input = Math.max(0, ...valid.flatMap((price) => [price.input, price.cachedInput]));
  const output = Math.max(0, ...valid.map((price) => price.output));
  return (tokens.input * input + tokens.output * output) / 10 ** COST_PLACES;
}
