import { expect, it } from 'vitest';
import { comparisons } from '#api/dashboard/usage/comparisons.ts';
import type { UsageFigures } from '#shared/receipts/usage.ts';

it('a total is compared with what people know, by the stated source and with its interval [dashboard.usage]', () => {
  const of = (value: string, lower: string, upper: string) => ({ value, lower, upper });
  const amounts = {
    energy: of('1', '0.5', '2'),
    gwp: of('8.887', '4.4435', '17.774'),
    water: of('94.635', '9.4635', '1000'),
  } as unknown as UsageFigures['amounts'];
  const text = comparisons(amounts)
    .text.replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');
  // 3,600 kJ heat ten litres by 85 K; a gallon of petrol gives 8,887 g; a shower takes 9.46 L a minute.
  expect(text).toContain('heats 10.1 L [5.05–20.2] of water from 15 °C to the boil');
  expect(text).toContain('burning 3.79 L [1.89–7.57] of petrol emits');
  expect(text).toContain('a shower in 10.0 min [1.00–106]');
});
