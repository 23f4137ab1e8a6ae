import fc from 'fast-check';

type Values = [unknown, ...unknown[]];
type Arbitraries<Ts> = { [K in keyof Ts]: fc.Arbitrary<Ts[K]> };
type Holds<Ts extends Values> = (...values: Ts) => boolean | void;
type HoldsAsync<Ts extends Values> = (...values: Ts) => Promise<boolean | void>;

/** Checks that something holds for all values. How many are drawn, and by which seed, stands in set-up.ts or the options. */
export function forAll<Ts extends Values>(arbitraries: Arbitraries<Ts>, holds: Holds<Ts>): void;
export function forAll<Ts extends Values>(
  arbitraries: Arbitraries<Ts>,
  options: fc.Parameters<NoInfer<Ts>>,
  holds: Holds<Ts>,
): void;
export function forAll<Ts extends Values>(
  arbitraries: Arbitraries<Ts>,
  ...told: [Holds<Ts>] | [fc.Parameters<NoInfer<Ts>>, Holds<Ts>]
): void {
  const [options, holds] = told.length === 1 ? [{}, told[0]] : told;
  fc.assert(fc.property<Ts>(...arbitraries, holds), options);
}

/** `forAll` of what is waited for. */
export function forAllAsync<Ts extends Values>(
  arbitraries: Arbitraries<Ts>,
  holds: HoldsAsync<Ts>,
): Promise<void>;
export function forAllAsync<Ts extends Values>(
  arbitraries: Arbitraries<Ts>,
  options: fc.Parameters<NoInfer<Ts>>,
  holds: HoldsAsync<Ts>,
): Promise<void>;
export function forAllAsync<Ts extends Values>(
  arbitraries: Arbitraries<Ts>,
  ...told: [HoldsAsync<Ts>] | [fc.Parameters<NoInfer<Ts>>, HoldsAsync<Ts>]
): Promise<void> {
  const [options, holds] = told.length === 1 ? [{}, told[0]] : told;
  return fc.assert(fc.asyncProperty<Ts>(...arbitraries, holds), options);
}
