/** Requests the data of a page while its script still loads, as far as the address alone determines it. */
import { askAhead, base } from '../api/client';
import { apiPath, fetchKinds, forgetKinds, type KindPlace, placeInPath } from '../api/kinds';
import { listPath, tableAccept } from '../api/list-path';
import { firstOrder, learnOffered, offeredPath, offeredQuery, wasOffered, windowQuery } from '../api/offered';
import { rowObjects } from '../api/stated-kinds';
import { listRights, usageRight } from '../app/list-rights';
import { askRightsAhead, may } from '../app/rights';
import { pathOf } from '../app/router';
import { sortBy, sortIn } from '../ui/sort';
import { loadPage, routeOf } from './pages';

const isRefused = (place: KindPlace, namespace: string | undefined): boolean => may(listRights(place, namespace).list) === false;

function askList(place: KindPlace, namespace: string | undefined, query: URLSearchParams): void {
  const usage = usageRight(place, namespace);
  askRightsAhead([...Object.values(listRights(place, namespace)), ...(usage ? [usage] : [])]);
  askAhead('api/v2/resources');
  const labelSelector = query.get('selector') ?? '';
  const isOffered = wasOffered(place);
  if (isOffered === undefined || (isRefused(place, namespace) && !(isOffered && namespace === undefined))) return;
  if (!isOffered) askAhead(listPath(apiPath(place, { namespace }), { labelSelector, ...rowObjects(place) }), tableAccept);
  // The columns by which it can be filtered and sorted are not known here.
  else if (!query.has('sort') && !query.has('is')) {
    const { page, limit, ...window } = {
      ...offeredQuery({ search: query.get('q') ?? '', labelSelector }),
      ...windowQuery(sortBy(sortIn(query, [firstOrder(place)])), 1),
    };
    askAhead(`${offeredPath(place, namespace)}?${new URLSearchParams({ ...window, page: `${page}`, limit: `${limit}` })}`);
  }
}

/** The page that was requested last. Tabs of an object are one page. */
let last: string | undefined;

/** Begins to load a page, and the list or the object that it shows. */
export function lookAhead(path: string, query: URLSearchParams): void {
  const found = routeOf(path);
  if (found === undefined) return;
  void loadPage(found).catch(() => undefined);
  const { tab: _, ...params } = found.params;
  const page = JSON.stringify([found.route.pattern, params]);
  if (page === last) return;
  // New kinds appear on the next page.
  if (last !== undefined) forgetKinds();
  last = page;
  const { namespace, name } = params;
  if (!path.startsWith('/r/')) return;
  if (name === undefined) askList(placeInPath(params), namespace, query);
  else askAhead(apiPath(placeInPath(params), { namespace, name }));
  void fetchKinds().catch(() => undefined);
}

function linkOf({ target }: Event): URL | undefined {
  const link = target instanceof Element ? target.closest('a') : null;
  const isOurs = link && !link.target && !link.hasAttribute('download') && !link.hasAttribute('data-outside');
  return isOurs && link.href.startsWith(base.href) ? new URL(link.href) : undefined;
}

function loadLinked(event: Event): void {
  const link = linkOf(event);
  const found = link && routeOf(pathOf(link));
  if (found === undefined) return;
  void loadPage(found).catch(() => undefined);
  if (found.params.resource !== undefined) void learnOffered();
}

/** Loads a page when its link is hovered, and its data when the link is pressed or followed by the keyboard. */
export function startAhead(): void {
  document.addEventListener('pointerover', loadLinked);
  document.addEventListener('focusin', loadLinked);
  for (const press of ['pointerdown', 'click'] as const)
    document.addEventListener(press, (event) => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const link = linkOf(event);
      if (link) lookAhead(pathOf(link), link.searchParams);
    });
}
