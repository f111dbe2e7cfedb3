/** The policy of the console refuses innerHTML: elements are made, and texts are put into them. */
export function element<Name extends keyof HTMLElementTagNameMap>(name: Name, text: string, className = ''): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

export const cell = (value: string | number): HTMLElement => element('td', String(value), typeof value === 'number' ? 'number' : '');

export function table(heads: readonly string[], rows: readonly HTMLElement[][]): HTMLTableElement {
  const made = document.createElement('table');
  const head = made.createTHead().insertRow();
  for (const [index, text] of heads.entries()) {
    const th = element('th', text, rows[0]?.[index]?.className);
    th.scope = 'col';
    head.append(th);
  }
  const body = made.createTBody();
  for (const cells of rows) body.insertRow().append(...cells);
  return made;
}
