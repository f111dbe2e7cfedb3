/** Addresses of pages, on the History API. The query contains the state of a page: filter, sort, tab. */
import { batch, signal } from '@preact/signals';
import { base } from '../api/client';

export const path = signal('/');
export const query = signal(new URLSearchParams());

const scrolled = new Map<string, number>();
let visit = '';
/** Position of this page among those of the tab, so that a refused Back or Forward can be undone. */
let index = 0;

interface Entry {
  visit?: string;
  index?: number;
}

const entry = () => history.state as Entry | null;

/** @returns the path below the base path, with a leading slash */
export const pathOf = (url: URL): string => `/${url.pathname.slice(base.pathname.length)}`;

export const href = (to: string): string => new URL(to.replace(/^\//, ''), base).pathname + new URL(to.replace(/^\//, ''), base).search;

/** Asks whether to leave a page with unsaved changes. */
let guard: (() => boolean) | undefined;

export function setGuard(asks: (() => boolean) | undefined): void {
  guard = asks;
}

function read(): void {
  const url = new URL(location.href);
  batch(() => {
    path.value = pathOf(url);
    query.value = url.searchParams;
  });
  visit = entry()?.visit ?? '';
  index = entry()?.index ?? index + 1;
  // The entry of a fragment or of a login has no index yet.
  if (entry()?.index === undefined) history.replaceState({ visit, index }, '');
}

const newVisit = (): string => Math.random().toString(36).slice(2);

/** @returns false if the user stays on the page, whose changes are not saved */
export function navigate(to: string, { replace = false, force = false } = {}): boolean {
  if (!force && guard && !guard()) return false;
  guard = undefined;
  rememberScroll();
  if (replace) history.replaceState({ visit, index }, '', href(to));
  else history.pushState({ visit: newVisit(), index: index + 1 }, '', href(to));
  read();
  return true;
}

/** Changes the query in place: focus and scroll position stay. An empty value removes its parameter; a list repeats it. */
export function setQuery(changes: Record<string, string | readonly string[] | undefined>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value = ''] of Object.entries(changes)) {
    const [first, ...others] = [value].flat();
    if (first) next.set(name, first);
    else next.delete(name);
    for (const other of others) next.append(name, other);
  }
  const text = next.toString();
  history.replaceState({ visit, index }, '', location.pathname + (text && `?${text}`));
  query.value = next;
}

const scroller = () => document.querySelector<HTMLElement>('[data-scroll]') ?? document.querySelector<HTMLElement>('main');

function rememberScroll(): void {
  const place = scroller()?.scrollTop;
  if (place !== undefined) scrolled.set(visit, place);
}

/** Returns the scroll position at which this page was left. */
export const scrollOfVisit = (): number => scrolled.get(visit) ?? 0;

export function startRouter(): void {
  history.scrollRestoration = 'manual';
  addEventListener('popstate', onPopState);
  document.addEventListener('click', onClick);
  addEventListener('beforeunload', (event) => {
    if (guard) event.preventDefault();
  });
  read();
}

/** Handles Back and Forward. The browser has left the page by then: if the user stays, it goes back there. */
function onPopState(): void {
  const distance = index - (entry()?.index ?? index);
  // Zero after the return to a page that the user has not left.
  if (distance !== 0 && guard && !guard()) {
    history.go(distance);
    return;
  }
  if (distance !== 0) guard = undefined;
  rememberScroll();
  read();
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  // From here, the target of an event in the shadow root of a plugin is the host of that root.
  const [target] = event.composedPath();
  const link = target instanceof Element ? target.closest('a') : null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== base.origin) return;
  if (!link.pathname.startsWith(base.pathname) || link.hasAttribute('data-outside')) return;
  event.preventDefault();
  navigate(pathOf(new URL(link.href)) + link.search);
}
