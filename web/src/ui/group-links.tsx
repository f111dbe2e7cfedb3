import { href } from '../app/router';
import { t } from '../text/text';

const localPrefix = 'local:';

/** Links to groups, each with its source: this console, or the source of the user. */
export const GroupLinks = ({ names, source }: { names: readonly string[]; source: string }) => (
  <ul class="chips">
    {names.map((name) => {
      const local = name.startsWith(localPrefix) ? name.slice(localPrefix.length) : undefined;
      return (
        <li key={name} class="chip">
          <a href={href(local === undefined ? `/groups?q=${encodeURIComponent(name)}` : `/groups/${local}`)}>{local ?? name}</a>{' '}
          <span class="muted">{local === undefined ? source : t('source.local')}</span>
        </li>
      );
    })}
  </ul>
);
