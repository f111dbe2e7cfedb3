import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { windowSize } from '../../api/window-size';
import type { FetchSlice } from '../../api/windows';
import { type Asked, type List, ListPart } from '../../app/list-page';
import { href } from '../../app/router';
import { dateOnly, t } from '../../text/text';
import { Ago } from '../../ui/age';
import { useRowAction } from '../../ui/row-action';
import type { Column } from '../../ui/table';
import { ActivityLink } from '../activity/activity-link';
import { scopeText } from './scope-fields';

type Token = Schemas['AccessToken'];

interface TokenListProps {
  /** Unset: all tokens that the caller may list, each with its owner. */
  user: string | undefined;
  mayRevoke: (token: Token) => boolean;
}

const fetchTokens =
  (user: string | undefined) =>
  ({ parameters }: Pick<Asked, 'parameters'>): FetchSlice<Token> =>
  (page, signal) =>
    bodyOf(
      api.GET('/auth/v1/accesstokens', { params: { query: { ...parameters, page, limit: windowSize, ...(user && { user }) } }, signal }),
    );

/** Tokens of a user or of all users, and the dialog that revokes one. */
export function useTokens({ user, mayRevoke }: TokenListProps) {
  const { column, dialog } = useRowAction<Token>({
    label: t('tokens.revoke'),
    isOffered: mayRevoke,
    title: ({ spec }) => t('tokens.revokeOf', { name: spec.description }),
    about: () => t('tokens.revokeWhat'),
    async act({ metadata: { name } }) {
      await api.DELETE('/auth/v1/accesstokens/{id}', { params: { path: { id: name } } });
      await refetch('tokens/');
    },
    done: t('tokens.revoked'),
  });
  const list: List<Token> = {
    key: `tokens/${user ?? ''}`,
    label: t('tokens.title'),
    none: t('tokens.none'),
    columns: [...columns(user === undefined), column],
    nameOf: ({ spec }) => spec.description,
    fetch: fetchTokens(user),
    isShort: true,
  };
  return { list, dialog };
}

export function TokenList({ user, mayRevoke }: { user: string; mayRevoke: boolean }) {
  const { list, dialog } = useTokens({ user, mayRevoke: () => mayRevoke });
  return (
    <>
      <ListPart list={list} />
      {dialog}
    </>
  );
}

const columns = (hasOwners: boolean): Column<Token>[] => [
  { id: 'name', title: t('tokens.description'), cell: ({ spec }) => <span class="strong">{spec.description}</span> },
  ...(hasOwners ? [ownerColumn()] : []),
  { id: 'scope', title: t('tokens.rights'), isMinor: true, cell: ({ spec }) => scopeText(spec.scope) },
  { id: 'id', title: t('tokens.id'), cell: ({ metadata }) => <code>{metadata.name}</code> },
  {
    id: 'used',
    title: t('tokens.used'),
    cell: ({ status }) => (status?.lastUsedTime ? <Ago since={status.lastUsedTime} /> : <span class="muted">{t('users.never')}</span>),
  },
  {
    id: 'activity',
    title: t('activity.title'),
    isMinor: true,
    cell: ({ metadata: { name } }) => <ActivityLink of={{ accessToken: name, since: 'all' }}>{t('activity.ofToken')}</ActivityLink>,
  },
  { id: 'expires', title: t('tokens.expires'), cell: ({ spec }) => (spec.expiration ? dateOnly(spec.expiration) : t('tokens.never')) },
];

const ownerColumn = (): Column<Token> => ({
  id: 'owner',
  title: t('tokens.owner'),
  cell: ({ spec: { owner, ownerEmail } }) => <a href={href(`/users/${owner}`)}>{ownerEmail || owner}</a>,
});
