/** Results of a search of all kinds, as commands of the palette. */
import { CircleUserRound, Users } from 'lucide';
import { api, bodyOf, type Schemas } from '../api/client';
import { fetchKinds, kindId, pageOf } from '../api/kinds';
import { useLoad } from '../api/load';
import { kindIcon } from '../app/cluster-menu';
import { navigate } from '../app/router';
import { count, t } from '../text/text';
import type { Command } from './commands';

type SearchResult = Schemas['SearchResult'];
type FoundKind = SearchResult['kinds'][number];
type FoundObject = FoundKind['items'][number];
type KindRef = Pick<FoundKind, 'group' | 'version' | 'resource'>;
type TitleOf = (kind: KindRef) => string;

const shownOfEach = 5;
const shortest = 2;

export interface Found {
  commands: readonly Command[];
  isSearching: boolean;
  hasFailed: boolean;
  /** Kinds were not searched, although the caller may list them. */
  isPartial: boolean;
  /** Kinds that could not be searched, and a search that failed. */
  notices: readonly string[];
}

const wordsOf = (text: string): string => text.trim().slice(0, 128);

/**
 * Shows nothing of an earlier text: Enter must not open what was found for it.
 *
 * @param paused the text after a pause; the search before is aborted
 */
export function useFound(typed: string, paused: string): Found {
  const q = wordsOf(paused);
  const isAsked = q.length >= shortest;
  const kinds = useLoad('kinds', fetchKinds).data.value ?? [];
  const load = useLoad(isAsked ? `palette/${q}` : undefined, (signal) =>
    bodyOf(api.GET('/api/v2/search', { params: { query: { q, limit: shownOfEach } }, signal })),
  );
  const [result, problem] = [load.data.value, load.error.value];
  if (wordsOf(typed) !== q)
    return { commands: [], isSearching: wordsOf(typed).length >= shortest, hasFailed: false, isPartial: false, notices: [] };
  const titleOf: TitleOf = (kind) =>
    people[kindId(kind)]?.title() ?? kinds.find((one) => kindId(one) === kindId(kind))?.title ?? kind.resource;
  return {
    commands: eventsLast(result?.kinds ?? []).flatMap((kind) => commandsOf(kind, titleOf(kind))),
    isSearching: isAsked && result === undefined && problem === undefined,
    hasFailed: problem !== undefined,
    isPartial: result?.unsearched.some(({ reason }) => reason === 'Disabled' || reason === 'Unavailable') === true,
    notices: problem ? [t('palette.failed', { message: problem.message })] : noticesOf(result, titleOf),
  };
}

const people: Readonly<Record<string, { title: () => string; page: (name: string) => string; icon: Command['icon'] }>> = {
  'users.auth.platform.io': { title: () => t('users.title'), page: (name) => `/users/${name}`, icon: CircleUserRound },
  'groups.auth.platform.io': { title: () => t('groups.title'), page: (name) => `/groups/${name}`, icon: Users },
};

/** Events are named after their object, and would stand before it. */
const eventsLast = (kinds: readonly FoundKind[]) =>
  kinds.toSorted((a, b) => Number(a.resource === 'events') - Number(b.resource === 'events'));

function commandsOf(kind: FoundKind, title: string): Command[] {
  const { total, items } = kind;
  const section = total > items.length ? t('palette.some', { kind: title, shown: count(items.length), total: count(total) }) : title;
  return items.map((item) => {
    const { name, namespace } = item.metadata;
    const to =
      people[kindId(kind)]?.page(encodeURIComponent(name)) ?? pageOf(kind, { name, ...(namespace !== undefined && { namespace }) });
    const hint = hintOf(item);
    return {
      id: to,
      group: '',
      section,
      label: item.title ?? name,
      ...(hint && { hint }),
      icon: people[kindId(kind)]?.icon ?? kindIcon(kindId(kind)),
      act: () => navigate(to),
    };
  });
}

/** The namespace, the address or state, and the label or image that fits. */
const hintOf = ({ metadata: { namespace }, detail, match }: FoundObject): string =>
  [namespace, detail, match.field === 'name' ? undefined : match.text].filter(Boolean).join(' · ');

function noticesOf(result: SearchResult | undefined, titleOf: TitleOf): string[] {
  const titles = (reason: string) => (result?.unsearched ?? []).filter((kind) => kind.reason === reason).map(titleOf);
  const [forbidden, unknown, disabled] = [titles('Forbidden'), titles('Unavailable'), titles('Disabled')];
  return [
    ...(forbidden.length > 0 ? [t('palette.forbidden', { kinds: forbidden.join(', ') })] : []),
    ...(unknown.length > 0 ? [t('palette.unknown', { kinds: unknown.join(', ') })] : []),
    ...(disabled.length > 0 ? [t('palette.disabled', { kinds: disabled.join(', ') })] : []),
  ];
}
