import { House, type IconNode, UserRound } from 'lucide';
import type { ComponentType } from 'preact';
import type { Key } from '../text/text';
import { match } from './router';

export type PageProps = { params: Readonly<Record<string, string>> };
type Page = ComponentType<PageProps>;

interface Route {
  pattern: string;
  title: Key;
  load: () => Promise<{ Page: Page }>;
}

/** Each page is loaded when it is first gone to. */
const routes: readonly Route[] = [
  { pattern: '/', title: 'overview.title', load: () => import('../pages/overview/overview') },
  { pattern: '/users', title: 'users.title', load: () => import('../pages/users/users') },
  { pattern: '/users/new', title: 'users.new', load: () => import('../pages/user-new/user-new') },
  { pattern: '/users/:name/:tab?', title: 'users.title', load: () => import('../pages/user/user') },
];

export function routeOf(path: string): { route: Route; params: Record<string, string> } | undefined {
  for (const route of routes) {
    const params = match(route.pattern, path);
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

export interface MenuEntry {
  to: string;
  label: Key;
  icon: IconNode;
}

export const menu: readonly { label?: Key; entries: readonly MenuEntry[] }[] = [
  { entries: [{ to: '/', label: 'overview.title', icon: House }] },
  { label: 'menu.people', entries: [{ to: '/users', label: 'users.title', icon: UserRound }] },
];

/** Whether a path is the page of an entry, or below it. */
export const isWithin = (path: string, to: string): boolean => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`));
