// The search of the documentation. Its index is one file of ours, fetched when the field first has the focus.

const box = document.getElementById('search');
const field = box.querySelector('input');
const list = box.querySelector('[role=listbox]');
const said = box.querySelector('[role=status]');
const RESULTS_MAX = 12;
/** A field that many operations have is shown for the first of them. */
const ALIKE_MAX = 2;

box.hidden = false;
let index;
const load = () => {
  index ??= fetch(box.dataset.index)
    .then((reply) => {
      if (!reply.ok) throw new Error(String(reply.status));
      return reply.json();
    })
    .then((entries) =>
      entries.map((entry) => ({
        ...entry,
        title: entry.t.toLowerCase(),
        text: `${entry.t} ${entry.w}`.toLowerCase(),
      })),
    )
    .catch((error) => {
      index = undefined;
      throw error;
    });
  return index;
};

/** How well an entry fits a word: whole title, beginning of it, a word in it, somewhere in the text; 0 where it does not. */
const fit = ({ title, text }, word) => {
  if (title === word) return 8;
  if (title.startsWith(word)) return 5;
  if (title.split(/[\s_/-]+/).some((part) => part.startsWith(word))) return 4;
  if (title.includes(word)) return 3;
  return text.includes(word) ? 1 : 0;
};

/** Those in which every word is found, the best first; equals stay in the order of the index. */
const find = (entries, question) => {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  return entries
    .map((entry) => {
      const fits = words.map((word) => fit(entry, word));
      return { entry, score: fits.includes(0) ? 0 : fits.reduce((sum, one) => sum + one, 0) };
    })
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ entry }) => entry)
    .filter(({ t }, i, all) => all.slice(0, i).filter((other) => other.t === t).length < ALIKE_MAX);
};

let chosen = -1;
const choose = (next) => {
  const options = [...list.children];
  chosen = options.length === 0 ? -1 : (next + options.length) % options.length;
  for (const [i, option] of options.entries()) {
    option.setAttribute('aria-selected', String(i === chosen));
  }
  const option = options[chosen];
  if (option === undefined) return field.removeAttribute('aria-activedescendant');
  field.setAttribute('aria-activedescendant', option.id);
  option.scrollIntoView({ block: 'nearest' });
};

const close = () => {
  list.hidden = true;
  list.replaceChildren();
  field.setAttribute('aria-expanded', 'false');
  choose(-1);
};

const go = (anchor) => {
  close();
  field.value = '';
  said.textContent = '';
  const address = new URL(anchor.startsWith('/') ? anchor : `/docs#${anchor}`, location.origin);
  const target = document.getElementById(address.hash.slice(1));
  if (address.pathname !== location.pathname || target === null) {
    location.assign(address);
    return;
  }
  location.hash = address.hash;
  // What was found is where the reader goes on, also by keyboard.
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
};

const optionOf = ({ t, k, a, w }, i) => {
  const option = document.createElement('li');
  option.id = `found-${i}`;
  option.role = 'option';
  option.dataset.anchor = a;
  const title = document.createElement('strong');
  title.textContent = t;
  const kind = document.createElement('span');
  kind.className = 'soft small';
  kind.textContent = k;
  const words = document.createElement('span');
  words.className = 'soft small words';
  words.textContent = w;
  option.append(title, ' ', kind, words);
  return option;
};

const search = async () => {
  const question = field.value.trim();
  if (question === '') {
    said.textContent = '';
    return close();
  }
  let entries;
  try {
    entries = await load();
  } catch {
    said.textContent = 'The index of the search could not be loaded. Type on to try again.';
    return close();
  }
  // The reader has typed on meanwhile; that search draws.
  if (field.value.trim() !== question) return;
  const found = find(entries, question);
  list.replaceChildren(...found.slice(0, RESULTS_MAX).map(optionOf));
  list.hidden = found.length === 0;
  field.setAttribute('aria-expanded', String(found.length > 0));
  said.textContent =
    found.length === 0
      ? `Nothing here has “${question}” in it.`
      : `${found.length} found${found.length > RESULTS_MAX ? `, the best ${RESULTS_MAX} shown` : ''}.`;
  choose(0);
};

field.addEventListener('focus', () => void load().catch(() => {}));
field.addEventListener('input', search);
field.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen - 1);
  else if (event.key === 'Enter') {
    if (chosen >= 0) go(list.children[chosen].dataset.anchor);
  } else if (event.key === 'Escape') {
    field.value = '';
    said.textContent = '';
    close();
  } else return;
  event.preventDefault();
});
// A press moves no focus, so that the list stays until the click.
list.addEventListener('mousedown', (event) => event.preventDefault());
list.addEventListener('click', (event) => {
  const option = event.target.closest('[role=option]');
  if (option !== null) go(option.dataset.anchor);
});
field.addEventListener('blur', close);
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});

// The error reference shows the rows in which each word that is typed stands.
const errors = document.querySelector('[data-errors]');
if (errors !== null) {
  const filter = errors.querySelector('#errors-filter');
  const rows = [...errors.querySelectorAll('.error-entry')];
  const shown = errors.querySelector('[data-errors-shown]');
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    for (const section of errors.querySelectorAll('.errors'))
      section.hidden = section.querySelector('.error-entry:not([hidden])') === null;
    const left = rows.filter((row) => !row.hidden).length;
    shown.textContent = left === rows.length ? `${left} codes` : `${left} of ${rows.length} codes`;
  };
  filter.addEventListener('input', show);
  // What a link leads to is shown also where it does not fit what was typed.
  addEventListener('hashchange', () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target === null || target.closest('[hidden]') === null) return;
    filter.value = '';
    show();
    target.scrollIntoView();
  });
}
