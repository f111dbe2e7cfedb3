/** Checks of contributions as a plugin makes them. A contribution that would never be seen is refused, with the reason. */
import type { Context } from '../../template/atrium-console';
import type { Kind } from '../api/kinds';
import type { Added } from '../app/extensions';

type Given<Name extends 'menu' | 'tab' | 'action'> = Parameters<Context[Name]>[0];

const places = ['people', 'access', 'cluster', 'plugins'];
const pathOfPage = /^([-_~\w][-._~\w]*(\/[-_~\w][-._~\w]*)*)?$/;
const resourceName = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** @throws TypeError with what is wrong, and where */
function must(isRight: boolean, what: string, problem: string): void {
  if (!isRight) throw new TypeError(`${what}: ${problem}`);
}

function checkRights(what: string, rights: unknown): void {
  must(Array.isArray(rights), what, 'rights must be a list, such as [{ verb: "get", resource: "pods" }], or empty');
  for (const right of rights as Partial<Record<string, unknown>>[])
    must(typeof right?.verb === 'string' && typeof right.resource === 'string', what, 'each right needs a verb and a resource');
}

function checkKind(what: string, { group, resource }: { group: unknown; resource: unknown }): void {
  must(typeof group === 'string', what, 'group must be the API group, such as "apps", or "" for the core group');
  must(!/\/|^core$/.test(group as string), what, `the group "${group}" is none: name it without a version, and the core group ""`);
  must(
    typeof resource === 'string' && resourceName.test(resource),
    what,
    `the resource "${resource}" is none: name the plural in lower case, such as "pods"`,
  );
}

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** @throws TypeError */
export function checkPage(path: unknown, page: Parameters<Context['page']>[1]): void {
  const what = `page(${JSON.stringify(path)})`;
  must(typeof path === 'string' && pathOfPage.test(path), what, `${path} is no path of a page`);
  must(isText(page?.title), what, 'title must be a key of the texts');
  must(isFunction(page.mount), what, 'mount must be a function');
}

/** @throws TypeError */
export function checkMenu({ label, path, under, rights = [] }: Given<'menu'>): void {
  const what = `menu(${JSON.stringify(label)})`;
  must(isText(label), what, 'label must be a key of the texts');
  must(typeof path === 'string' && pathOfPage.test(path), what, `${path} is no path of a page`);
  must(places.includes(under), what, `under must be one of ${places.join(', ')}, and is "${under}"`);
  checkRights(what, rights);
}

/** @throws TypeError */
export function checkTab({ label, mount, ...kind }: Given<'tab'>): void {
  const what = `tab(${JSON.stringify(label)})`;
  must(isText(label), what, 'label must be a key of the texts');
  must(isFunction(mount), what, 'mount must be a function');
  checkKind(what, kind);
}

/** @throws TypeError */
export function checkAction({ label, run, rights, ...kind }: Given<'action'>): void {
  const what = `action(${JSON.stringify(label)})`;
  must(isText(label), what, 'label must be a key of the texts');
  must(isFunction(run), what, 'run must be a function');
  checkKind(what, kind);
  checkRights(what, rights);
}

/** Returns the contributions of a plugin that no page can show: tabs and actions of unknown kinds, and entries that lead to no page. */
export function unseen(plugin: string, { tabs, actions, entries, pages }: Added, kinds: readonly Kind[]): string[] {
  const known = new Set(kinds.map(({ resource, group }) => `${resource}.${group}`));
  const ofUnknown = (what: string) => (one: { plugin: string; kind: string; label: () => string }) =>
    one.plugin !== plugin || known.has(one.kind)
      ? []
      : [`${what}("${one.label()}"): the cluster has no resource ${one.kind.replace(/\.$/, '')}`];
  const leadsNowhere = (to: string) => !pages.some((page) => page.plugin === plugin && isBelow(to, `/x/${plugin}`, page.path));
  return [
    ...tabs.flatMap(ofUnknown('tab')),
    ...actions.flatMap(ofUnknown('action')),
    ...entries
      .filter((one) => one.plugin === plugin && leadsNowhere(one.to))
      .map(({ label, to }) => `menu("${label()}"): no page at ${to}`),
  ];
}

const isBelow = (address: string, root: string, path: string): boolean =>
  path === '' || address === `${root}/${path}` || address.startsWith(`${root}/${path}/`);
