// Ctrl-K, or Cmd-K: the search of the menu over the page that is open, which shows what is found as one types. Without this
// script the field of the menu leads to the page of the search.
const field = document.querySelector('.side [name=q]');
if (field !== null) {
  const dialog = document.createElement('dialog');
  dialog.className = 'search';
  dialog.ariaLabel = 'Search';
  const form = field.form.cloneNode(true);
  form.ariaLabel = 'Search as you type';
  const input = form.elements.q;
  // A phone has no such keys.
  if (matchMedia('(pointer: fine)').matches)
    field.placeholder = /Mac|iP(hone|ad)/.test(navigator.platform) ? '⌘ K' : 'Ctrl K';
  const said = document.createElement('p');
  said.role = 'status';
  said.className = 'soft small';
  const found = document.createElement('div');
  found.className = 'found';
  dialog.append(form, said, found);
  document.body.append(dialog);
  const isWholeKey = (text) => /dkt_\w{8}/.test(text);
  const refuseKey = () => {
    show('');
    said.textContent =
      'Type only the first eight or last four characters: a whole key is a secret.';
  };
  // A whole key is not to stand in an address: no form with one is sent.
  for (const each of document.querySelectorAll('form[role=search]'))
    each.addEventListener('submit', (event) => {
      if (!isWholeKey(each.elements.q.value)) return;
      event.preventDefault();
      refuseKey();
      if (!dialog.open) dialog.showModal();
    });

  const links = () => [...found.querySelectorAll('a')];
  let asking = new AbortController();
  let answered = '';
  const show = (question, ...nodes) => {
    answered = question;
    found.replaceChildren(...nodes);
    const { length } = links();
    said.textContent =
      length === 0 ? '' : `${length} found. Press Enter for the first, arrow keys for the others.`;
  };
  const ask = async () => {
    asking.abort();
    asking = new AbortController();
    const question = input.value.trim();
    if (question === '') return show('');
    if (isWholeKey(question)) return refuseKey();
    const { signal } = asking;
    try {
      // What is typed on meanwhile is asked for alone.
      await new Promise((resolve) => setTimeout(resolve, 200));
      if (signal.aborted) return;
      const asked = new URLSearchParams({ q: question, in: form.elements.in.value });
      const reply = await fetch(`${form.action}?${asked}`, { signal });
      const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
      const list = page.getElementById('found');
      if (list !== null)
        return show(question, ...[...list.children].map((each) => document.adoptNode(each)));
      // An id leads to its page at once.
      const link = document.createElement('a');
      link.href = reply.url;
      link.textContent = `Open ${page.querySelector('h1')?.textContent.trim() ?? reply.url}`;
      if (reply.ok) show(question, link);
      else said.textContent = 'Search is not available now. Try again in a moment.';
    } catch {
      if (!signal.aborted) said.textContent = 'Search is not available now. Try again in a moment.';
    }
  };
  input.addEventListener('input', ask);
  form.addEventListener('submit', (event) => {
    const [first] = links();
    if (first === undefined || answered !== input.value.trim()) return;
    event.preventDefault();
    location = first.href;
    dialog.close();
  });
  dialog.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [input, ...links()];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  // A press beside it closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.addEventListener('keydown', (event) => {
    // With Shift they are the browser's own; what fills a form in by itself sends events without a key.
    if (event.key?.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    if (event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (!dialog.open) dialog.showModal();
    input.select();
  });
}
