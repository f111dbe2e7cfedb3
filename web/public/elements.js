/** Builds what the page shows. Whatever the backend says is set as text, never as markup. */

/**
 * @param {string} tag with classes behind dots: `p.notice.bad`
 * @param {(Node | string)[]} children
 */
export function element(tag, ...children) {
  const [name, ...classes] = tag.split('.');
  const made = document.createElement(name);
  if (classes.length > 0) made.classList.add(...classes);
  made.append(...children);
  return made;
}

export const show = (id, ...children) => document.getElementById(id).replaceChildren(...children);

export const textOf = (id) => document.getElementById(id).value.trim();

export const empty = (text) => element('p.empty', text);

export function definitions(entries) {
  if (entries.length === 0) return empty('Nothing for you to see.');
  return element('dl', ...entries.flatMap(([name, value]) => [element('dt', name), element('dd.mono', value)]));
}

export function table(headings, rows) {
  const head = element('thead', element('tr', ...headings.map((heading) => Object.assign(element('th', heading), { scope: 'col' }))));
  const body = element('tbody', ...rows.map((cells) => element('tr', ...cells.map((cell) => element('td', cell)))));
  return element('div.scroll', element('table', head, body));
}

/** A failure in the backend's own words, told at once to whoever does not see it. */
export function failure({ code, reason, message, causes = [], retryAfterSeconds }) {
  const title = [code, reason].filter(Boolean).join(' ') || 'Out of reach';
  const more = causes.map((cause) => (cause.message === message ? cause.reason : [cause.field, cause.message].filter(Boolean).join(': ')));
  const wait = retryAfterSeconds ? [`Try again in ${retryAfterSeconds} s.`] : [];
  const notice = element('p.notice.bad', element('strong', title), ` ${[message, ...more, ...wait].filter(Boolean).join(' · ')}`);
  notice.setAttribute('role', 'alert');
  return notice;
}
