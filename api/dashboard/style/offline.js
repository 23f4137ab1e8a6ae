// Lets /verify work without a network once it was open: what the page has kept is given back where the network gives nothing.

const KEPT = 'verify';

const isOfVerify = ({ origin, pathname }) =>
  origin === location.origin &&
  (/^\/(verify|assets)(\/|$)/.test(pathname) || pathname === '/.well-known/did.json');

/** The network first, so that a newer release, and keys that are published now, count as soon as they can be had. */
const answer = async (request) => {
  try {
    return await fetch(request);
  } catch (error) {
    const kept = await caches.open(KEPT);
    const found = await kept.match(request, { ignoreVary: true });
    if (found === undefined) throw error;
    const headers = new Headers(found.headers);
    headers.set('x-kept', headers.get('date') ?? 'before');
    return new Response(found.body, { status: found.status, headers });
  }
};

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { method, url } = event.request;
  if (method === 'GET' && isOfVerify(new URL(url))) event.respondWith(answer(event.request));
});
