import { up } from '#embedded/launcher/up.ts';

await up({ root: new URL('./fixture/', import.meta.url) });
