// What is under way is looked at again, every so many seconds as it says, and each part of it drawn in its place, until it has
// ended. What a visitor types stands outside of these parts.
const look = async () => {
  const shown = document.querySelectorAll('[data-live]');
  if (!document.hidden) {
    const reply = await fetch(location.href, { redirect: 'error' }).catch(() => null);
    if (reply?.ok) {
      const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
      for (const part of shown) {
        const now = page.querySelector(`#${part.id}[data-live]`);
        // It has ended: the whole page says what comes next.
        if (now === null) return location.reload();
        // A reader who marks something in it, to copy it, finishes that.
        const { anchorNode, isCollapsed } = getSelection();
        if (!isCollapsed && part.contains(anchorNode)) continue;
        const focused = part.contains(document.activeElement) && document.activeElement.href;
        const scrolled = part.querySelector('.table')?.scrollLeft ?? 0;
        part.replaceWith(document.adoptNode(now));
        if (scrolled > 0) now.querySelector('.table')?.scrollTo(scrolled, 0);
        if (focused) [...now.querySelectorAll('a')].find(({ href }) => href === focused)?.focus();
      }
    }
  }
  wait();
};
const wait = () => {
  const live = document.querySelector('[data-live]');
  if (live !== null) setTimeout(look, 1000 * live.dataset.live);
};
wait();

// Buttons that copy what stands beside them. Without this script they are not shown.
for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    const { copy } = button.dataset;
    const source = copy === '' ? button.previousElementSibling : document.getElementById(copy);
    await navigator.clipboard.writeText(source.textContent.trim());
    const label = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}

// Fields for the SHA-256 of a file: the file is read here and goes nowhere. Without this script, and on pages that came over
// plain HTTP, the digest is typed.
for (const input of document.querySelectorAll('input[data-digest]')) {
  if (globalThis.crypto?.subtle === undefined) break;
  const place = input.closest('.field');
  const error = place.querySelector('.error');
  const digest = document.getElementById(input.dataset.digest);
  place.hidden = false;
  input.addEventListener('change', async () => {
    const [file] = input.files;
    error.textContent = '';
    // The digest of the file before is not that of this one.
    digest.value = '';
    if (file === undefined) return;
    try {
      const sum = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
      if (input.files[0] !== file) return;
      const bytes = [...new Uint8Array(sum)];
      digest.value = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
    } catch {
      error.textContent = 'The file cannot be read. Choose it again, or type its SHA-256.';
    }
  });
}

// The playground's own script comes when a visitor turns to it. Where it does not come, the form goes as without scripts.
const playground = document.getElementById('playground-form');
if (playground !== null) {
  const comes = () => import(playground.dataset.scriptAt);
  playground.addEventListener('focusin', () => void comes().catch(() => {}), { once: true });
  playground.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    playground.requestSubmit();
  });
  playground.addEventListener('submit', async (event) => {
    event.preventDefault();
    const script = await comes().catch(() => null);
    if (script === null) playground.submit();
    else await script.runAll();
  });
}
