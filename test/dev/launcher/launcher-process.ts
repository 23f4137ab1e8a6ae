import { up } from '../../../dev/launcher/up.ts';

await up({ root: new URL('./fixture/', import.meta.url) });
