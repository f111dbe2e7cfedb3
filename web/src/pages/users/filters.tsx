import { setQuery } from '../../app/router';
import { t } from '../../text/text';
import { phaseName } from '../../ui/phase';
import { SearchField } from '../../ui/search';
import { phases, type UsersQuery } from './query';

export function Filters({ asked }: { asked: UsersQuery }) {
  return (
    <search class="filters">
      <SearchField label={t('users.search')} />
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
