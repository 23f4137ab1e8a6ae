import { SHAPES } from './layout.ts';

/** SHA-256 (hex) of every text of the shapes that a pack was ever made with. One is added, none is changed. */
const DIGESTS: Readonly<Record<(typeof SHAPES)[number], readonly string[]>> = {
  'data/shapes/docket-receipt-shapes.jsonld': [
    'd7838d4449934b7f9712a8e01ac62a5bd9a6733bb1f537d63758a4802a5e4425',
  ],
  'data/shapes/docket-receipt-2-shapes.jsonld': [
    '90591f3c70e948fd9565c72ff137e8fb021332b28128d462c5bca9a8be417c94',
    'b4279ae68eda4d5533e5e260303db042611881c473c11ec04fd3c47c7cd588b1',
    'f4d1bef0a0124bbaf5740dde1cf67ade3201038d9a5a0df09a2e0ee438d9c742',
  ],
};

/** The digests that a file of shapes may have, or undefined when the path is of none. */
export function knownShapesDigests(path: string): readonly string[] | undefined {
  return DIGESTS[path as (typeof SHAPES)[number]];
}
