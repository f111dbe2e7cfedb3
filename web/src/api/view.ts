/**
 * View of the cluster as another user, in this tab alone. An address never holds it, so that no link begins one. The page is
 * loaded anew when a view begins and when it ends, so that no answer of one user is shown for the other.
 */
import { signal } from '@preact/signals';
import { base, storageKey } from './address';
import { Problem } from './problem';

export interface View {
  /** User name in Kubernetes. */
  readonly user: string;
  readonly groups: readonly string[];
  /** Name of the User record; undefined for a group. */
  readonly record?: string | undefined;
  /** Name of the caller, for whom alone the view is valid. */
  readonly by: string;
  /** End in milliseconds since 1970. */
  readonly until: number;
}

/** User of a group that is viewed alone. */
export const groupViewer = 'atrium:group-view';

const viewKey = storageKey('view');
const lifetimeMs = 15 * 60_000;

/** The view of this tab, which never changes while the page is loaded. */
export const viewed = signal(storedView());

function storedView(): View | undefined {
  try {
    const view = JSON.parse(sessionStorage.getItem(viewKey) ?? 'null') as View | null;
    if (view !== null && view.until > Date.now()) return view;
  } catch {
    // A broken entry is no view.
  }
  sessionStorage.removeItem(viewKey);
  return undefined;
}

/** Operations that accept the headers (docs/contract/view-as.md), below the base path. */
const supported = [
  /^api\/kubernetes\//,
  /^api\/v2\/resources(?:\/|$)/,
  /^auth\/v1\/(?:namespaces|selfsubjectaccessreviews|selfsubjectrulesreviews)$/,
  /^apis\/auth\.platform\.io\/v1\/users(?:\/|$)/,
];

/** Reports whether an operation answers as the viewed user. @param url below the base path */
export const isViewed = (url: URL): boolean =>
  viewed.peek() !== undefined && supported.some((path) => path.test(url.pathname.slice(base.pathname.length)));

/** Operations of the session, which stays that of the caller. */
const ofSession = /^api\/v[12]\/token\//;

/** Adds the headers of the view. @throws Problem for a write that would be made as the caller */
export function inView(request: Request): Request {
  const view = viewed.peek();
  if (view === undefined) return request;
  const url = new URL(request.url);
  if (isViewed(url)) return new Request(request, { headers: [...request.headers, ...viewHeaders(view)] });
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && !ofSession.test(url.pathname.slice(base.pathname.length))) throw readsOnly(view);
  return request;
}

export const readsOnly = ({ user }: View): Problem => {
  const message = `This tab views the cluster as ${user}, and only reads.`;
  return new Problem(403, { reason: 'Forbidden', message, details: { causes: [{ reason: 'ViewAsReadOnly', message }] } });
};

/** Browsers join repeated lines of a header: the groups are JSON in one. */
export const viewHeaders = ({ user, groups }: Pick<View, 'user' | 'groups'>): [string, string][] => [
  ['Impersonate-User', user],
  ...(groups.length > 0 ? [['Atrium-View-As-Groups', JSON.stringify(groups)] as [string, string]] : []),
];

/** Begins a view at the first page. */
export function startView(view: Omit<View, 'until'>): void {
  sessionStorage.setItem(viewKey, JSON.stringify({ ...view, until: Date.now() + lifetimeMs }));
  location.assign(base);
}

/** Forgets the view, as at a logout. */
export function forgetView(): void {
  sessionStorage.removeItem(viewKey);
}

export function stopView(): void {
  forgetView();
  location.assign(base);
}
