import type { Pack } from 'virtual:texts';
import {
  History,
  Hourglass,
  House,
  type IconNode,
  Info,
  KeyRound,
  Link2,
  MonitorSmartphone,
  Puzzle,
  ScanSearch,
  ShieldQuestionMark,
  SquareTerminal,
  UserRound,
  UsersRound,
} from 'lucide';
import type { ComponentType } from 'preact';
import type { MenuPlace } from '../app/extensions';
import type { PageProps } from '../app/page-props';
import { match } from '../app/path-pattern';
import { type Key, loadTexts } from '../text/text';

type Page = ComponentType<PageProps>;

interface Route {
  pattern: string;
  title: Key;
  /** `ahead` begins to load what a page of these parameters needs besides. */
  load: () => Promise<{ Page: Page; ahead?: (params: PageProps['params']) => void }>;
  /** Texts of the page. */
  texts?: Pack;
}

/** Each page is loaded when it is first visited. */
const routes: readonly Route[] = [
  { pattern: '/', title: 'overview.title', load: () => import('../pages/overview/overview'), texts: 'overview' },
  { pattern: '/users', title: 'users.title', load: () => import('../pages/users/users') },
  { pattern: '/users/new', title: 'users.new', load: () => import('../pages/user-new/user-new') },
  { pattern: '/users/:name/:tab?', title: 'users.title', load: () => import('../pages/user/user') },
  { pattern: '/groups', title: 'groups.title', load: () => import('../pages/groups/groups') },
  { pattern: '/groups/:name/:tab?', title: 'groups.title', load: () => import('../pages/group/group') },
  { pattern: '/bindings', title: 'bindings.title', load: () => import('../pages/bindings/bindings') },
  { pattern: '/bindings/new', title: 'bindings.new', load: () => import('../pages/bindings/binding-new') },
  { pattern: '/bindings/:name', title: 'bindings.title', load: () => import('../pages/bindings/binding') },
  { pattern: '/access', title: 'access.title', load: () => import('../pages/access/access'), texts: 'access' },
  { pattern: '/requests', title: 'requests.title', load: () => import('../pages/requests/requests'), texts: 'access' },
  { pattern: '/requests/new', title: 'requests.new', load: () => import('../pages/requests/request-new'), texts: 'access' },
  { pattern: '/requests/:name', title: 'requests.title', load: () => import('../pages/requests/request'), texts: 'access' },
  { pattern: '/explorer/:tab?', title: 'explorer.title', load: () => import('../pages/explorer/explorer'), texts: 'access' },
  { pattern: '/activity/:tab?/:id?', title: 'activity.title', load: () => import('../pages/activity/activity'), texts: 'activity' },
  { pattern: '/proposals', title: 'proposals.title', load: () => import('../pages/proposals/proposals'), texts: 'object' },
  { pattern: '/proposals/:name', title: 'proposals.title', load: () => import('../pages/proposals/proposal'), texts: 'object' },
  { pattern: '/sessions', title: 'sessions.title', load: () => import('../pages/sessions/sessions') },
  { pattern: '/tokens', title: 'tokens.title', load: () => import('../pages/tokens/tokens') },
  { pattern: '/kubeconfig', title: 'kubeconfig.title', load: () => import('../pages/kubeconfig/kubeconfig') },
  { pattern: '/kinds', title: 'cluster.kinds', load: () => import('../pages/cluster/kinds'), texts: 'cluster' },
  {
    pattern: '/events/:namespace?',
    title: 'cluster.recentEvents',
    load: () => import('../pages/cluster/events/event-list'),
    texts: 'cluster',
  },
  { pattern: '/r/:group/:version/:resource', title: 'menu.cluster', load: () => import('../pages/cluster/list/list'), texts: 'cluster' },
  {
    pattern: '/r/:group/:version/:resource/ns/:namespace',
    title: 'menu.cluster',
    load: () => import('../pages/cluster/list/list'),
    texts: 'cluster',
  },
  {
    pattern: '/r/:group/:version/:resource/ns/:namespace/:name/:tab?',
    title: 'menu.cluster',
    load: () => import('../pages/cluster/object/object'),
    texts: 'object',
  },
  {
    // `rest` leads to the hint that an address lacks `ns/`.
    pattern: '/r/:group/:version/:resource/:name/:tab?/:rest?',
    title: 'menu.cluster',
    load: () => import('../pages/cluster/object/object'),
    texts: 'object',
  },
  { pattern: '/new/:group/:version/:resource', title: 'menu.cluster', load: () => import('../pages/cluster/yaml/new'), texts: 'cluster' },
  {
    pattern: '/new/:group/:version/:resource/ns/:namespace',
    title: 'menu.cluster',
    load: () => import('../pages/cluster/yaml/new'),
    texts: 'cluster',
  },
  // Paths below /plugins belong to the service.
  { pattern: '/extensions', title: 'plugins.title', load: () => import('../pages/plugins/plugins') },
  { pattern: '/plugins', title: 'plugins.title', load: () => import('../pages/plugins/plugins') },
  { pattern: '/x/:plugin/:path*', title: 'plugins.title', load: () => import('../pages/plugin/plugin') },
  { pattern: '/about', title: 'about.title', load: () => import('../pages/about/about') },
];

