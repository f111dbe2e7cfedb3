import { useFeatures } from '../../api/version';
import { may } from '../../app/rights';
import { t } from '../../text/text';
import { GroupLink, isLocalGroup, shortGroupName } from '../../ui/group-links';
import { type LocalGroups, useShown } from './local-groups';
import type { User } from './query';

export const groupsRight = { verb: 'list', resource: 'groups' };

interface GroupsCellProps {
  user: User;
  /** Undefined until the answer. */
  local: LocalGroups | undefined;
}

/** All groups of a user. Local ones are unknown to callers who may not list groups. */
export function GroupsCell({ user: { metadata, status }, local }: GroupsCellProps) {
  const isOn = useFeatures()('groups');
  const mayList = may(groupsRight);
  useShown(metadata.name, isOn && mayList === true);
  const names = status?.groups ?? [];
  if (!isOn) return <Groups names={names} />;
  if (mayList === false) return <Groups names={names} unknown={t('users.mayNotListGroups')} />;
  if (local === undefined) return names.length > 0 ? <Groups names={names} unknown="" /> : <span class="waiting" />;
  if ('problem' in local) return <Groups names={names} unknown={local.problem.message} />;
  return <Groups names={[...names, ...local.names]} />;
}

const shownGroups = 2;

interface GroupsProps {
  names: readonly string[];
  /** Reason for which the local groups are unknown; empty while they load. Unset: all groups are known. */
  unknown?: string;
}

/** Shows a few groups. The others are counted, and listed in the title. */
function Groups({ names, unknown }: GroupsProps) {
  const title = names.map((name) => (isLocalGroup(name) ? `${shortGroupName(name)} (${t('source.local')})` : name)).join(', ');
  return (
    <>
      {names.length > shownGroups ? (
        <span title={title}>{t('users.groupCount', { count: names.length })}</span>
      ) : (
        names.map((name) => (
          <span key={name} class="listed">
            <GroupLink name={name} />
          </span>
        ))
      )}
      {names.length === 0 && unknown === undefined && <span class="muted">{t('users.noGroups')}</span>}
      {unknown && (
        <span class="muted" title={unknown}>
          {t('users.localUnknown')}
        </span>
      )}
    </>
  );
}
