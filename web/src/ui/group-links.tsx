import { href } from '../app/router';
import { t } from '../text/text';

const localPrefix = 'local:';

export const isLocalGroup = (name: string): boolean => name.startsWith(localPrefix);

/** Returns the name of a group as its own list shows it. */
export const shortGroupName = (name: string): string => (isLocalGroup(name) ? name.slice(localPrefix.length) : name);

/** Link to a group with its source. @param source of groups that are not local; they show none by default */
export const GroupLink = ({ name, source }: { name: string; source?: string | undefined }) => (
  <>
    <a href={href(isLocalGroup(name) ? `/groups/${shortGroupName(name)}` : `/groups?q=${encodeURIComponent(name)}`)}>
      {shortGroupName(name)}
    </a>{' '}
    <span class="muted">{isLocalGroup(name) ? t('source.local') : source}</span>
  </>
);

/** Links to groups, each with its source: this console, or the source of the user. */
export const GroupLinks = ({ names, source }: { names: readonly string[]; source: string | undefined }) => (
  <ul class="chips">
    {names.map((name) => (
      <li key={name} class="chip">
        <GroupLink name={name} source={source} />
      </li>
    ))}
  </ul>
);
