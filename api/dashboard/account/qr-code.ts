import { encode } from 'uqr';
import { html, type Html } from '#api/html.ts';

/** ISO/IEC 18004, 9.1: so many light modules around it, or cameras do not find it. */
const QUIET_ZONE = 4;

/** A QR code of a text, drawn as one path; what a row has side by side is one stroke of it. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const strokes = data.flatMap((row, y) =>
    [
      ...row
        .map((dark) => (dark ? '1' : '0'))
        .join('')
        .matchAll(/1+/g),
    ].map(({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`),
  );
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}">
    <path d="${strokes.join('')}" />
  </svg>`;
}
