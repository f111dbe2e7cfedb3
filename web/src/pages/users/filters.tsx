import { Search } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { setQuery } from '../../app/router';
import { t } from '../../text/text';
import { Icon } from '../../ui/icon';
import { phaseName } from '../../ui/phase';
import { phases, type UsersQuery } from './query';

const pauseMs = 200;

export function Filters({ asked }: { asked: UsersQuery }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <search class="filters">
      <label class="search">
        <span class="hidden">{t('users.search')}</span>
        <Icon of={Search} />
        <input
          type="search"
          data-find
          placeholder={t('users.search')}
          maxLength={128}
          spellcheck={false}
          value={asked.search}
          onInput={({ currentTarget }) => {
            clearTimeout(timer.current);
            timer.current = setTimeout(() => setQuery({ q: currentTarget.value.trim() }), pauseMs);
          }}
        />
      </label>
      <label>
        <span class="hidden">{t('users.phase')}</span>
        <select value={asked.phase} onChange={({ currentTarget }) => setQuery({ phase: currentTarget.value })}>
          <option value="">{t('users.anyPhase')}</option>
          {phases.map((phase) => (
            <option key={phase} value={phase}>
              {phaseName(phase)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">{t('users.source')}</span>
        <select value={asked.source} onChange={({ currentTarget }) => setQuery({ source: currentTarget.value })}>
          <option value="">{t('users.anySource')}</option>
          <option value="local">{t('source.local')}</option>
          <option value="ldap">{t('source.ldap')}</option>
          <option value="oidc">{t('source.oidc')}</option>
        </select>
      </label>
    </search>
  );
}
