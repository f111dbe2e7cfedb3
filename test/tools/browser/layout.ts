/** Measures pages: elements that overflow their parents or cover each other, and controls whose visual order differs from the focus order. */
import type { Page } from 'playwright-core';
import { z } from 'zod';

/** Script that measures a page. Elements out of the flow and inside the editor are left out. */
const script = `(() => {
  const ofEditors = 'svg, .cm-editor, .xterm, .hidden, .skip, dialog:not([open]), [popover]:not(:popover-open)';
  const style = (element) => getComputedStyle(element);
  const named = (element) => element.tagName.toLowerCase() + '.' + element.className + ' “' + (element.textContent || '').trim().slice(0, 40) + '”';
  const isPlaced = (element) => {
    const { position, display } = style(element);
    return !['fixed', 'absolute'].includes(position) && display !== 'contents' && element.closest(ofEditors) === null;
  };
  const isScrolled = (element) => /auto|scroll|hidden|clip/.test(style(element).overflowX);
  const wider = [...document.body.querySelectorAll('*')].filter((element) => {
    const parent = element.parentElement;
    if (!isPlaced(element) || !isPlaced(parent) || isScrolled(parent)) return false;
    const [own, around] = [element.getBoundingClientRect(), parent.getBoundingClientRect()];
    return own.width > 0 && around.width > 0 && (own.right > around.right + 1 || own.left < around.left - 1);
  });
  const pushed = [...document.querySelectorAll('main, .page, .card, dialog[open]')].filter((element) => element.scrollWidth > element.clientWidth + 1);
  const isFocusable = (element) => element.matches('a[href], button, input, select, textarea, [tabindex="0"]') && element.getClientRects().length > 0;
  const isBefore = (one, other) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    const isOneLine = a.top < b.bottom && b.top < a.bottom;
    return isOneLine ? a.left <= b.left : a.top < b.top;
  };
  const swapped = [...document.body.querySelectorAll('*')].filter(isPlaced).flatMap((parent) => {
    const children = [...parent.children].filter((child) => isFocusable(child) && isPlaced(child));
    return children.filter((child, index) => index > 0 && !isBefore(children[index - 1], child));
  });
  const overlap = ([one, other]) => {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  };
  const covered = [...document.querySelectorAll('tbody tr')].flatMap((row) => {
    const cells = [...row.cells].filter((cell) => cell.getClientRects().length > 0 && cell.textContent !== '');
    return cells.filter((cell, index) => cells.slice(0, index).some((before) => overlap([before, cell])));
  });
  return [
    ...covered.map((element) => 'covers a cell of its row: ' + named(element)),
    ...wider.map((element) => 'wider than its parent: ' + named(element)),
    ...pushed.map((element) => 'scrolls sideways: ' + named(element)),
    ...swapped.map((element) => 'before its neighbour on the screen, after it by Tab: ' + named(element)),
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page is wider than the screen'] : []),
  ];
})()`;

/** Frames in which a page adapts to another width: observers of sizes report one frame later, and render in a further one. */
export const framesToSettle = 60;

/** @returns a line for each element that is still misplaced when the page has settled, in layouts from left to right */
export const misplaced = async (page: Page): Promise<string[]> =>
  z.array(z.string()).parse(
    await page.evaluate(`(async () => {
      let found = [];
      for (let frame = 0; frame < ${framesToSettle}; frame++) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        found = ${script};
        if (frame > 1 && found.length === 0) break;
      }
      return found;
    })()`),
  );

/** @returns the texts of truncated cells, without messages, which may be longer than the page */
export const cutCells = async (page: Page): Promise<string[]> =>
  z
    .array(z.string())
    .parse(
      await page.evaluate(
        `[...document.querySelectorAll('.table :is(td, th):not(.c-x-message)')].filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)`,
      ),
    );

/** @returns the labels of long tables that scroll sideways */
export const scrolledTables = async (page: Page): Promise<string[]> =>
  z
    .array(z.string())
    .parse(
      await page.evaluate(
        `[...document.querySelectorAll('.table')].filter((table) => table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`,
      ),
    );

/** @returns placeholders of fields and tables shown whole that are wider than their place */
export const cutTexts = async (page: Page): Promise<string[]> =>
  z.array(z.string()).parse(
    await page.evaluate(`(() => {
      const pen = document.createElement('canvas').getContext('2d');
      const isCut = (input) => {
        const { font, paddingInlineStart, paddingInlineEnd } = getComputedStyle(input);
        pen.font = font;
        return pen.measureText(input.placeholder).width > input.clientWidth - parseFloat(paddingInlineStart) - parseFloat(paddingInlineEnd);
      };
      const fields = [...document.querySelectorAll('main input[placeholder]')].filter((input) => input.getClientRects().length > 0);
      const tables = [...document.querySelectorAll('main .plain')].filter((table) => table.scrollWidth > table.clientWidth);
      return [
        ...fields.filter(isCut).map((input) => 'placeholder: ' + input.placeholder),
        ...tables.map((table) => 'table: ' + table.querySelector('table').ariaLabel),
      ];
    })()`),
  );
