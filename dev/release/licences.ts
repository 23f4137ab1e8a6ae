/** Licences of what may be handed on with a product under Apache-2.0. */
const CARRIED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
]);

/** A bill of materials in CycloneDX, as `npm sbom` writes it. */
export interface Sbom {
  components: readonly {
    name: string;
    version: string;
    licenses?: readonly { license?: { id?: string; name?: string }; expression?: string }[];
  }[];
}

/** The parts that cannot be handed on, each with its licence: `name@version: GPL-3.0-only`. */
export function refusedLicences({ components }: Sbom): string[] {
  return components.flatMap(({ name, version, licenses = [] }) => {
    const stated = licenses.map(
      ({ license, expression }) => license?.id ?? license?.name ?? expression ?? 'none',
    );
    const isCarried = stated.length > 0 && stated.every(mayBeCarried);
    return isCarried ? [] : [`${name}@${version}: ${stated.join(', ') || 'none'}`];
  });
}

/** Of `A OR B` one is enough; of `A AND B` both count. */
function mayBeCarried(expression: string): boolean {
  return expression
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((one) => CARRIED.has(one.trim())));
}