/** Loads a page with its texts. */
export async function loadPage({ route: { load, texts = 'people' }, params }: FoundRoute): Promise<Page> {
  const [{ Page, ahead }] = await Promise.all([load(), loadTexts(texts)]);
  ahead?.(params);
  return Page;
}

interface FoundRoute {
  route: Route;
  params: Record<string, string>;
}

export function routeOf(path: string): FoundRoute | undefined {
  for (const route of routes) {
    const params = match(route.pattern, path);
    if (params !== undefined) return { route, params };
  }
  return undefined;
}

interface MenuEntry {
  to: string;
  /** The setting `features.NAME` that must be on. */
  feature?: string;
  label: Key;
  icon: IconNode;
}

interface MenuSection {
  /** Place to which plugins can add entries. */
  place?: MenuPlace;
  label?: Key;
  entries: readonly MenuEntry[];
}

export const menu: readonly MenuSection[] = [
  { entries: [{ to: '/', label: 'overview.title', icon: House }] },
  {
    place: 'people',
    label: 'menu.people',
    entries: [
      { to: '/users', label: 'users.title', icon: UserRound },
      { to: '/groups', feature: 'groups', label: 'groups.title', icon: UsersRound },
      { to: '/bindings', feature: 'userBindings', label: 'bindings.title', icon: Link2 },
    ],
  },
  {
    place: 'access',
    label: 'menu.access',
    entries: [
      { to: '/access', label: 'access.title', icon: ShieldQuestionMark },
      { to: '/requests', feature: 'accessRequests', label: 'requests.title', icon: Hourglass },
      { to: '/explorer', feature: 'explorer', label: 'explorer.title', icon: ScanSearch },
      { to: '/activity', feature: 'audit', label: 'activity.title', icon: History },
      { to: '/sessions', feature: 'sessions', label: 'sessions.title', icon: MonitorSmartphone },
      { to: '/tokens', feature: 'accessTokens', label: 'tokens.title', icon: KeyRound },
      { to: '/kubeconfig', feature: 'kubeconfig', label: 'kubeconfig.title', icon: SquareTerminal },
    ],
  },
  { place: 'cluster', label: 'menu.cluster', entries: [] },
  { place: 'plugins', label: 'plugins.title', entries: [] },
  {
    label: 'menu.console',
    entries: [
      { to: '/extensions', label: 'plugins.title', icon: Puzzle },
      { to: '/about', label: 'about.title', icon: Info },
    ],
  },
];

/** Reports whether a path is the page of an entry, or below it. */
export const isWithin = (path: string, to: string): boolean => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`));
